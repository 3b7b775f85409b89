#include "compiler/analysis/work.h"

#include <algorithm>

#include "runtime/core/base/shape.h"

namespace sial::analysis {
namespace {

/// Elements of one segment of an index.
Cost extent(const ir::Program& p, IndexId index) {
  const IndexRow& r = index_row(p, index);
  if (r.kind == IndexKind::simple) return Cost::constant(1.0);
  if (r.kind == IndexKind::sub)
    return extent(p, r.parent) *
           (index_row(p, r.parent).kind == IndexKind::simple ? 1.0 : 1.0 / subsegments_per_segment);
  return Cost::extent(index);
}

constexpr double bytes_per_element = sizeof(double);

}  // namespace

Cost segments_of(const ir::Program& p, IndexId index) {
  const IndexRow& r = index_row(p, index);
  return r.kind == IndexKind::sub ? segments_of(p, r.parent) * static_cast<double>(subsegments_per_segment)
                                  : Cost::count(index);
}

Cost extent_of(const ir::Program& program, const RefEntry& entry) {
  return entry.as_simple || entry.index == no_index ? Cost::constant(1.0) : extent(program, entry.index);
}

Cost elements_of(const ir::Program& program, const ir::Block& block) {
  Cost n = Cost::constant(1.0);
  const ArrayRow& array = program.arrays[block.array.at()];
  for (std::size_t d = 0; d < block.entries.size(); ++d) {
    const RefEntry& e = block.entries[d];
    n = n * (e.index != no_index ? extent_of(program, e)
                                 : extent(program, array.dims[d]) * segments_of(program, array.dims[d]));
  }
  return n;
}

Cost bytes_of(const ir::Program& program, const ir::Block& block) {
  return elements_of(program, block) * bytes_per_element;
}

Cost bytes_of_array(const ir::Program& program, ArrayId array) {
  Cost n = Cost::constant(bytes_per_element);
  for (const IndexId d : program.arrays[array.at()].dims) n = n * extent(program, d) * segments_of(program, d);
  return n;
}

Cost bytes_of(const ir::Program& program, const ArrayUse& use) {
  return use.block != nullptr ? bytes_of(program, *use.block) : bytes_of_array(program, use.array);
}

Work work_of(const ir::Program& program, const ir::Instr& instr) {
  Work work;
  const OpClass c = op_class(instr.op);
  for (const ArrayUse& u : array_uses(program, instr)) {
    if (c == OpClass::fetch && u.side == Side::own) continue;                        // the same block, once
    if (u.side == Side::home && c != OpClass::fetch && c != OpClass::put) continue;  // markers of whole remote arrays
    if (has(instr.op, op::no_data)) continue;
    const Cost bytes = bytes_of(program, u);
    work.bytes += bytes;
    if (u.side == Side::home) work.moved += bytes;
  }
  const std::vector<const ir::Block*> blocks = blocks_of(instr);
  if (op_cost(instr.op) == OpCost::dot) {
    work.flops = elements_of(program, *blocks[0]) * 2.0;
  } else if (op_cost(instr.op) == OpCost::product) {
    // Every label of the product once: those of the first factor, and of the second what the first does not have.
    work.flops = elements_of(program, *blocks[1]) * 2.0;
    for (const RefEntry& e : blocks[2]->entries)
      if (std::find(blocks[1]->entries.begin(), blocks[1]->entries.end(), e) == blocks[1]->entries.end())
        work.flops = work.flops * extent_of(program, e);
  }
  return work;
}

}  // namespace sial::analysis
