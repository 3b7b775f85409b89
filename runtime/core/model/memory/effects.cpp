#include "runtime/core/model/memory/effects.h"

#include <algorithm>

#include "runtime/core/bytecode/layout.h"

namespace sial {
namespace {

/// The effects of a stretch of code, procedures included.
struct Effects {
  std::vector<char> index, gets, puts;
  bool all = false, phases = false, remote = false;  // remote: blocks of remote arrays are operands
  void merge(const Effects& other) {
    for (std::size_t i = 0; i < index.size(); ++i) index[i] |= other.index[i];
    for (std::size_t a = 0; a < gets.size(); ++a) {
      gets[a] |= other.gets[a];
      puts[a] |= other.puts[a];
    }
    all |= other.all;
    phases |= other.phases;
    remote |= other.remote;
  }
};

class Reader {
 public:
  Reader(const Module& m, bool fetches)
      : m_(m), fetches_(fetches), procs_(m.procs.size(), blank()), read_(m.procs.size(), 0) {}

  Effects of(std::int32_t begin, std::int32_t end) {
    Effects e = blank();
    for (std::int32_t pc = begin; pc < end; ++pc) add(e, m_.code[pc]);
    return e;
  }

 private:
  Effects blank() const {
    Effects e;
    e.index.assign(m_.indices.size(), 0);
    e.gets.assign(m_.arrays.size(), 0);
    e.puts.assign(m_.arrays.size(), 0);
    return e;
  }

  bool is_remote_block(std::int32_t ref) const { return is_remote(m_.arrays[m_.refs[ref].array.at()].kind); }

  void names(Effects& e, std::int32_t ref) const {
    for (const RefEntry& entry : m_.refs[ref].entries) {
      if (entry.index == no_index) continue;
      e.index[entry.index.at()] = 1;
      if (m_.indices[entry.index.at()].parent != no_index) e.index[m_.indices[entry.index.at()].parent.at()] = 1;
    }
  }

  /// A block that a statement writes: of a local array it stays if it is new, of a remote one the rank makes a copy of
  /// its own.
  void written(Effects& e, std::int32_t ref, bool creates) const {
    const ArrayKind kind = m_.arrays[m_.refs[ref].array.at()].kind;
    if ((kind == ArrayKind::local && creates) || is_remote(kind)) names(e, ref);
  }

  void add(Effects& e, const Instruction& in) {
    switch (in.op) {
      case Opcode::call:
        if (!read_[in.a]) {
          read_[in.a] = 1;  // before its body: recursion ends here
          procs_[in.a] = of(m_.procs[in.a].entry, m_.procs[in.a].end);
        }
        e.merge(procs_[in.a]);
        return;
      case Opcode::execute:
        for (std::int32_t i = 0; i < in.c; ++i) {
          const ArgRow& arg = m_.args[in.b + i];
          const std::string& letters = m_.specials[in.a].signature;
          if (arg.kind == ArgKind::block) e.remote |= is_remote_block(arg.id);
          if (arg.kind == ArgKind::block && static_cast<std::size_t>(i) < letters.size() && letters[i] != 'r')
            written(e, arg.id, letters[i] == 'w');
        }
        return;
      default: break;
    }
    const OpcodeInfo& info = *opcode_info(in.op);
    if (info.op_class == OpClass::fetch) {
      if (fetches_) names(e, in.a);
      e.gets[m_.refs[in.a].array.at()] = 1;
    }
    if (info.op_class == OpClass::put) {
      names(e, in.a);
      e.puts[m_.refs[in.a].array.at()] = 1;
      e.remote = true;
      return;
    }
    // A phase ends, or all blocks of an array appear or vanish.
    if (info.has(op::collective) && (info.has(op::ends_phase) || !synchronizes(in.op))) e.phases = true;
    if (info.op_class == OpClass::memory && info.operands[0] == OperandKind::region) e.all = e.phases = true;
    const std::array<std::int32_t, 4> operands = operands_of(in);
    for (int k = 0; k < 4; ++k) {
      // A program's own int may decide what later trips do.
      if (info.operands[k] == OperandKind::iout && operands[k] < static_cast<std::int32_t>(m_.ints.size()))
        e.all = true;
      if (info.operands[k] == OperandKind::ref) e.remote |= is_remote_block(operands[k]);
      if (info.operands[k] == OperandKind::ref && operand_intent(in, k) != Intent::read)
        written(e, operands[k], operand_intent(in, k) == Intent::write || in.op == Opcode::block_insert);
    }
  }

  const Module& m_;
  bool fetches_;
  std::vector<Effects> procs_;
  std::vector<char> read_;
};

}  // namespace

std::vector<LoopFacts> loop_facts(const Module& module, bool fetches) {
  Reader reader(module, fetches);
  std::vector<LoopFacts> facts;
  for (const LoopRow& row : module.loops) {
    Effects e = reader.of(row.begin, row.end);
    LoopFacts f;
    f.phases = e.phases;
    // Between two barriers a get of a block that is put later makes the put take new memory: then trips that only get
    // count.
    for (std::size_t a = 0; a < e.gets.size() && !e.phases; ++a) f.reads_what_it_puts |= e.gets[a] && e.puts[a];
    if (f.reads_what_it_puts && !fetches) e = Reader(module, true).of(row.begin, row.end);
    for (const IndexId i : row.indices) f.matters.push_back(e.all || e.index[i.at()]);
    facts.push_back(std::move(f));
  }
  return facts;
}

std::vector<LoopFacts> access_facts(const Module& module) {
  Reader reader(module, true);
  std::vector<LoopFacts> facts;
  for (const LoopRow& row : module.loops) {
    const Effects e = reader.of(row.begin, row.end);
    LoopFacts f;
    f.matters.assign(row.indices.size(), e.all || e.phases || e.remote);
    facts.push_back(std::move(f));
  }
  return facts;
}

}  // namespace sial
