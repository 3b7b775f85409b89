// The cut of a chain's block into boxes, and the work on each.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/core/kernels/elementwise/fused.h"

namespace sial::kernels {
namespace {

// A box of so many doubles and as much of some sources fit a second-level cache together.
constexpr std::int64_t box_elements = 8192;
// Short rows are listed one by one.
constexpr std::int64_t rows_of_box = 512;
// A box takes at least a cache line of operands that are contiguous along different dimensions, and rather so many
// doubles.
constexpr std::int64_t some_lines = 64;

}  // namespace

/// The dimensions that an operand moves in, in the order of its memory.
std::vector<int> FusedRunner::by_stride(const Extents& stride) const {
  std::vector<int> order;
  for (int d = 0; d < dims_; ++d)
    if (stride[d] != 0) order.push_back(d);
  std::stable_sort(order.begin(), order.end(), [&](int p, int q) { return stride[p] < stride[q]; });
  return order;
}

std::int64_t FusedRunner::volume(const Extents& extent) const {
  std::int64_t n = 1;
  for (int d = 0; d < dims_; ++d) n *= extent[d];
  return n;
}

double* FusedRunner::element(double* target, const Extents& at) const {
  for (int d = 0; d < dims_; ++d) target += at[d] * target_[d];
  return target;
}

/// Chooses how much of each dimension a box takes, unless it goes by parts: all where operands go on together; else
/// lines of each operand's fastest dimension, long rows of the target, then of what comes next in the operands.
void FusedRunner::choose_box() {
  if (by_parts_) return cut_boxes();
  plan_->tile.fill(1);
  std::int64_t taken = 1;
  const auto widen = [&](int d, std::int64_t most) {
    taken /= plan_->tile[d];
    const std::int64_t room =
        d == 0 ? box_elements / taken : std::min(box_elements, rows_of_box * plan_->tile[0]) / taken;
    plan_->tile[d] = std::clamp(std::min(most, room), plan_->tile[d], extent_[d]);
    taken *= plan_->tile[d];
  };
  // The n-th dimension in a source's own memory.
  const auto nth = [&](const Source& s, std::size_t n) {
    const std::vector<int> order = by_stride(s.stride);
    return n < order.size() ? order[n] : 0;
  };
  const auto of_sources = [&](std::size_t n, std::int64_t most) {
    each_operand([&](const Source& s) { widen(nth(s, n), most); });
  };
  widen(0, cache_line);
  of_sources(0, cache_line);
  widen(0, some_lines);
  of_sources(0, some_lines);
  widen(0, extent_[0]);
  if (dims_ > 1) widen(1, cache_line);
  of_sources(1, cache_line);
  for (int d = 1; d < dims_; ++d) widen(d, extent_[d]);
}

/// All steps on the part of the block from `first` on, while that from `next` on is fetched. `target`: where the first
/// element is, in the block or aside. Of the steps that were to divide by zero the first in the program's order is
/// kept.
void FusedRunner::run_groups(double* target, const Extents& first, const Extents& extent, const Extents& next) {
  for (Group& g : plan_->groups) {
    if (failed_ != none && static_cast<std::ptrdiff_t>(g.first) >= failed_) return;
    run_group(g, target, first, extent, next);
  }
}

void FusedRunner::run_group(Group& group, double* target, const Extents& first, const Extents& extent,
                            const Extents& next) {
  const Extents& own = aside_ ? plan_->part_stride : target_;
  const int dims[2] = {0, group.across};
  for (int k = 0; k < 2; ++k) {
    work_.extent[k] = dims[k] < 0 ? 1 : extent[dims[k]];
    work_.target_stride[k] = dims[k] < 0 ? 0 : own[dims[k]];
  }
  work_.target = target;
  for (std::size_t s = group.first; s < group.last; ++s) {
    work_.value[s - group.first] = steps_[s].value;
    for (int q = 0; q < steps_[s].n_sources; ++q) {
      const Source& source = steps_[s].source[q];
      FusedTile::Source& in_tile = work_.source[FusedTile::sources_per_step * (s - group.first) + q];
      const Extents& stride = source.self ? own : source.stride;
      in_tile.data = source.self ? target : source.data;
      in_tile.ahead = 0;
      for (int d = 0; d < dims_ && !source.self; ++d) {
        in_tile.data += stride[d] * first[d];
        in_tile.ahead += stride[d] * (next[d] - first[d]);
      }
      for (int k = 0; k < 2; ++k) in_tile.stride[k] = dims[k] < 0 ? 0 : stride[dims[k]];
    }
  }
  const std::vector<std::int64_t>& offsets = offsets_of(group, extent);
  work_.offset = offsets.data();
  work_.places = static_cast<std::int64_t>(offsets.size() / group.operands);
  run_tile(group);
}

/// The places of a tile: every position in its dimensions but the first two.
const std::vector<std::int64_t>& FusedRunner::offsets_of(Group& group, const Extents& extent) {
  for (const Offsets& known : group.offsets)
    if (std::equal(extent.begin(), extent.begin() + dims_, known.extent.begin())) return known.list;
  std::vector<std::int64_t> list;
  std::vector<int> dims;
  std::int64_t places = 1;
  for (int d = 1; d < dims_; ++d)
    if (d != group.across && extent[d] > 1) {
      dims.push_back(d);
      places *= extent[d];
    }
  std::array<const Extents*, max_operands> stride{aside_ ? &plan_->part_stride : &target_};
  std::size_t n = 1;
  for (std::size_t s = group.first; s < group.last; ++s)
    for (int q = 0; q < steps_[s].n_sources; ++q)
      if (!steps_[s].source[q].self) stride[n++] = &steps_[s].source[q].stride;
  list.resize(static_cast<std::size_t>(places) * n);
  listed_ += list.size();
  std::array<std::int64_t, max_operands> at{};
  Extents position{};
  for (std::size_t row = 0; row < list.size(); row += n) {
    std::copy_n(at.begin(), n, list.begin() + static_cast<std::ptrdiff_t>(row));
    for (const int d : dims) {
      const bool over = ++position[d] == extent[d];
      for (std::size_t k = 0; k < n; ++k) at[k] += (*stride[k])[d] * (over ? 1 - extent[d] : 1);
      if (!over) break;
      position[d] = 0;
    }
  }
  group.offsets.push_back({extent, std::move(list)});
  return group.offsets.back().list;
}

void FusedRunner::run_tile(const Group& group) {
  const auto fail = [&](std::size_t step) {
    failed_ =
        failed_ == none ? static_cast<std::ptrdiff_t>(step) : std::min(failed_, static_cast<std::ptrdiff_t>(step));
  };
  if (group.code) {
    const std::int64_t zeros = group.code(&work_);
    if (zeros != 0) fail(group.first + static_cast<std::size_t>(std::countr_zero(static_cast<std::uint64_t>(zeros))));
    return;
  }
  const std::size_t end = failed_ == none ? group.last : std::min(group.last, static_cast<std::size_t>(failed_));
  FusedRows rows;
  rows.length = work_.extent[0];
  rows.count = work_.extent[1];
  rows.places = work_.places;
  rows.offset = work_.offset;
  rows.columns = static_cast<std::int64_t>(group.operands);
  rows.target = work_.target;
  rows.target_step = work_.target_stride[0];
  rows.target_across = work_.target_stride[1];
  int column = 0;
  for (std::size_t s = group.first; s < end; ++s) {
    rows.value = steps_[s].value;
    rows.n_sources = steps_[s].n_sources;
    for (int q = 0; q < rows.n_sources; ++q) {
      const FusedTile::Source& from = work_.source[FusedTile::sources_per_step * (s - group.first) + q];
      FusedRows::Source& to = rows.source[q];
      to = {from.data, from.stride[0], from.stride[1], steps_[s].source[q].self ? 0 : ++column, 0};
      const bool contiguous = to.step == 1 || (group.across > 0 && to.across == 1);
      if (by_parts_ && contiguous && to.column > 0 && !is_table(steps_[s].op)) fetch_ahead(rows, to, from.ahead);
      if (group.across > 0 && to.step > 1 && to.across == 1 && !is_table(steps_[s].op)) transpose_source(rows, to, q);
    }
    if (!rows_(steps_[s].op, rows)) return fail(s);
  }
}

/// The lines of what generated code would ask for.
void FusedRunner::fetch_ahead(const FusedRows& rows, const FusedRows::Source& source, std::int64_t ahead) {
  const bool along = source.step == 1;
  const std::int64_t length = along ? rows.length : rows.count, count = along ? rows.count : rows.length,
                     next = along ? source.across : source.step;
  for (std::int64_t k = 0; k < rows.places; ++k) {
    const double* row = source.data + ahead + rows.offset[k * rows.columns + source.column];
    for (std::int64_t j = 0; j < count; ++j, row += next)
      for (std::int64_t i = 0; i < length; i += cache_line) __builtin_prefetch(row + i, 0, 2);
  }
}

/// Built-in loops take sources that are contiguous the other way from a copy that is like the target.
void FusedRunner::transpose_source(const FusedRows& rows, FusedRows::Source& source, int number) {
  PanelWork w;
  w.length = rows.length;
  w.count = rows.count;
  w.x_step = rows.length;
  w.y_step = source.step;
  const std::int64_t apart = rows.length * rows.count;
  std::vector<double>& copy = transposed_[number];
  copy.resize(std::max(copy.size(), static_cast<std::size_t>(apart * rows.places)));
  const PanelCode turn = permuter_.transpose_code(apart * rows.places);
  for (std::int64_t k = 0; k < rows.places; ++k) {
    w.x = copy.data() + k * apart;
    w.y = source.data + rows.offset[k * rows.columns + source.column];
    turn(&w);
  }
  source = {copy.data(), 1, rows.length, -1, apart};
}

/// To the next of the parts of a range; false after the last one, back at the first.
bool FusedRunner::advance(Extents& at, const Extents& part, const Extents& first, const Extents& extent) const {
  for (int d = 0; d < dims_; ++d) {
    at[d] += part[d];
    if (at[d] < first[d] + extent[d]) return true;
    at[d] = first[d];
  }
  return false;
}

}  // namespace sial::kernels
