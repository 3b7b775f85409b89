// The verifier's last part: which indices have a value where. Procedures see the indices of their callers, so this
// follows the calls: an index must be bound on every way to its use and on no way to a loop over it; nothing that needs
// all workers may be reached from within a parallel loop.
#include <algorithm>
#include <deque>

#include "runtime/core/bytecode/verify_detail.h"

namespace sial::detail {
namespace {

// A set of index rows.
class IndexSet {
 public:
  explicit IndexSet(std::size_t n = 0) : words_((n + 63) / 64) {}
  bool has(IndexId i) const { return ((words_[i.at() / 64] >> (i.at() % 64)) & 1) != 0; }
  void add(IndexId i) { words_[i.at() / 64] |= std::uint64_t{1} << (i.at() % 64); }
  /// Both return whether the set changed.
  bool unite(const IndexSet& o) {
    return combine(o, [](std::uint64_t a, std::uint64_t b) { return a | b; });
  }
  bool intersect(const IndexSet& o) {
    return combine(o, [](std::uint64_t a, std::uint64_t b) { return a & b; });
  }

 private:
  template <class F>
  bool combine(const IndexSet& o, F f) {
    bool changed = false;
    for (std::size_t w = 0; w < words_.size(); ++w) {
      const std::uint64_t next = f(words_[w], o.words_[w]);
      changed = changed || next != words_[w];
      words_[w] = next;
    }
    return changed;
  }
  std::vector<std::uint64_t> words_;
};

// The facts that hold when a procedure is entered, over all calls that can happen.
struct Entry {
  bool reached = false;
  bool in_pardo = false;
  IndexSet always, sometimes;
};

class Calls {
 public:
  Calls(VerifyContext& c, const CodeShape& shape)
      : c_(c), m_(c.m), shape_(shape), entries_(m_.procs.size()), calls_(m_.procs.size() + 1) {
    for (Entry& e : entries_) e.always = e.sometimes = IndexSet(m_.indices.size());
    main_.always = main_.sometimes = IndexSet(m_.indices.size());
    main_.reached = true;
    for (std::size_t pc = 0; pc < m_.code.size(); ++pc)
      if (m_.code[pc].op == Opcode::call) calls_[shape_.part[pc] + 1].push_back(static_cast<std::int32_t>(pc));
  }

  void solve() {
    std::deque<std::int32_t> work{-1};
    while (!work.empty()) {
      const std::int32_t part = work.front();
      work.pop_front();
      for (std::int32_t pc : calls_[part + 1]) {
        const std::int32_t callee = m_.code[pc].a;
        if (flow(entry(part), pc, entries_[callee])) work.push_back(callee);
      }
    }
  }

  void check() {
    for (std::size_t pc = 0; pc < m_.code.size(); ++pc) {
      const Entry& e = entry(shape_.part[pc]);
      if (!e.reached) continue;  // never executed
      c_.at(VerifyContext::instruction, pc);
      instruction(static_cast<std::int32_t>(pc), e);
    }
    c_.at_module();
  }

 private:
  Entry& entry(std::int32_t part) { return part < 0 ? main_ : entries_[part]; }

  bool flow(const Entry& from, std::int32_t pc, Entry& to) const {
    IndexSet always = from.always, sometimes = from.sometimes;
    bool in_pardo = from.in_pardo;
    for (std::int32_t l = shape_.loop[pc]; l >= 0; l = shape_.enclosing[l]) {
      in_pardo = in_pardo || m_.loops[l].kind == LoopKind::pardo;
      for (IndexId i : m_.loops[l].indices) {
        always.add(i);
        sometimes.add(i);
      }
    }
    if (!to.reached) {
      to.reached = true;
      to.in_pardo = in_pardo;
      to.always = always;
      to.sometimes = sometimes;
      return true;
    }
    const bool pardo_changed = in_pardo && !to.in_pardo;
    to.in_pardo = to.in_pardo || in_pardo;
    const bool always_changed = to.always.intersect(always);
    const bool sometimes_changed = to.sometimes.unite(sometimes);
    return pardo_changed || always_changed || sometimes_changed;
  }

  bool bound(IndexId index, std::int32_t pc, const IndexSet& on_entry) const {
    for (std::int32_t l = shape_.loop[pc]; l >= 0; l = shape_.enclosing[l])
      if (std::find(m_.loops[l].indices.begin(), m_.loops[l].indices.end(), index) != m_.loops[l].indices.end())
        return true;
    return on_entry.has(index);
  }

  void use(IndexId index, std::int32_t pc, const Entry& e) const {
    c_.require(bound(index, pc, e.always), "the index `{}` has no value here", m_.indices[index.at()].name);
    if (m_.indices[index.at()].kind == IndexKind::sub)
      c_.require(bound(m_.indices[index.at()].parent, pc, e.always), "the parent of `{}` has no value here",
                 m_.indices[index.at()].name);
  }

  void use_ref(std::int32_t ref, std::int32_t pc, const Entry& e) const {
    for (const RefEntry& entry : m_.refs[ref].entries)
      if (entry.index != no_index) use(entry.index, pc, e);
  }

  void use_arg(std::int32_t arg, std::int32_t pc, const Entry& e) const {
    if (m_.args[arg].kind == ArgKind::block) use_ref(m_.args[arg].id, pc, e);
  }

  bool in_pardo(std::int32_t pc, const Entry& e) const {
    for (std::int32_t l = shape_.loop[pc]; l >= 0; l = shape_.enclosing[l])
      if (m_.loops[l].kind == LoopKind::pardo) return true;
    return e.in_pardo;
  }

  void instruction(std::int32_t pc, const Entry& e) const {
    const Instruction& i = m_.code[pc];
    const OpcodeInfo& info = *opcode_info(i.op);
    const auto values = operands_of(i);
    for (int p = 0; p < 4; ++p) {
      if (info.operands[p] == OperandKind::index) use(IndexId(values[p]), pc, e);
      if (info.operands[p] == OperandKind::ref) use_ref(values[p], pc, e);
    }
    switch (i.op) {
      case Opcode::execute:
        for (std::int32_t k = 0; k < i.c; ++k) use_arg(i.b + k, pc, e);
        break;
      case Opcode::gpu_allocate:
      case Opcode::gpu_free:
      case Opcode::gpu_put:
      case Opcode::gpu_get: use_arg(i.a, pc, e); break;
      case Opcode::do_begin:
      case Opcode::sub_begin:
      case Opcode::pardo_begin: {
        const LoopRow& row = m_.loops[i.a];
        for (IndexId index : row.indices) {
          c_.require(!bound(index, pc, e.sometimes), "a loop over `{}` inside of a loop over it",
                     m_.indices[index.at()].name);
          if (row.kind == LoopKind::sub)
            c_.require(bound(m_.indices[index.at()].parent, pc, e.always), "the parent of `{}` has no value here",
                       m_.indices[index.at()].name);
        }
        c_.require(row.kind != LoopKind::pardo || !in_pardo(pc, e), "a parallel loop inside of a parallel loop");
        break;
      }
      case Opcode::barrier:
      case Opcode::section_end: c_.require(!in_pardo(pc, e), "a barrier inside of a parallel loop"); break;
      default: break;
    }
  }

  VerifyContext& c_;
  const Module& m_;
  const CodeShape& shape_;
  Entry main_;
  std::vector<Entry> entries_;
  std::vector<std::vector<std::int32_t>> calls_;  // positions of call instructions, per part (main body first)
};

}  // namespace

void verify_calls(VerifyContext& c, const CodeShape& shape) {
  Calls calls(c, shape);
  calls.solve();
  calls.check();
}

}  // namespace sial::detail
