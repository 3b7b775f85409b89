// print and println. Only ranks that print evaluate blocks: a rank that does not print still checks that they exist.

#include <fmt/format.h>

#include "runtime/device/cache/block_cache.h"
#include "runtime/interp/machine.h"
#include "runtime/interp/operations/view_ops.h"

namespace sial {

void Machine::op_print_string(const Instruction& in) {
  if (prints()) printer_.string(m_->strings[in.a], in.b != 0);
}

void Machine::op_print_scalar(const Instruction& in) {
  if (prints())
    printer_.scalar(in.c >= 0 ? std::string_view(m_->strings[in.c]) : std::string_view(), scalars_[in.a], line(),
                    in.b != 0);
}

void Machine::op_print_int(const Instruction& in) {
  if (prints())
    printer_.integer(in.c >= 0 ? std::string_view(m_->strings[in.c]) : std::string_view(), ints_[in.a], line(),
                     in.b != 0);
}

void Machine::op_print_index(const Instruction& in) {
  const std::int32_t value = index_value(in.a);
  if (prints()) printer_.integer(bound_.indices[in.a].name, value, line(), in.b != 0);
}

void Machine::op_print_block(const Instruction& in) {
  ConstView view;
  read_view(in.a, view);
  if (!prints()) return;
  Located at;
  locate(bound_.refs[in.a], at);
  printer_.block(block_name(array_of(bound_.refs[in.a]), at.block), view, line(), in.b != 0);
}

void Machine::op_print_region(const Instruction& in) {
  const RegionRow& row = m_->regions[in.a];
  MutableView view;
  region_view(row, view);
  if (!prints()) return;
  std::array<std::int32_t, max_rank> lo{}, hi{};
  region_bounds(row, lo, hi);
  printer_.block(range_name(row.array, lo, hi), as_const(view), line(), in.b != 0);
}

void Machine::require_regions(std::int32_t id) {
  if (regions_[id].empty())
    fail(fmt::format("contiguous local array `{}` has no allocated region to print", bound_.arrays[id].name),
         "allocate one with `allocate contiguous`");
  if (copies_)
    for (const Region& region : regions_[id])
      copies_->buffer_on_host(region.data, region.shape.size(), Intent::read, statement());
}

std::string Machine::whole_name(std::int32_t id, const Region& region) const {
  return regions_[id].size() == 1 ? bound_.arrays[id].name : range_name(id, region.lo, region.hi);
}

void Machine::op_print_array(const Instruction& in) {
  const BoundArray& array = bound_.arrays[in.a];
  if (array.kind == ArrayKind::contiguous_local) {
    require_regions(in.a);
    if (!prints()) return;
    for (const Region& region : regions_[in.a]) {
      MutableView view;
      fill_region_view(in.a, region, region.lo, region.hi, view);
      printer_.array(whole_name(in.a, region), as_const(view), line(), in.b != 0);
    }
    return;
  }
  const double* data = whole_static(in.a, Intent::read);
  if (!prints()) return;
  printer_.array(array.name, dense_view<const double>(data, array.whole, {}), line(), in.b != 0);
}

}  // namespace sial
