#include "compiler/analysis/bound_costs.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "compiler/analysis/operands.h"
#include "runtime/core/base/error.h"
#include "runtime/core/base/shape.h"
#include "runtime/core/bytecode/layout.h"

namespace sial::analysis {
namespace {

double subsegment(double extent, std::int32_t number) {
  const double q = std::floor(extent / subsegments_per_segment);
  return q + (number <= extent - q * subsegments_per_segment ? 1.0 : 0.0);
}

}  // namespace

BoundCosts::BoundCosts(const ir::Program& program, const Job& job)
    : p_(program), job_(job), values_(program.indices.size()) {}

std::int32_t BoundCosts::predefined(std::int32_t slot) const {
  const std::string& name = p_.ints[static_cast<std::size_t>(slot)].name;
  const auto found = job_.ints.find(name);
  if (found == job_.ints.end())
    throw SialError(fmt::format("the predefined int `{}` has no value", name),
                    fmt::format("give it with `--set {}=...`", name));
  return found->second;
}

BoundRange BoundCosts::range(IndexId index) const {
  const IndexRow& r = p_.indices[index.at()];
  if (r.kind == IndexKind::sub) return {1, subsegments_per_segment};
  const auto bound = [&](const Bound& b) { return b.symbolic ? predefined(b.value) : b.value; };
  return {bound(r.lo), bound(r.hi)};
}

double BoundCosts::segment_extent(IndexId index, std::int32_t segment) const {
  const IndexRow& r = p_.indices[index.at()];
  if (r.kind == IndexKind::simple) return 1.0;
  const auto table = job_.segments.find(r.kind);
  if (table == job_.segments.end() || segment < 1 || static_cast<std::size_t>(segment) > table->second.size())
    throw SialError(fmt::format("index `{}` needs segment {} of kind {}, which the job does not have", r.name, segment,
                                index_kind_text(r.kind)),
                    "give the segment extents with `--segments KIND=...`");
  return table->second[static_cast<std::size_t>(segment) - 1];
}

double BoundCosts::mean(IndexId index, int power) const {
  const BoundRange r = range(index);
  double sum = 0;
  for (std::int32_t s = r.lo; s <= r.hi; ++s) sum += std::pow(segment_extent(index, s), power);
  return r.hi < r.lo ? 0.0 : sum / (r.hi - r.lo + 1);
}

double BoundCosts::elements(const std::vector<RefEntry>& entries) const {
  // Powers of the segment indices; a subindex takes part of its parent.
  std::vector<std::pair<IndexId, int>> powers;
  double n = 1.0;
  const auto power = [&](IndexId index) -> int& {
    for (auto& [i, p] : powers)
      if (i == index) return p;
    return powers.emplace_back(index, 0).second;
  };
  for (const RefEntry& e : entries) {
    const IndexRow& r = p_.indices[e.index.at()];
    if (e.as_simple || r.kind == IndexKind::simple) continue;
    if (r.kind != IndexKind::sub) {
      ++power(e.index);
    } else if (p_.indices[r.parent.at()].kind == IndexKind::simple) {
      n *= known(e.index) ? subsegment(1.0, *known(e.index)) : 1.0 / subsegments_per_segment;
    } else if (known(e.index) && known(r.parent)) {
      n *= subsegment(segment_extent(r.parent, *known(r.parent)), *known(e.index));
    } else {
      ++power(r.parent);
      n /= subsegments_per_segment;
    }
  }
  for (const auto& [index, p] : powers)
    n *= known(index) ? std::pow(segment_extent(index, *known(index)), p) : mean(index, p);
  return n;
}

double BoundCosts::array_elements(ArrayId array, const ir::Region* region, const ir::Block* wildcard,
                                  std::span<const std::optional<std::int32_t>> ints) const {
  double n = 1.0;
  const std::vector<IndexId>& dims = p_.arrays[array.at()].dims;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (wildcard != nullptr && wildcard->entries[d].index != no_index) {
      n *= elements({wildcard->entries[d]});
      continue;
    }
    const IndexRow& r = p_.indices[dims[d].at()];
    const IndexId index = r.kind == IndexKind::sub ? r.parent : dims[d];
    BoundRange range = this->range(index);
    if (region != nullptr) {
      const auto lo = ints[static_cast<std::size_t>(region->lo[d])], hi = ints[static_cast<std::size_t>(region->hi[d])];
      if (lo && hi) range = {*lo, *hi};
    }
    double total = 0;
    for (std::int32_t s = range.lo; s <= range.hi; ++s) total += segment_extent(index, s);
    n *= total;
  }
  return n;
}

BoundWork BoundCosts::work(const ir::Instr& instr, std::span<const std::optional<std::int32_t>> ints) const {
  BoundWork work;
  const OpClass c = op_class(instr.op);
  for (const ArrayUse& u : array_uses(p_, instr)) {
    if (c == OpClass::fetch && u.side == Side::own) continue;
    if (u.side == Side::home && c != OpClass::fetch && c != OpClass::put) continue;
    if (has(instr.op, op::no_data)) continue;
    const bool one = u.block != nullptr && !has_wildcard(*u.block);
    const double bytes =
        sizeof(double) * (one ? elements(u.block->entries) : array_elements(u.array, u.region, u.block, ints));
    work.bytes += bytes;
    if (u.side == Side::home) work.moved += bytes;
  }
  const std::vector<const ir::Block*> blocks = blocks_of(instr);
  if (op_cost(instr.op) == OpCost::dot) {
    work.flops = 2.0 * elements(blocks[0]->entries);
  } else if (op_cost(instr.op) == OpCost::product) {
    std::vector<RefEntry> labels = blocks[1]->entries;
    for (const RefEntry& e : blocks[2]->entries)
      if (std::find(labels.begin(), labels.end(), e) == labels.end()) labels.push_back(e);
    work.flops = 2.0 * elements(labels);
  }
  return work;
}

}  // namespace sial::analysis
