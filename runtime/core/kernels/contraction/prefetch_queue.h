#pragma once
// Elements that operations will read soon, fetched into a cache by those that run before: blocks that come from memory
// keep an operation waiting for longer than their products take when there are few products to each of their elements.
// Tiles fetch some lines each, so that all is here when the operation ends. A hint: what it is given is never read,
// only named to the processor, and may be gone by then.

#include <algorithm>
#include <array>
#include <cstdint>

#include "runtime/core/kernels/interface/tiles.h"

namespace sial::kernels {

constexpr double products_per_cycle = 2;  // of vectors

class PrefetchQueue {
 public:
  void expect(const double* data, std::int64_t elements) {
    if (first_ + waiting_ == ranges_.size()) {
      // The range that has waited longest is late by now.
      if (first_ == 0) lines_ -= ranges_[0].lines, --waiting_, first_ = 1;
      std::move(ranges_.begin() + static_cast<std::ptrdiff_t>(first_),
                ranges_.begin() + static_cast<std::ptrdiff_t>(first_ + waiting_), ranges_.begin());
      first_ = 0;
    }
    ranges_[first_ + waiting_++] = {data, data, (elements + prefetch_line - 1) / prefetch_line};
    lines_ += ranges_[first_ + waiting_ - 1].lines;
  }

  /// An operation reads these: there is nothing to be gained by fetching them any more.
  void drop(const double* a, const double* b) {
    for (std::size_t i = first_; i < first_ + waiting_; ++i)
      if (ranges_[i].data == a || ranges_[i].data == b) lines_ -= ranges_[i].lines, ranges_[i].lines = 0;
  }

  /// An operation of so many flops begins, more than 0; its tiles do so many in a cycle.
  void begin(double flops, double per_cycle) {
    lines_per_cycle_ = lines_ == 0 ? 0 : std::min(static_cast<double>(lines_) * per_cycle / flops, 1 / cycles_per_line);
  }

  /// Whether there is anything for the operation that began.
  bool any() const { return lines_per_cycle_ > 0; }

  /// Gives a call, of tiles of so many cycles each, its part; the call is cut after as many groups of columns as that
  /// lasts.
  void share(TileWork& work, double cycles) {
    work.prefetch_lines = 0;
    if (lines_per_cycle_ == 0) return;
    while (waiting_ > 0 && ranges_[first_].lines == 0) ++first_, --waiting_;
    if (waiting_ == 0) {
      first_ = 0;
      lines_per_cycle_ = 0;
      return;
    }
    Range& range = ranges_[first_];
    const std::int64_t tiles = work.repeat * work.runs;  // of a group of columns
    const std::int64_t wanted = static_cast<std::int64_t>(lines_per_cycle_ * cycles) + 1;
    work.column_groups = std::clamp<std::int64_t>(range.lines / (wanted * tiles), 1, work.column_groups);
    work.prefetch_lines = std::min(wanted, (range.lines + tiles - 1) / tiles);
    work.near = range.at;
    // The last tiles may go beyond the end, where nothing is lost.
    const std::int64_t taken = std::min(work.prefetch_lines * tiles * work.column_groups, range.lines);
    range.at += taken * prefetch_line;
    range.lines -= taken;
    lines_ -= taken;
  }

 private:
  static constexpr double cycles_per_line = 8;  // that memory takes at best

  struct Range {
    const double* data = nullptr;  // its name
    const double* at = nullptr;    // still to be fetched
    std::int64_t lines = 0;
  };
  std::array<Range, 16> ranges_;
  std::size_t first_ = 0, waiting_ = 0;
  std::int64_t lines_ = 0;  // of all
  double lines_per_cycle_ = 0;
};

}  // namespace sial::kernels
