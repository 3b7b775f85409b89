// Chains whose operands lie in different orders, where no cache holds them all. Boxes are about equally long in a row
// of every operand. They are done part after part, each as much as a first-level cache holds, and while one is computed
// what the next one needs is fetched. A target that is not read takes no room in caches: parts of it are assembled
// aside and go there in whole lines.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "runtime/core/kernels/elementwise/fused.h"
#include "runtime/core/kernels/interface/implementations.h"

namespace sial::kernels {
namespace {

// A box takes about so many doubles in a row of every operand, if it can; a part so many in all, and so many of what is
// contiguous across.
constexpr std::int64_t box_reach = 4096, part_elements = 3072, part_across = 64;
// Short rows are listed one by one.
constexpr std::int64_t rows_of_part = 256;

std::int64_t whole_lines(std::int64_t n) { return (n + cache_line - 1) / cache_line * cache_line; }

/// Parts of an extent of at most so much, about the same.
std::int64_t even_part(std::int64_t extent, std::int64_t most) {
  const std::int64_t parts = (extent + most - 1) / most;
  return (extent + parts - 1) / parts;
}

}  // namespace

/// Whether it goes by parts: where no cache holds one or two sources that all lie in other orders than the target. A
/// source in the target's order is fetched by the hardware, along with the target, and of more sources the parts would
/// be small. It does as well where the target's rows lie across a source near by (a small matrix transposed), or one
/// whose lines all want the same few places in the caches.
bool FusedRunner::needs_parts() const {
  if (target_[0] != 1) return false;
  constexpr std::size_t max_sources = 2;
  constexpr std::int64_t small_matrix = 4096;
  std::vector<const double*> operands;
  std::size_t sources = 0;
  bool in_order = false, other_order = false, crowded = false, near_by = false;
  each_operand([&](const Source& source) {
    if (std::find(operands.begin(), operands.end(), source.data) == operands.end()) operands.push_back(source.data);
    ++sources;
    const bool sorted = std::is_sorted(source.stride.begin(), source.stride.begin() + dims_);
    in_order |= sorted;
    other_order |= !sorted;
    crowded |= source.stride[0] != 0 && source.stride[0] % half_page == 0;
    for (int d = 1; d < dims_; ++d)
      near_by |= source.stride[d] == 1 && source.stride[0] == extent_[d] && extent_[0] * extent_[d] <= small_matrix;
  });
  if (!other_order) return false;
  const std::int64_t bytes =
      (static_cast<std::int64_t>(operands.size()) + 1) * volume(extent_) * static_cast<std::int64_t>(sizeof(double));
  if (crowded) return bytes >= limits_.bytes_for_parts / 5 * 4;
  if (limits_.parts_for_any_sources) return bytes >= limits_.bytes_for_parts;
  return sources <= max_sources && (near_by || !in_order) && bytes >= limits_.bytes_for_parts;
}

/// Fetches the target like any source, where the chain begins with what it holds.
void FusedRunner::read_target(const double* target) {
  const Step& s = steps_.front();
  const bool reads = !replaces_target(s.op) || std::any_of(s.source.begin(), s.source.begin() + s.n_sources,
                                                           [](const Source& q) { return q.self; });
  aside_ = !reads;
  if (!reads) return;
  Step copy;
  copy.op = FusedOp::copy;
  copy.n_sources = 1;
  copy.source[0].data = target;
  copy.source[0].stride = target_;
  steps_.insert(steps_.begin(), copy);
}

/// Boxes: about equally long in a row of every operand, as long as a second-level cache has room for one and what is
/// fetched ahead.
void FusedRunner::cut_boxes() {
  std::vector<Extents> operands{target_};
  each_operand([&](const Source& s) { operands.push_back(s.stride); });
  const std::int64_t most = limits_.elements_of_box / static_cast<std::int64_t>(operands.size() - 1);
  for (std::int64_t reach = box_reach;; reach = reach / 8 * 7) {
    plan_->tile.fill(1);
    for (const Extents& stride : operands) {
      std::int64_t row = 1;
      for (const int d : by_stride(stride)) {
        const std::int64_t extent = extent_[d];
        if (row * extent <= reach + reach / 4) {
          plan_->tile[d] = extent;
          row *= extent;
          continue;
        }
        // Parts of equal size, of whole lines in the fastest dimension.
        std::int64_t part = even_part(extent, std::max<std::int64_t>(1, reach / row));
        if (row == 1) part = std::min(extent, whole_lines(part));
        plan_->tile[d] = std::max(plan_->tile[d], part);
        break;
      }
    }
    if (volume(plan_->tile) <= most || reach <= cache_line) break;
  }
  cut_parts();
}

/// Parts are whole lines of what is contiguous across, then as long as they may be in the target's order. Their strides
/// are those of pieces of the target as they are there, an odd number of lines apart.
void FusedRunner::cut_parts() {
  plan_->part.fill(1);
  for (const Group& g : plan_->groups)
    if (g.across > 0) plan_->part[g.across] = std::min(plan_->tile[g.across], part_across);
  plan_->part[0] =
      std::min(plan_->tile[0], std::max(cache_line, part_elements / volume(plan_->part) / cache_line * cache_line));
  const std::int64_t most = std::min(part_elements, rows_of_part * plan_->part[0]);
  for (int d = 1; d < dims_ && plan_->part[d - 1] == plan_->tile[d - 1]; ++d)
    plan_->part[d] =
        std::max(plan_->part[d],
                 even_part(plan_->tile[d], std::max<std::int64_t>(1, most / (volume(plan_->part) / plan_->part[d]))));
  plan_->contiguous = 1;
  while (plan_->contiguous < dims_ && plan_->part[plan_->contiguous - 1] == extent_[plan_->contiguous - 1] &&
         target_[plan_->contiguous] == target_[plan_->contiguous - 1] * extent_[plan_->contiguous - 1])
    ++plan_->contiguous;
  std::int64_t size = 1;
  for (int d = 0; d < dims_; ++d) {
    if (d == plan_->contiguous) size = pieces_apart(size);
    plan_->part_stride[d] = size;
    size *= plan_->part[d];
  }
  plan_->part_size = size;
}

void FusedRunner::make_room() {
  if (room_ >= plan_->part_size) return;
  room_ = plan_->part_size;
  memory_ = std::make_unique<double[]>(static_cast<std::size_t>(room_ + cache_line));
  assembled_ = memory_.get();
  while (!begins_line(assembled_)) ++assembled_;
}

/// Calls f(in the target, in the part, elements) for each piece of the target in a part.
template <class F>
void FusedRunner::each_piece(double* target, const Extents& first, const Extents& extent, F&& f) const {
  std::int64_t count = 1;
  for (int d = 0; d < plan_->contiguous; ++d) count *= extent[d];
  target = element(target, first);
  Extents at{};
  const double* piece = assembled_;
  for (;;) {
    f(target, piece, count);
    int d = plan_->contiguous;
    for (; d < dims_; ++d) {
      target += target_[d], piece += plan_->part_stride[d];
      if (++at[d] < extent[d]) break;
      target -= target_[d] * extent[d], piece -= plan_->part_stride[d] * extent[d];
      at[d] = 0;
    }
    if (d >= dims_) return;
  }
}

void FusedRunner::run_parts(double* target) {
  if (aside_) make_room();
  const PieceCode write = permuter_.piece_code(extent_[0]);
  PieceWork w;
  Extents box{}, box_extent{}, first{}, extent{}, next{};
  for (bool more = true; more;) {
    for (int d = 0; d < dims_; ++d) box_extent[d] = std::min(plan_->tile[d], extent_[d] - box[d]);
    first = box;
    for (bool within = true; within;) {
      for (int d = 0; d < dims_; ++d) extent[d] = std::min(plan_->part[d], box[d] + box_extent[d] - first[d]);
      next = first;
      within = advance(next, plan_->part, box, box_extent);
      if (!within) {
        more = advance(box, plan_->tile, {}, extent_);
        next = more ? box : first;
      }
      if (aside_) {
        // A store that waits for its line keeps all later ones waiting.
        each_piece(target, first, extent, [](double* to, const double*, std::int64_t count) {
          if (!begins_line(to)) __builtin_prefetch(to, 1, 3);
          if (!begins_line(to + count)) __builtin_prefetch(to + count - 1, 1, 3);
        });
        run_groups(assembled_, first, extent, next);
        each_piece(target, first, extent, [&](double* to, const double* piece, std::int64_t count) {
          w.x = to;
          w.piece = piece;
          w.count = count;
          write(&w);
        });
      } else {
        run_groups(element(target, first), first, extent, next);
      }
      first = next;
    }
  }
  if (aside_) complete_streams();
}

}  // namespace sial::kernels
