// How a chain's block is cut into boxes, and what is done with each.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "runtime/kernels/chain.h"

namespace sial::kernels {
namespace {

// A box of so many doubles and as much of some sources fit a second-level cache together.
constexpr std::int64_t box_elements = 8192;
// Of operands that are contiguous along different dimensions a box takes at least a cache line, and rather so many doubles.
constexpr std::int64_t some_lines = 64;
// An assembled box takes about so many doubles in a row of every operand, if it can.
constexpr std::int64_t assembled_reach = 4096;
// Pieces are written in parts of so many doubles, and operands are fetched one by one in between.
constexpr std::int64_t part_of_piece = 256;

/// The dimensions that an operand moves in, in the order of its memory.
std::vector<int> by_stride(std::span<const std::int64_t> stride) {
  std::vector<int> order;
  for (std::size_t d = 0; d < stride.size(); ++d)
    if (stride[d] != 0) order.push_back(static_cast<int>(d));
  std::stable_sort(order.begin(), order.end(), [&](int p, int q) { return stride[static_cast<std::size_t>(p)] < stride[static_cast<std::size_t>(q)]; });
  return order;
}

}  // namespace

std::int64_t ChainRunner::volume(const Extents& extent) const {
  std::int64_t n = 1;
  for (int d = 0; d < dims_; ++d) n *= extent[d];
  return n;
}

/// Calls f(source) for each that is read from memory of its own: neither the target nor a table.
template <class F>
void ChainRunner::each_operand(F&& f) const {
  for (const Step& s : steps_)
    for (int q = 0; q < s.n_sources && !is_table(s.op); ++q)
      if (!s.source[q].self) f(s.source[q]);
}

/// Whether boxes are assembled aside: where operands lie in different orders and no cache holds them all.
bool ChainRunner::assembles() const {
  if (target_[0] != 1) return false;
  std::vector<const double*> operands;
  bool other_order = false;
  each_operand([&](const Source& source) {
    if (std::find(operands.begin(), operands.end(), source.data) == operands.end()) operands.push_back(source.data);
    for (int d = 1; d < dims_; ++d) other_order |= source.stride[d] < source.stride[d - 1];
  });
  const auto streams = static_cast<std::int64_t>(operands.size()) + 1;
  return other_order && streams * volume(extent_) * static_cast<std::int64_t>(sizeof(double)) >= limits_.assembled_bytes;
}

/// Whether the chain begins with what the target holds.
bool ChainRunner::reads_target() const {
  const Step& s = steps_.front();
  return !replaces_target(s.op) || std::any_of(s.source.begin(), s.source.begin() + s.n_sources, [](const Source& q) { return q.self; });
}

/// How much of each dimension a box takes, unless it is assembled: all where operands go on together; else lines of each operand's fastest dimension, long
/// rows of the target, then of what comes next in the operands.
void ChainRunner::choose_box() {
  if (assembled_) return cut_assembled();
  tile_.fill(1);
  if (dims_ == 1 && groups_.size() == 1 && groups_.front().code) {
    tile_[0] = extent_[0];
    return;
  }
  std::int64_t taken = 1;
  const auto widen = [&](int d, std::int64_t most) {
    taken /= tile_[d];
    tile_[d] = std::clamp(std::min(most, box_elements / taken), tile_[d], extent_[d]);
    taken *= tile_[d];
  };
  // The n-th dimension in a source's own memory.
  const auto nth = [&](const Source& s, std::size_t n) {
    const std::vector<int> order = by_stride(moving(s.stride));
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
  order_inner_loops();
}

/// Inner loops follow the target's memory.
void ChainRunner::order_inner_loops() {
  for (Group& g : groups_) {
    g.second = g.across;
    for (int d = 1; d < dims_; ++d)
      if (tile_[d] > 1 && d != g.second && g.third < 0) (g.second < 0 ? g.second : g.third) = d;
  }
}

/// Assembled boxes: about equally long in a row of every operand, as long as a second-level cache has room for.
void ChainRunner::cut_assembled() {
  std::int64_t copies = 1, read = reads_target() ? 1 : 0;
  std::vector<Extents> operands{target_};
  each_operand([&](const Source& s) {
    operands.push_back(s.stride);
    copies += s.turned ? 1 : 0;
    ++read;
  });
  const std::int64_t most = limits_.assembled_elements / (copies + 2 * read);
  for (std::int64_t reach = assembled_reach;; reach = reach / 8 * 7) {
    tile_.fill(1);
    for (const Extents& stride : operands) {
      std::int64_t row = 1;
      for (const int d : by_stride(moving(stride))) {
        const std::int64_t extent = extent_[d];
        if (row * extent <= reach + reach / 4) {
          tile_[d] = extent;
          row *= extent;
          continue;
        }
        // Parts of equal size, of whole lines in the fastest dimension.
        const std::int64_t parts = (extent * row + reach - 1) / reach;
        std::int64_t part = (extent + parts - 1) / parts;
        if (row == 1) part = std::min(extent, (part + cache_line - 1) / cache_line * cache_line);
        tile_[d] = std::max(tile_[d], part);
        break;
      }
    }
    if (volume(tile_) <= most || reach <= cache_line) break;
  }
  order_inner_loops();
  lay_out_box();
}

/// Strides of an assembled box: pieces of the target as they are there, an odd number of lines apart. Room for it and for its turned sources.
void ChainRunner::lay_out_box() {
  contiguous_ = 1;
  while (contiguous_ < dims_ && tile_[contiguous_ - 1] == extent_[contiguous_ - 1] && target_[contiguous_] == target_[contiguous_ - 1] * extent_[contiguous_ - 1]) ++contiguous_;
  std::int64_t size = 1;
  for (int d = 0; d < dims_; ++d) {
    if (d == contiguous_) size = pieces_apart(size);
    box_[d] = size;
    size *= tile_[d];
  }
  const auto apart = static_cast<std::size_t>((size + cache_line - 1) / cache_line * cache_line);
  std::size_t needed = 0;
  for (Step& s : steps_)
    for (int q = 0; q < s.n_sources; ++q)
      if (s.source[q].turned) s.source[q].copy = std::exchange(needed, needed + apart);
  target_copy_ = std::exchange(needed, needed + apart);
  if (room_ >= needed) return;
  memory_ = std::make_unique<double[]>(needed + cache_line);
  room_ = needed;
  copies_ = memory_.get();
  while (reinterpret_cast<std::uintptr_t>(copies_) % (cache_line * sizeof(double)) != 0) ++copies_;
}

/// The operands in memory with their lines in a box, and how many of those are to be fetched for each line that is written.
void ChainRunner::list_fetched(const double* target) {
  fetched_.clear();
  each_operand([&](const Source& s) { fetched_.push_back({s.data, s.stride, {}}); });
  if (reads_target()) fetched_.push_back({target, target_, {}});
  std::size_t lines = 0;
  for (Fetched& f : fetched_) {
    std::vector<int> order = by_stride(moving(f.stride));
    std::int64_t reach = 0, row = 1;
    for (const int d : order) reach += f.stride[d] * (tile_[d] - 1);
    if (reach > std::numeric_limits<std::int32_t>::max()) continue;
    std::erase_if(order, [&](int d) { return tile_[d] == 1; });
    std::size_t joined = 0;
    while (joined < order.size() && f.stride[order[joined]] == row) row *= tile_[order[joined++]];
    Extents at{};
    for (std::int64_t offset = 0;;) {
      for (std::int64_t i = 0; i < row; i += cache_line) f.lines.push_back(static_cast<std::int32_t>(offset + i));
      if (row > 1) f.lines.push_back(static_cast<std::int32_t>(offset + row - 1));  // rows begin anywhere in a line
      std::size_t k = joined;
      for (; k < order.size(); ++k) {
        const int d = order[k];
        offset += f.stride[d];
        if (++at[d] < tile_[d]) break;
        offset -= f.stride[d] * tile_[d];
        at[d] = 0;
      }
      if (k == order.size()) break;
    }
    lines += f.lines.size();
  }
  fetched_per_line_ = static_cast<std::int64_t>(lines) * cache_line / volume(tile_) + 1;
}

/// What a box takes of an operand, in the order of the target.
void ChainRunner::turn(double* box, const double* from, const Extents& stride, const Extents& first, const Extents& extent) {
  std::vector<PairDim> dims;
  for (int d = 0; d < dims_; ++d) {
    dims.push_back({extent[d], box_[d], stride[d]});
    from += first[d] * stride[d];
  }
  permuter_.run(box, from, std::move(dims), 1.0, 0.0);
}

void ChainRunner::turn_sources(const Extents& first, const Extents& extent) {
  for (const Step& s : steps_)
    for (int q = 0; q < s.n_sources; ++q)
      if (const Source& source = s.source[q]; source.turned) turn(copies_ + source.copy, source.data, source.stride, first, extent);
}

/// A group of steps on a box. The first of its steps that was to divide by zero, or none.
std::ptrdiff_t ChainRunner::run_group(const Group& group, double* target, const Extents& first, const Extents& extent) {
  const auto in_box = [&](const Source& s) { return s.turned || (assembled_ && s.self); };
  const int dims[3] = {0, group.second, group.third};
  for (int k = 0; k < 3; ++k) {
    work_.extent[k] = dims[k] < 0 ? 1 : extent[dims[k]];
    work_.target_stride[k] = dims[k] < 0 ? 0 : assembled_ ? box_[dims[k]] : target_[dims[k]];
  }
  for (std::size_t s = group.first; s < group.last; ++s) {
    work_.value[s - group.first] = steps_[s].value;
    for (int q = 0; q < steps_[s].n_sources; ++q)
      for (int k = 0; k < 3; ++k)
        work_.source[ChainTile::sources_per_step * (s - group.first) + q].stride[k] =
            dims[k] < 0 ? 0 : in_box(steps_[s].source[q]) ? box_[dims[k]] : steps_[s].source[q].stride[dims[k]];
  }
  std::ptrdiff_t failed = none;
  Extents at = first;
  for (;;) {
    std::int64_t offset = 0;
    for (int d = 0; d < dims_; ++d) offset += assembled_ ? (at[d] - first[d]) * box_[d] : at[d] * target_[d];
    work_.target = target + offset;
    for (std::size_t s = group.first; s < group.last; ++s)
      for (int q = 0; q < steps_[s].n_sources; ++q) {
        const Source& source = steps_[s].source[q];
        const double* data = !in_box(source) ? source.data : source.self ? target : copies_ + source.copy;
        for (int d = 0; d < dims_; ++d) data += in_box(source) ? (at[d] - first[d]) * box_[d] : at[d] * source.stride[d];
        work_.source[ChainTile::sources_per_step * (s - group.first) + q].data = data;
      }
    if (group.code) {
      const std::int64_t zeros = group.code(&work_);
      for (std::size_t s = group.first; s < group.last && zeros != 0; ++s)
        if ((zeros >> (s - group.first)) & 1) {
          if (failed == none || static_cast<std::ptrdiff_t>(s) < failed) failed = static_cast<std::ptrdiff_t>(s);
          break;
        }
    } else {
      const std::size_t end = failed == none ? group.last : static_cast<std::size_t>(failed);
      for (std::size_t s = group.first; s < end; ++s)
        if (!run_chain_step(work_, steps_[s].op, static_cast<int>(s - group.first), steps_[s].n_sources)) {
          failed = static_cast<std::ptrdiff_t>(s);
          break;
        }
    }
    int d = 1;
    for (; d < dims_; ++d) {
      if (d == group.second || d == group.third) continue;
      if (++at[d] < first[d] + extent[d]) break;
      at[d] = first[d];
    }
    if (d >= dims_) return failed;
  }
}

/// To the next box; false after the last one.
bool ChainRunner::advance(Extents& first) const {
  for (int d = 0; d < dims_; ++d) {
    first[d] += tile_[d];
    if (first[d] < extent_[d]) return true;
    first[d] = 0;
  }
  return false;
}

/// An assembled box goes to the target; meanwhile what the next one needs is fetched.
void ChainRunner::write_box(double* target, const Extents& first, const Extents& extent, const Extents& next, bool more) {
  const PieceCode write = permuter_.piece_code(extent_[0]);
  PieceWork w;
  w.per_line = fetched_per_line_;
  std::size_t reading = 0;
  const auto begin_reading = [&] {
    const Fetched& f = fetched_[reading];
    w.y_soon = f.data;
    for (int d = 0; d < dims_; ++d) w.y_soon += next[d] * f.stride[d];
    w.at = f.lines.data();
    w.at_end = w.at + f.lines.size();
  };
  if (more) begin_reading();
  std::int64_t count = 1;
  for (int d = 0; d < contiguous_; ++d) count *= extent[d];
  Extents at{};
  for (;;) {
    const double* piece = copies_ + target_copy_;
    double* x = target;
    for (int d = 0; d < dims_; ++d) x += (first[d] + at[d]) * target_[d], piece += at[d] * box_[d];
    for (std::int64_t done = 0; done < count; done += w.count) {
      // Parts end with a line.
      const auto within = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(x + done) / sizeof(double) % cache_line);
      w.count = std::min(part_of_piece - within, count - done);
      w.x = x + done;
      w.piece = piece + done;
      write(&w);
      while (more && w.at == w.at_end && reading + 1 < fetched_.size()) {
        ++reading;
        begin_reading();
      }
    }
    int d = contiguous_;
    for (; d < dims_; ++d) {
      if (++at[d] < extent[d]) break;
      at[d] = 0;
    }
    if (d >= dims_) return;
  }
}

}  // namespace sial::kernels
