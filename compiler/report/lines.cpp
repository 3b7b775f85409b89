#include "compiler/report/lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "runtime/core/base/number.h"
#include "runtime/core/bytecode/evaluate/iteration_space.h"
#include "runtime/core/bytecode/layout.h"

namespace sial::report {
namespace {

Deed deed_of(Intent intent) {
  return intent == Intent::read ? Deed::read : intent == Intent::write ? Deed::write : Deed::update;
}

/// The number of times something happens: shared out among the ranks, and on each of them.
struct Often {
  Cost shared, each_rank;
  Often& operator+=(const Often& o) {
    shared += o.shared;
    each_rank += o.each_rank;
    return *this;
  }
};
Often operator*(const Often& a, const Cost& b) { return {a.shared * b, a.each_rank * b}; }

class Estimator {
 public:
  Estimator(Report& report, const Module& m)
      : r_(report), m_(m), often_(m.code.size()), at_most_(m.code.size(), false) {}

  void run() {
    find_loops();
    std::vector<Often> calls(m_.procs.size());
    std::vector<char> conditional(m_.procs.size(), 0);
    body(m_.main_entry, main_end(), {{}, Cost::constant(1)}, false, calls, conditional);
    // Callees come before their callers.
    for (std::size_t p = m_.procs.size(); p-- > 0;)
      body(m_.procs[p].entry, m_.procs[p].end, calls[p], conditional[p] != 0, calls, conditional);
    for (std::size_t pc = 0; pc < m_.code.size(); ++pc) line(static_cast<std::int32_t>(pc));
    for (auto& [key, l] : lines_) r_.lines.push_back(std::move(l));
  }

 private:
  std::int32_t main_end() const {
    std::int32_t end = static_cast<std::int32_t>(m_.code.size());
    for (const ProcRow& p : m_.procs)
      if (p.entry > m_.main_entry) end = std::min(end, p.entry);
    return end;
  }

  void body(std::int32_t begin, std::int32_t end, const Often& base, bool conditional, std::vector<Often>& calls,
            std::vector<char>& conditional_calls) {
    const std::vector<char> skipped = may_be_skipped(begin, end);
    Often often;
    bool known = false;
    for (std::int32_t pc = begin; pc < end; ++pc) {
      const std::vector<std::int32_t>& around = loops_around(pc);
      if (!known || &around != &loops_around(pc - 1)) {
        known = true;
        often = base;
        for (const std::int32_t row : around) {
          const LoopRow& loop = m_.loops[static_cast<std::size_t>(row)];
          if (loop.kind == LoopKind::pardo && !runs_everywhere(m_, loop)) often = {often.shared + often.each_rank, {}};
          for (const IndexId i : loop.indices) often = often * Cost::count(i);
        }
      }
      bool at_most = conditional || skipped[static_cast<std::size_t>(pc - begin)] != 0;
      for (const std::int32_t row : around) {
        const LoopRow& loop = m_.loops[static_cast<std::size_t>(row)];
        at_most |= loop.n_wheres > 0 && pc >= loop.body;
      }
      often_[static_cast<std::size_t>(pc)] = often;
      at_most_[static_cast<std::size_t>(pc)] = at_most;
      const Instruction& in = m_.code[static_cast<std::size_t>(pc)];
      if (in.op != Opcode::call) continue;
      calls[static_cast<std::size_t>(in.a)] += often;
      known = false;  // a procedure that calls itself changes `base`
      conditional_calls[static_cast<std::size_t>(in.a)] |= at_most;
    }
  }

  /// Rows of the loops that each instruction lies in: those change at few places.
  void find_loops() {
    std::vector<std::int32_t> beginning, ending, around;
    for (std::size_t row = 0; row < m_.loops.size(); ++row)
      if (m_.loops[row].begin + 1 < m_.loops[row].end) beginning.push_back(static_cast<std::int32_t>(row));
    ending = beginning;
    const auto loop = [&](std::int32_t row) -> const LoopRow& { return m_.loops[static_cast<std::size_t>(row)]; };
    std::stable_sort(beginning.begin(), beginning.end(), [&](auto a, auto b) { return loop(a).begin < loop(b).begin; });
    std::stable_sort(ending.begin(), ending.end(), [&](auto a, auto b) { return loop(a).end < loop(b).end; });
    std::size_t begun = 0, ended = 0;
    nests_.emplace_back();
    for (std::int32_t pc = 0; pc < static_cast<std::int32_t>(m_.code.size()); ++pc) {
      bool changed = false;
      for (; ended < ending.size() && loop(ending[ended]).end <= pc; ++ended, changed = true)
        std::erase(around, ending[ended]);
      for (; begun < beginning.size() && loop(beginning[begun]).begin < pc; ++begun, changed = true)
        around.insert(std::lower_bound(around.begin(), around.end(), beginning[begun]), beginning[begun]);
      if (changed) nests_.push_back(around);
      nest_of_.push_back(nests_.size() - 1);
    }
  }

  const std::vector<std::int32_t>& loops_around(std::int32_t pc) const {
    return nests_[nest_of_[static_cast<std::size_t>(pc)]];
  }

  /// For each instruction: a jump leads over it, or an `exit` or `return` may come first.
  std::vector<char> may_be_skipped(std::int32_t begin, std::int32_t end) const {
    std::vector<char> out(static_cast<std::size_t>(std::max(end - begin, 0)), 0);
    std::vector<int> change(out.size() + 1, 0);                     // of how many stretches an instruction lies in
    const auto stretch = [&](std::int32_t from, std::int32_t to) {  // to: the first after it
      from = std::max(from, begin);
      to = std::min(to, end);
      if (from >= to) return;
      ++change[static_cast<std::size_t>(from - begin)];
      --change[static_cast<std::size_t>(to - begin)];
    };
    for (std::int32_t j = begin; j < end; ++j) {
      const Instruction& in = m_.code[static_cast<std::size_t>(j)];
      if (in.op == Opcode::jump) stretch(j + 1, in.a);
      if (in.op == Opcode::jump_unless) stretch(j + 1, in.b);
      if (in.op == Opcode::ret && j + 1 < end) stretch(begin, end);
      if (in.op != Opcode::exit_loop) continue;
      const LoopRow& loop = m_.loops[static_cast<std::size_t>(in.a)];
      stretch(loop.begin + 1, loop.end);
    }
    int depth = 0;
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = (depth += change[i]) > 0;
    return out;
  }

  bool one_element(const RefEntry& e) const {
    return e.as_simple || e.index == no_index || m_.indices[e.index.at()].kind == IndexKind::simple;
  }

  /// Elements of the block that a reference lies in.
  Cost block(const RefRow& ref) const {
    Cost size = Cost::constant(1);
    for (std::size_t d = 0; d < ref.entries.size(); ++d) {
      const RefEntry& e = ref.entries[d];
      if (one_element(e)) continue;
      const IndexRow& index = m_.indices[e.index.at()];
      const IndexId declared = m_.arrays[ref.array.at()].dims[d];
      const bool part = index.kind == IndexKind::sub && m_.indices[declared.at()].kind != IndexKind::sub;
      size = size * Cost::extent(part ? index.parent : e.index);
    }
    return size;
  }

  /// Two for each element of the outer product of what the operands do not share and what they do.
  Cost contraction(std::int32_t a, std::int32_t b) const {
    Cost flops = Cost::constant(2);
    std::set<IndexId> seen;
    for (const std::int32_t ref : {a, b})
      for (const RefEntry& e : m_.refs[static_cast<std::size_t>(ref)].entries)
        if (!one_element(e) && seen.insert(e.index).second) flops = flops * Cost::extent(e.index);
    return flops;
  }

  void add(Amount& amount, const Often& often, const Cost& each) {
    const Often all = often * each;
    amount.cost += all.shared;
    amount.each_rank += all.each_rank;
  }

  double typical(const Often& often) const {
    const std::vector<IndexSize> sizes(m_.indices.size(), {10, 20});
    return evaluate(often.shared, sizes) + evaluate(often.each_rank, sizes);
  }

  void line(std::int32_t pc) {
    const SourcePlace& place = m_.places[static_cast<std::size_t>(pc)];
    const Instruction& in = m_.code[static_cast<std::size_t>(pc)];
    const Often& often = often_[static_cast<std::size_t>(pc)];
    SourceLine& l = lines_[{place.file, place.line}];
    l.file = place.file;
    l.line = place.line;
    l.at_most |= at_most_[static_cast<std::size_t>(pc)] != 0;
    if (typical(often) > typical({l.executions.cost, l.executions.each_rank})) {
      l.executions.cost = often.shared;
      l.executions.each_rank = often.each_rank;
    }
    for_each_use(m_, in, [&](ArrayId array, Deed deed) {
      auto of = std::find_if(l.deeds.begin(), l.deeds.end(), [&](const Deeds& d) { return d.deed == deed; });
      if (of == l.deeds.end()) of = l.deeds.insert(l.deeds.end(), {deed, {}});
      const std::string& name = m_.arrays[array.at()].name;
      if (std::find(of->arrays.begin(), of->arrays.end(), name) == of->arrays.end()) of->arrays.push_back(name);
    });
    if (op_class(in.op) == OpClass::fetch)
      add(l.get_bytes, often, block(m_.refs[static_cast<std::size_t>(in.a)]) * 8.0);
    if (puts_block(in.op)) add(l.put_bytes, often, block(m_.refs[static_cast<std::size_t>(in.a)]) * 8.0);
    if (op_cost(in.op) == OpCost::product || op_cost(in.op) == OpCost::dot)
      add(l.flops, often, contraction(in.b, in.c));
  }

  Report& r_;
  const Module& m_;
  std::vector<Often> often_;
  std::vector<char> at_most_;
  std::vector<std::vector<std::int32_t>> nests_;  // each of another stretch of the code
  std::vector<std::size_t> nest_of_;              // by instruction
  std::map<std::pair<int, int>, SourceLine> lines_;
};

void set_text(Amount& amount, const std::vector<IndexRow>& indices) {
  if (!amount.cost.is_zero()) amount.text = cost_text(amount.cost, indices);
  if (amount.each_rank.is_zero()) return;
  const std::string each = cost_text(amount.each_rank, indices);
  amount.text += (amount.text.empty() ? "" : " + ") + (each == "1"                         ? std::string("ranks")
                                                       : amount.each_rank.terms.size() > 1 ? "ranks·(" + each + ")"
                                                                                           : "ranks·" + each);
}

}  // namespace

void for_each_use(const Module& m, const Instruction& in, const std::function<void(ArrayId, Deed)>& f) {
  const auto ref = [&](std::int32_t row) { return m.refs[static_cast<std::size_t>(row)].array; };
  const auto argument = [&](const ArgRow& arg) {
    if (arg.kind == ArgKind::block) f(ref(arg.id), deed_of(arg.intent));
    if (arg.kind == ArgKind::region) f(m.regions[static_cast<std::size_t>(arg.id)].array, deed_of(arg.intent));
    if (arg.kind == ArgKind::array) f(ArrayId(arg.id), Deed::pass);
  };
  const OpcodeInfo& info = *opcode_info(in.op);
  if (info.op_class == OpClass::fetch) return f(ref(in.a), Deed::get);
  if (info.op_class == OpClass::put) {
    f(ref(in.a), operand_intent(in, 0) == Intent::write ? Deed::put : Deed::accumulate);
    if (puts_block(in.op)) f(ref(in.b), Deed::read);
    return;
  }
  if (info.op_class == OpClass::memory || info.has(op::no_data)) return;
  for_each_argument(m, in, argument);
  const auto values = operands_of(in);
  for (std::size_t p = 0; p < 4; ++p) {
    const std::int32_t v = values[p];
    if (info.operands[p] == OperandKind::ref) f(ref(v), deed_of(m.refs[static_cast<std::size_t>(v)].intent));
    if (info.operands[p] == OperandKind::region)
      f(m.regions[static_cast<std::size_t>(v)].array, deed_of(m.regions[static_cast<std::size_t>(v)].intent));
    if (info.operands[p] == OperandKind::array || (info.operands[p] == OperandKind::item && in.a == 1))
      f(ArrayId(v), Deed::pass);
  }
}

std::string part_at(const Module& m, const SourcePlace& place) {
  for (const ProcRow& proc : m.procs)
    for (std::int32_t pc = proc.entry; pc < proc.end; ++pc)
      if (const SourcePlace& p = m.places[static_cast<std::size_t>(pc)]; p.file == place.file && p.line == place.line)
        return proc.name;
  return {};
}

void add_lines(Report& report, const Module& m) {
  Estimator(report, m).run();
  for (SourceLine& l : report.lines)
    for (Amount* a : {&l.executions, &l.flops, &l.get_bytes, &l.put_bytes}) set_text(*a, m.indices);
  std::map<std::string, int> files;
  for (std::size_t f = 0; f < m.files.size(); ++f) files.emplace(m.files[f], static_cast<int>(f));
  for (const LoopLine& loop : report.loops) {
    const std::size_t colon = loop.place.rfind(':');
    const auto file = files.find(loop.place.substr(0, colon));
    const int number = static_cast<int>(
        read_integer(std::string_view(loop.place).substr(colon + 1), 0, std::numeric_limits<int>::max()).value_or(0));
    if (file == files.end()) continue;
    const std::pair<int, int> key{file->second, number};
    const auto l = std::lower_bound(report.lines.begin(), report.lines.end(), key,
                                    [](const SourceLine& line, const std::pair<int, int>& k) {
                                      return std::pair<int, int>(line.file, line.line) < k;
                                    });
    if (l == report.lines.end() || std::pair<int, int>(l->file, l->line) != key) continue;
    l->loop = loop.kind + " " + loop.indices;
    l->trips = loop.trips;
  }
}

const char* deed_text(Deed deed) {
  static constexpr const char* text[] = {"reads", "writes", "updates", "gets", "puts", "adds to", "passes"};
  return text[static_cast<int>(deed)];
}

}  // namespace sial::report
