#include "compiler/analysis/access.h"

#include <algorithm>

#include "compiler/analysis/work.h"
#include "runtime/core/base/shape.h"

namespace sial::analysis {
namespace {

bool contains(const std::vector<IndexId>& list, IndexId x) {
  return std::find(list.begin(), list.end(), x) != list.end();
}

}  // namespace

bool Access::invariant_in(ir::NodeId loop) const {
  for (std::size_t k = 0; k < loops.size(); ++k)
    if (loops[k]->id == loop) return static_cast<int>(k) > changes_at;
  return false;
}

Access access_of(const ir::Program& program, const ir::Block& block, const Path& path) {
  Access a;
  a.proc = path.proc;
  a.block = &block;
  for (const RefEntry& e : block.entries) {
    if (e.index == no_index) continue;
    for (const IndexId i : {e.index, index_row(program, e.index).parent})
      if (i != no_index && !contains(a.indices, i)) a.indices.push_back(i);
  }
  std::vector<IndexId> bound;
  a.repeats = Cost::constant(1.0);
  for (const ir::Node* n : path.enclosing) {
    const auto* l = std::get_if<ir::Loop>(&n->value);
    if (l == nullptr) continue;
    a.loops.push_back(n);
    bound.insert(bound.end(), l->indices.begin(), l->indices.end());
    if (std::any_of(l->indices.begin(), l->indices.end(), [&](IndexId i) { return contains(a.indices, i); })) {
      a.changes_at = static_cast<int>(a.loops.size()) - 1;
      a.repeats = Cost::constant(1.0);
    } else {
      for (const IndexId i : l->indices)
        a.repeats = a.repeats * (l->kind == LoopKind::sub ? Cost::constant(subsegments_per_segment) : Cost::count(i));
    }
  }
  for (const IndexId i : a.indices)
    if (!contains(bound, i)) a.from_callers.push_back(i);
  a.distinct = Cost::constant(1.0);
  for (const IndexId i : a.indices)
    a.distinct = a.distinct * (index_row(program, i).kind == IndexKind::sub ? Cost::constant(subsegments_per_segment)
                                                                            : Cost::count(i));
  if (a.changes_at < 0) return a;
  // Of a pardo the first index listed moves first.
  const ir::Loop& mover = std::get<ir::Loop>(a.loops[static_cast<std::size_t>(a.changes_at)]->value);
  const auto fastest =
      std::find_if(mover.indices.begin(), mover.indices.end(), [&](IndexId i) { return contains(a.indices, i); });
  const ArrayRow& array = program.arrays[block.array.at()];
  Cost step = Cost::constant(1.0);
  for (std::size_t d = 0; d < block.entries.size(); ++d) {
    const RefEntry& e = block.entries[d];
    if (e.index != no_index && (e.index == *fastest || index_row(program, e.index).parent == *fastest)) {
      const bool by_parent = e.index != *fastest && index_row(program, array.dims[d]).kind == IndexKind::sub;
      if (a.dimension < 0) a.dimension = static_cast<int>(d);
      a.stride += step * (by_parent ? static_cast<double>(subsegments_per_segment) : 1.0);  // a[i,i] moves along both
    }
    step = step * segments_of(program, array.dims[d]);
  }
  return a;
}

std::vector<Access> accesses(const ir::Program& program) {
  std::vector<Access> list;
  visit(program, [&](const ir::Node& n, const Path& path) {
    const auto* i = std::get_if<ir::Instr>(&n.value);
    if (i == nullptr || op_class(i->op) != OpClass::fetch) return;
    Access a = access_of(program, std::get<ir::Block>(i->operands[0]), path);
    a.node = n.id;
    a.place = n.place;
    list.push_back(std::move(a));
  });
  return list;
}

}  // namespace sial::analysis
