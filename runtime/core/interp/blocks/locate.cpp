// The block that a reference means now, and the error where it means none.

#include <fmt/format.h>

#include "runtime/core/interp/blocks/operands.h"

namespace sial {
namespace {

const char* kind_word(ArrayKind kind) {
  switch (kind) {
    case ArrayKind::static_: return "static array";
    case ArrayKind::temp: return "temp";
    case ArrayKind::local: return "local array";
    case ArrayKind::contiguous_local: return "contiguous local array";
    case ArrayKind::distributed: return "distributed array";
    case ArrayKind::served: return "served array";
  }
  return "array";
}

}  // namespace

Located Operands::locate(const ResolvedReference& ref, Statement here) const {
  const BoundArray& array = array_of(ref);
  Located at;
  at.block.rank = ref.rank;
  at.shape.rank = ref.rank;
  for (int d = 0; d < ref.rank; ++d) {
    const ResolvedReference::Entry& entry = ref.entry[d];
    const BoundDim& dim = array.dim[d];
    std::int32_t segment = registers_.index_value(entry.index, here);
    std::int32_t sub = 0;
    if (entry.mode == EntryMode::combined) {
      segment = combined_segment(registers_.index_value(entry.parent, here), segment);
    } else if (entry.mode == EntryMode::box) {
      sub = segment;
      segment = registers_.index_value(entry.parent, here);
    } else if (dim.is_sub) [[unlikely]] {
      fail_subindex(ref, d, here);
    }
    if (segment < dim.lo || segment > dim.hi || !array.problem.empty()) [[unlikely]]
      fail_range(ref, d, segment, here);
    at.set(ref, dim, d, segment, sub);
  }
  return at;
}

void Operands::fail_subindex(const ResolvedReference& ref, int d, Statement here) const {
  const std::vector<BoundIndex>& indices = context_.bound.indices;
  const BoundDim& dim = array_of(ref).dim[d];
  context_.fail(here,
                fmt::format("dimension {} of `{}` is declared over subindex `{}` and referenced with `{}`", d + 1,
                            array_of(ref).name, indices[dim.index.at()].name, indices[ref.entry[d].index.at()].name),
                fmt::format("use a subindex of `{}` there", indices[indices[dim.index.at()].parent.at()].name));
}

void Operands::fail_box(const ResolvedReference& ref, int d, Statement here) const {
  const std::vector<BoundIndex>& indices = context_.bound.indices;
  const ResolvedReference::Entry& entry = ref.entry[d];
  context_.fail(here, fmt::format("part of a block of `{}` cannot be allocated or deallocated", array_of(ref).name),
                fmt::format("name `{}` instead of its subindex `{}`", indices[entry.parent.at()].name,
                            indices[entry.index.at()].name));
}

void Operands::fail_range(const ResolvedReference& ref, int d, std::int32_t segment, Statement here) const {
  const BoundArray& array = array_of(ref);
  context_.require_usable(array, here);
  const BoundDim& dim = array.dim[d];
  const std::string& declared = context_.bound.indices[dim.index.at()].name;
  const std::string& used = context_.bound.indices[ref.entry[d].index.at()].name;
  std::int32_t lo = dim.lo, hi = dim.hi;
  if (dim.is_sub) {
    lo >>= 2;
    hi >>= 2;
    segment >>= 2;
  }
  if (lo > hi)
    context_.fail(
        here,
        fmt::format("`{}` = {} is outside dimension {} of {} `{}`, which is declared over `{}` with an empty range",
                    used, segment, d + 1, kind_word(ref.kind), array.name, declared));
  context_.fail(here,
                fmt::format("`{}` = {} is outside dimension {} of {} `{}`, which is declared over `{}` = {}:{}", used,
                            segment, d + 1, kind_word(ref.kind), array.name, declared, lo, hi),
                fmt::format("restrict the loop with a where clause, or declare `{}` over a wider index", array.name));
}

void Operands::fail_absent(const ResolvedReference& ref, const BlockIndex& block, Statement here) const {
  const BoundArray& array = array_of(ref);
  const std::string name = block_name(array, block);
  if (ref.kind == ArrayKind::temp) fail_absent_temp(name, array.name, here);
  context_.fail(here, fmt::format("block `{}` of {} `{}` does not exist", name, kind_word(ref.kind), array.name),
                fmt::format("`allocate {}[...]` it or assign to it first (`+=`, `-=` and `*=` need an existing block)",
                            array.name));
}

void Operands::fail_absent_temp(const std::string& block, const std::string& array, Statement here) const {
  if (loops_.depth() == 0)
    context_.fail(here, fmt::format("temp `{}` is read before it was written", block),
                  fmt::format("assign to it first, for example `{} = 0.0`", array));
  const LoopRow& row = context_.module.loops[loops_.loops().back().loop];
  std::string over;
  for (IndexId i : row.indices) over += (over.empty() ? "`" : "`, `") + context_.bound.indices[i.at()].name;
  context_.fail(
      here, fmt::format("temp `{}` is read before it was written in this iteration of the loop over {}`", block, over),
      "a temp lives to the end of the iteration of the loop in which it was first written: assign to it in this iteration (`+=`, "
      "`-=` and `*=` need an existing block), or make the array local");
}

}  // namespace sial
