#include "runtime/core/model/operand_sources.h"

#include <algorithm>

#include "runtime/core/bytecode/layout.h"

namespace sial {
namespace {

/// Calls f(reference) for each block of which an instruction reads or writes the elements.
template <class F>
void for_each_block_operand(const Module& m, const Instruction& in, F f) {
  if (op_class(in.op) == OpClass::execute)
    for_each_argument(m, in, [&](const ArgRow& arg) {
      if (arg.kind == ArgKind::block) f(arg.id);
    });
  if (op_class(in.op) == OpClass::fetch || has(in.op, op::no_data) || has(in.op, op::shares)) return;  // no data move
  for_each_block(in, [&](std::int32_t ref, Intent) { f(ref); });
}

double array_bytes(const BoundArray& array) {
  double n = sizeof(double);
  for (int d = 0; d < array.rank; ++d) n *= static_cast<double>(std::max<std::int64_t>(array.dim[d].total(), 1));
  return n;
}

}  // namespace

double mean_elements(const BoundProgram& bound, std::int32_t ref) {
  const ResolvedReference& plan = bound.refs[ref];
  const BoundArray& array = bound.arrays[plan.array.at()];
  double n = 1;
  for (int d = 0; d < plan.rank; ++d) {
    const ResolvedReference::Entry& entry = plan.entry[d];
    if (entry.mode == EntryMode::wildcard) n *= static_cast<double>(array.dim[d].total());
    else if (!entry.simple && entry.index != no_index) n *= mean_extent(bound, entry.index);
  }
  return n;
}

OperandSources::OperandSources(const Module& module, const BoundProgram& bound, const WorkCount& work)
    : m_(module), bound_(bound), work_(work) {
  std::vector<Footprint> footprints(work.nests.size());
  iteration_bytes_.resize(work.nests.size());
  for (std::size_t n = work.nests.size(); n-- > 0;) {  // children before their parents
    const LoopNest& nest = work.nests[n];
    Footprint& mine = footprints[n];
    nest.executions.for_each([&](std::int32_t pc, double) {
      for_each_block_operand(m_, m_.code[pc], [&](std::int32_t ref) { mine.try_emplace(key(ref), touched(ref)); });
    });
    for (const auto& [k, t] : mine) iteration_bytes_[n] += t.bytes;
    if (nest.parent < 0) continue;
    const LoopRow& row = m_.loops[nest.loop];
    Footprint& outer = footprints[static_cast<std::size_t>(nest.parent)];
    for (auto& [k, t] : mine) {
      Touched all = t;
      double times = 1;
      const double passed = row.indices.size() == 1 ? trips(nest) : 0;
      for (const IndexId i : row.indices)
        if (t.indices.contains(i))
          times *= passed > 0 ? passed : static_cast<double>(bound_.indices[i.at()].hi) - bound_.indices[i.at()].lo + 1;
      all.bytes = std::max(t.bytes, std::min(t.bytes * times, t.whole));
      const auto [at, is_new] = outer.try_emplace(k, all);
      if (!is_new) at->second.bytes = std::max(at->second.bytes, all.bytes);
    }
    mine.clear();
  }
}

std::vector<std::int32_t> OperandSources::key(std::int32_t ref) const {
  const RefRow& row = m_.refs[ref];
  std::vector<std::int32_t> k{row.array.number()};
  for (const RefEntry& e : row.entries) k.push_back(2 * e.index.number() + (e.as_simple ? 1 : 0));
  return k;
}

OperandSources::Touched OperandSources::touched(std::int32_t ref) const {
  Touched t;
  t.bytes = sizeof(double) * mean_elements(bound_, ref);
  t.whole = array_bytes(bound_.arrays[bound_.refs[ref].array.at()]);
  for (const RefEntry& e : m_.refs[ref].entries) {
    if (e.index == no_index) continue;
    t.indices.insert(e.index);
    if (m_.indices[e.index.at()].parent != no_index) t.indices.insert(m_.indices[e.index.at()].parent);
  }
  return t;
}

std::vector<OperandSources::Distance> OperandSources::distances(std::int32_t nest, std::int32_t ref) const {
  const Touched t = touched(ref);
  // A temporary block was made in this iteration.
  if (bound_.refs[ref].kind == ArrayKind::temp) return {{iteration_bytes_[nest], 1.0}};
  std::vector<Distance> result;
  double left = 1.0;
  for (std::int32_t n = nest; n > 0 && left > 1e-3; n = work_.nests[n].parent) {
    const LoopRow& row = m_.loops[work_.nests[n].loop];
    double inner = iteration_bytes_[n];
    double all = std::max(trips(work_.nests[n]), 1.0);
    // The first index of a pardo runs fastest.
    for (std::size_t i = 0; i < row.indices.size() && left > 1e-3; ++i) {
      const BoundIndex& index = bound_.indices[row.indices[i].at()];
      const bool last = i + 1 == row.indices.size();
      const double count = last ? all : std::min(all, static_cast<double>(index.hi) - index.lo + 1);
      if (count <= 1) continue;
      if (t.indices.contains(row.indices[i])) {
        inner *= count;  // another block each time
      } else {
        result.push_back({inner, left * (1 - 1 / count)});
        left /= count;
      }
      all = std::max(1.0, all / count);
    }
  }
  result.push_back({std::max(t.whole, iteration_bytes_[0]), left});
  return result;
}

}  // namespace sial
