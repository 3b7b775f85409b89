// Super instructions whose work a program could spare: integrals of which it computes blocks that are equal by
// symmetry, and calls that come again with the same arguments.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "compiler/report/advice/advice.h"
#include "compiler/report/code_context.h"
#include "compiler/report/lines.h"
#include "runtime/core/base/number.h"
#include "runtime/core/bytecode/layout.h"

namespace sial::report {
namespace {

/// Not the same twice, or not for what they return.
bool is_function(std::string_view name) {
  static const std::vector<std::string_view> others = words_of(
      "print_block print_static_array list_block_map list_blocks_with_number one_arg_no_op get_and_print_mpi_rank "
      "check_block_number_calculation enable_all_rank_print disable_all_rank_print enable_debug_print "
      "disable_debug_print read_block_from_text_file get_my_rank print_iteration set_flags2");
  return std::ranges::find(others, name) == others.end();
}

double pairs(double n) { return n * (n + 1) / 2; }

class Executes {
 public:
  Executes(const Job& job, const JobProgram& program, std::vector<Advice>& advice,
           std::map<std::pair<std::string, int>, std::string>& reasons)
      : job_(job),
        program_(program),
        m_(*program.module),
        sizes_(sizes_of(m_, program.run)),
        context_(m_),
        advice_(advice),
        reasons_(reasons) {}

  void run() {
    for (std::size_t pc = 0; pc < m_.code.size(); ++pc) {
      if (m_.code[pc].op != Opcode::execute) continue;
      const CostLine* line = measured(pc);
      if (!line || line->executions == 0) continue;
      const Call call = call_at(static_cast<std::int32_t>(pc), *line);
      if (call.name == "compute_integral_batch") symmetry(call);
      if (call.name.starts_with("compute_ubatch")) fock_quartets(call);
      repeated(call);
    }
  }

 private:
  struct Call {
    std::int32_t pc = 0;
    const CostLine* line = nullptr;
    double seconds = 0;             // of a mean rank
    std::string name, block;        // "ao[mu,nu,la,si]"
    std::vector<RefEntry> entries;  // of the first block
    std::set<IndexId> used;         // indices of all arguments
    Context around;
    bool unused_bra = false, unused_ket = false, unused_exchange = false;
  };

  const CostLine* measured(std::size_t pc) const {
    const SourcePlace& place = m_.places[pc];
    for (const CostLine& line : program_.run.lines)
      if (line.line == place.line && line.file == m_.files[static_cast<std::size_t>(place.file)]) return &line;
    return nullptr;
  }

  Call call_at(std::int32_t pc, const CostLine& line) const {
    const Instruction& in = m_.code[static_cast<std::size_t>(pc)];
    Call call;
    call.pc = pc;
    call.line = &line;
    call.seconds = line.seconds / job_.ranks;
    call.name = m_.specials[static_cast<std::size_t>(in.a)].name;
    call.around = context_.of(pc);
    for (std::int32_t k = in.b; k < in.b + in.c; ++k) {
      const ArgRow& arg = m_.args[static_cast<std::size_t>(k)];
      if (arg.kind != ArgKind::block) continue;
      const RefRow& ref = m_.refs[static_cast<std::size_t>(arg.id)];
      if (call.block.empty()) call.block = ref_text(m_, ref), call.entries = ref.entries;
      for (const RefEntry& e : ref.entries) call.used.insert(e.index);
    }
    return call;
  }

  std::string index(IndexId i) const { return m_.indices[i.at()].name; }
  double segments(IndexId i) const { return sizes_[i.at()].count; }

  bool same_range(IndexId a, IndexId b) const {
    const IndexRow &x = m_.indices[a.at()], &y = m_.indices[b.at()];
    return a != no_index && b != no_index && a != b && x.kind == y.kind && x.lo == y.lo && x.hi == y.hi &&
           x.kind == IndexKind::ao;
  }

  /// Both indices run on their own: in loops around the call, and nothing compares them.
  bool free_pair(const Call& call, IndexId a, IndexId b) const {
    return same_range(a, b) && call.around.loop_of(a) >= 0 && call.around.loop_of(b) >= 0 &&
           !call.around.compared(a, b);
  }

  bool same_loop_kind(const Call& call, IndexId a, IndexId b) const {
    const auto pardo = [&](IndexId i) {
      return m_.loops[static_cast<std::size_t>(call.around.loop_of(i))].kind == LoopKind::pardo;
    };
    return pardo(a) == pardo(b);
  }

  // --- (mu nu|la si): a block is the transpose of the one with mu and nu, la and si, or the two pairs exchanged
  void symmetry(const Call& given) {
    Call call = given;
    if (call.entries.size() != 4) return;
    const IndexId a = call.entries[0].index, b = call.entries[1].index, c = call.entries[2].index,
                  d = call.entries[3].index;
    const auto compared = [&](IndexId x, IndexId y) { return call.around.compared(x, y); };
    call.unused_bra = free_pair(call, a, b) && same_loop_kind(call, a, b);
    call.unused_ket = free_pair(call, c, d) && same_loop_kind(call, c, d);
    // The exchange of the pairs can only be used where one loop visits all four.
    const std::int32_t loop = call.around.loop_of(a);
    const bool one_loop = loop >= 0 && std::all_of(call.entries.begin(), call.entries.end(), [&](const RefEntry& e) {
                            return call.around.loop_of(e.index) == loop;
                          });
    call.unused_exchange = one_loop && same_range(a, c) && same_range(b, d) && same_range(a, b) && !compared(a, c) &&
                           !compared(a, d) && !compared(b, c) && !compared(b, d);
    const double now = (call.unused_bra ? segments(a) * segments(b) : pairs(segments(a))) *
                       (call.unused_ket ? segments(c) * segments(d) : pairs(segments(c)));
    const double then = call.unused_exchange ? pairs(pairs(segments(a))) : pairs(segments(a)) * pairs(segments(c));
    if (!(call.unused_bra || call.unused_ket || call.unused_exchange)) {
      reasons_[{call.line->file, call.line->line}] =
          fmt::format("its loops use the symmetry of `{}` as far as they can", call.block);
      return;
    }
    if (now <= then) return;
    Advice advice;
    advice.kind = "symmetry";
    advice.at = {program_.name, call.line->file, call.line->line};
    advice.lines = {advice.at};
    advice.seconds = call.seconds * (1 - then / now);
    advice.found = fmt::format(
        "the loop around it visits {:.0f} blocks `{}` where {:.0f} differ: {}, so that one block is computed up to {} times",
        now, call.block, then, images(call, a, b, c, d),
        1 << (int{call.unused_bra} + int{call.unused_ket} + int{call.unused_exchange}));
    advice.change = fmt::format(
        "add {} to the loop{}, and use each block for all of its places", wheres(call, a, b, c, d),
        call.unused_exchange ? " (and leave out one of two equal quartets where the first indices agree)" : "");
    advice_.push_back(std::move(advice));
  }

  std::string images(const Call& call, IndexId a, IndexId b, IndexId c, IndexId d) const {
    std::vector<std::string> parts;
    if (call.unused_bra) parts.push_back(fmt::format("{} and {}", index(a), index(b)));
    if (call.unused_ket) parts.push_back(fmt::format("{} and {}", index(c), index(d)));
    if (call.unused_exchange)
      parts.push_back(fmt::format("the pairs ({},{}) and ({},{})", index(a), index(b), index(c), index(d)));
    return fmt::format("the integrals stay the same when {} change places", fmt::join(parts, ", or "));
  }

  std::string wheres(const Call& call, IndexId a, IndexId b, IndexId c, IndexId d) const {
    std::vector<std::string> parts;
    if (call.unused_bra) parts.push_back(fmt::format("`where {} <= {}`", index(a), index(b)));
    if (call.unused_ket) parts.push_back(fmt::format("`where {} <= {}`", index(c), index(d)));
    if (call.unused_exchange) parts.push_back(fmt::format("`where {} <= {}`", index(a), index(c)));
    return fmt::format("{}", fmt::join(parts, ", "));
  }

  /// Iterations that the run made of a loop which no other one surrounds; 0: not known.
  double iterations(const Call& call, std::int32_t loop) const {
    if (loop != call.around.loops.front() || m_.loops[static_cast<std::size_t>(loop)].kind != LoopKind::do_) return 0;
    const CostLine* line = measured(static_cast<std::size_t>(m_.loops[static_cast<std::size_t>(loop)].begin));
    return line ? static_cast<double>(line->executions) / job_.ranks : 0;
  }

  // --- integrals multiplied with densities where they are made
  void fock_quartets(const Call& call) {
    if (call.entries.size() != 4) return;
    const auto compared = [&](std::size_t x, std::size_t y) {
      return call.around.compared(call.entries[x].index, call.entries[y].index);
    };
    const std::string visits =
        compared(0, 1) && compared(2, 3) ? "its loops use the symmetry of the integrals, and " : "";
    reasons_[{call.line->file, call.line->line}] =
        visits + "the density that they are multiplied with is another one in each iteration";
    const double times = call.around.loops.empty() ? 0 : iterations(call, call.around.loops.front());
    if (program_.run.option("keep_integrals") != "off" || times < 1.5) return;
    Advice advice;
    advice.kind = "repeated";
    advice.at = {program_.name, call.line->file, call.line->line};
    advice.lines = {advice.at};
    advice.seconds = call.seconds * (1 - 1 / times);
    advice.found = fmt::format("the integrals `{}` are computed anew in each of {:.0f} iterations", call.block, times);
    advice.change = "run with --keep-integrals auto, which keeps those that fit into memory that nothing else needs";
    advice_.push_back(std::move(advice));
  }

  // --- the same arguments again
  void repeated(const Call& call) {
    if (!is_function(call.name) || call.block.empty() || !only_reads_and_writes(call)) return;
    double distinct = 1;
    bool shared = false;  // among the ranks
    std::vector<std::int32_t> idle;
    for (const std::int32_t loop : call.around.loops) {
      const LoopRow& row = m_.loops[static_cast<std::size_t>(loop)];
      shared |= row.kind == LoopKind::pardo;
      const bool used =
          std::any_of(row.indices.begin(), row.indices.end(), [&](IndexId i) { return call.used.contains(i); });
      for (const IndexId i : row.indices)
        if (call.used.contains(i)) distinct *= segments(i);
      if (!used) idle.push_back(loop);
    }
    std::erase_if(idle, [&](std::int32_t loop) { return changed_inside(call, loop); });
    if (idle.empty() || distinct <= 0) return;
    distinct *= call.around.part_visited(sizes_);
    double times = static_cast<double>(call.line->executions) / (shared ? 1 : job_.ranks) / std::max(1.0, distinct);
    if (const double counted = iterations(call, idle.front()); counted > 0) times = counted;
    if (times < 1.5) return;
    // A loop in which no loop over the arguments lies can be left by moving the call; from another one the blocks have
    // to be kept.
    double moved = 1;
    std::int32_t before = -1;
    for (std::size_t l = call.around.loops.size();
         l-- > 0 && std::find(idle.begin(), idle.end(), call.around.loops[l]) != idle.end();) {
      before = call.around.loops[l];
      for (const IndexId i : m_.loops[static_cast<std::size_t>(before)].indices) moved *= segments(i);
    }
    if (before >= 0 && moved >= 1.5) keep(call, before, std::min(moved, times), distinct, true);
    else keep(call, idle.front(), times, distinct, false);
  }

  void keep(const Call& call, std::int32_t loop, double times, double distinct, bool inside) {
    double bytes = 8 * distinct;
    for (const RefEntry& e : call.entries) bytes *= e.as_simple ? 1.0 : sizes_[e.index.at()].extent;
    const std::string memory = program_.run.option("memory");
    const double room = (memory.empty() ? 0 : std::strtod(memory.c_str(), nullptr)) * job_.ranks;
    const std::string over = loop_text(loop);
    if (!inside && bytes > room) {
      reasons_[{call.line->file, call.line->line}] = fmt::format(
          "`{}` is computed {:.0f} times with the same arguments, once per iteration of `{}`, but keeping the blocks would take {} of the {} there are",
          call.block, times, over, bytes_number(bytes), bytes_number(room));
      return;
    }
    Advice advice;
    advice.kind = "repeated";
    advice.at = {program_.name, call.line->file, call.line->line};
    advice.lines = {advice.at};
    advice.seconds = call.seconds * (1 - 1 / times);
    advice.found =
        fmt::format("`execute {} {}` is run {:.0f} times with the same arguments: they do not depend on `{}`",
                    call.name, call.block, times, over);
    advice.change =
        inside
            ? fmt::format("move it before `{}`", over)
            : fmt::format(
                  "compute the blocks once before `{}`, put them into a distributed array ({} over all ranks) and get them in the loop",
                  over, bytes_number(bytes));
    advice_.push_back(std::move(advice));
  }

  std::string loop_text(std::int32_t loop) const {
    const LoopRow& row = m_.loops[static_cast<std::size_t>(loop)];
    std::vector<std::string> names;
    for (const IndexId i : row.indices) names.push_back(index(i));
    return fmt::format("{} {}", row.kind == LoopKind::pardo ? "pardo" : "do", fmt::join(names, ","));
  }

  bool only_reads_and_writes(const Call& call) const {
    const Instruction& in = m_.code[static_cast<std::size_t>(call.pc)];
    bool writes = false;
    for (std::int32_t k = in.b; k < in.b + in.c; ++k) {
      const ArgRow& arg = m_.args[static_cast<std::size_t>(k)];
      if (arg.intent == Intent::update || arg.kind == ArgKind::array || arg.kind == ArgKind::region) return false;
      writes |= arg.intent == Intent::write;
    }
    return writes;
  }

  /// Whether something that the call reads is written in the loop.
  bool changed_inside(const Call& call, std::int32_t loop) const {
    const Instruction& in = m_.code[static_cast<std::size_t>(call.pc)];
    for (std::int32_t k = in.b; k < in.b + in.c; ++k) {
      const ArgRow& arg = m_.args[static_cast<std::size_t>(k)];
      if (arg.intent != Intent::read) continue;
      if (arg.kind == ArgKind::scalar && context_.writes_scalar(loop, arg.id)) return true;
      if (arg.kind == ArgKind::block && context_.writes_array(loop, m_.refs[static_cast<std::size_t>(arg.id)].array))
        return true;
    }
    return false;
  }

  const Job& job_;
  const JobProgram& program_;
  const Module& m_;
  const std::vector<IndexSize> sizes_;
  const CodeContext context_;
  std::vector<Advice>& advice_;
  std::map<std::pair<std::string, int>, std::string>& reasons_;
};

}  // namespace

void add_execute_advice(const Job& job, std::vector<Advice>& advice,
                        std::map<std::pair<std::string, int>, std::string>& reasons) {
  for (const JobProgram& program : job.programs)
    if (program.module) Executes(job, program, advice, reasons).run();
}

}  // namespace sial::report
