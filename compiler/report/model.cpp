#include "compiler/report/lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "runtime/core/bytecode/layout.h"

namespace sial::report {
namespace {

class Describer {
 public:
  explicit Describer(const Module& m) : m_(m) {}

  Report run() {
    Report r;
    r.program = m_.program;
    r.producer = m_.producer;
    r.source_hash = m_.source_hash;
    r.optimisation = m_.optimisation;
    r.files = m_.files;
    r.instructions = static_cast<int>(m_.code.size());
    r.procedures = static_cast<int>(m_.procs.size());
    for (const IntVar& v : m_.ints)
      if (v.predefined) r.expected_ints.push_back(v.name);
    for (const ScalarVar& v : m_.scalars)
      if (v.predefined) r.expected_scalars.push_back(v.name);
    for (std::size_t i = 0; i < m_.indices.size(); ++i) r.indices.push_back(index(IndexId(i)));
    arrays(r);
    loops(r);
    mix(r);
    add_lines(r, m_);
    add_remarks(r, m_);
    return r;
  }

 private:
  std::string segments(IndexId index) const {
    const IndexRow& row = m_.indices[index.at()];
    if (row.kind == IndexKind::sub) return fmt::format("{}", subsegments_per_segment);
    if (!row.lo.symbolic && !row.hi.symbolic) return fmt::format("{}", std::int64_t{row.hi.value} - row.lo.value + 1);
    const std::string hi = bound_text(m_, row.hi);
    if (!row.lo.symbolic && row.lo.value == 1) return hi;
    if (row.lo == row.hi) return "1";
    if (!row.lo.symbolic) return fmt::format("({}{:+})", hi, 1 - std::int64_t{row.lo.value});
    if (!row.hi.symbolic) return fmt::format("({}-{})", std::int64_t{row.hi.value} + 1, bound_text(m_, row.lo));
    return fmt::format("({}-{}+1)", hi, bound_text(m_, row.lo));
  }

  std::string product(const std::vector<IndexId>& indices) const {
    std::string text;
    for (const IndexId i : indices) text += (text.empty() ? "" : "*") + segments(i);
    return text;
  }

  std::string names(const std::vector<IndexId>& indices) const {
    std::string text;
    for (const IndexId i : indices) text += (text.empty() ? "" : ",") + m_.indices[i.at()].name;
    return text;
  }

  IndexLine index(IndexId i) const {
    const IndexRow& row = m_.indices[i.at()];
    const std::string range = row.kind == IndexKind::sub ? "of " + m_.indices[row.parent.at()].name
                                                         : bound_text(m_, row.lo) + ":" + bound_text(m_, row.hi);
    return {row.name, std::string(index_kind_text(row.kind)), range, segments(i)};
  }

  void arrays(Report& r) const {
    std::vector<Uses> uses(m_.arrays.size());
    for (const Instruction& i : m_.code)
      for_each_use(m_, i, [&](ArrayId array, Deed deed) {
        Uses& u = uses[array.at()];
        static constexpr int Uses::* counter[] = {&Uses::read, &Uses::written,     &Uses::updated, &Uses::fetched,
                                                  &Uses::put,  &Uses::accumulated, &Uses::whole};
        ++(u.*counter[static_cast<int>(deed)]);
      });
    for (std::size_t a = 0; a < m_.arrays.size(); ++a) {
      const ArrayRow& row = m_.arrays[a];
      r.arrays.push_back({row.name, std::string(array_kind_text(row.kind)), names(row.dims), product(row.dims),
                          static_cast<int>(row.dims.size()), row.predefined, row.sparse, uses[a]});
      if (row.predefined) r.expected_arrays.push_back(row.name);
    }
  }

  void loops(Report& r) const {
    static constexpr const char* kind[] = {"do", "do in", "pardo"};
    std::vector<std::int32_t> order(m_.loops.size());
    for (std::size_t l = 0; l < order.size(); ++l) order[l] = static_cast<std::int32_t>(l);
    std::sort(order.begin(), order.end(),
              [&](std::int32_t a, std::int32_t b) { return m_.loops[a].begin < m_.loops[b].begin; });
    std::vector<std::int32_t> ends;  // of the loops around
    for (const std::int32_t l : order) {
      const LoopRow& row = m_.loops[l];
      while (!ends.empty() && ends.back() <= row.begin) ends.pop_back();
      const SourcePlace& p = m_.places[row.begin];
      LoopLine line{fmt::format("{}:{}", m_.files[p.file], p.line),
                    {},
                    kind[static_cast<int>(row.kind)],
                    names(row.indices),
                    product(row.indices),
                    row.pragma >= 0 ? m_.strings[row.pragma] : "",
                    static_cast<int>(ends.size()),
                    row.n_wheres,
                    row.next - row.body - 1,
                    row.rank_dependence == RankDependence::possible};
      for (const ProcRow& proc : m_.procs)
        if (proc.entry <= row.begin && row.begin < proc.end) line.part = proc.name;
      r.loops.push_back(std::move(line));
      ends.push_back(row.end);
    }
  }

  void mix(Report& r) const {
    std::map<Opcode, int> counts;
    std::vector<int> calls(m_.specials.size());
    for (const Instruction& i : m_.code) {
      ++counts[i.op];
      if (i.op == Opcode::execute) ++calls[i.a];
    }
    for (const auto& [op, n] : counts) r.mix.push_back({std::string(opcode_info(op)->name), n});
    std::stable_sort(r.mix.begin(), r.mix.end(), [](const MixLine& a, const MixLine& b) { return a.count > b.count; });
    for (std::size_t s = 0; s < calls.size(); ++s)
      if (calls[s] > 0) r.specials.push_back({m_.specials[s].name, m_.specials[s].signature, calls[s]});
  }

  const Module& m_;
};

}  // namespace

Report describe(const Module& module) {
  Report report = Describer(module).run();
  report.layouts = contraction_layouts(module);
  return report;
}

}  // namespace sial::report
