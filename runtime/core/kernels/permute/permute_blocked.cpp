// Permutations of large blocks, cache block by cache block: see permute.h.

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "runtime/core/base/check.h"
#include "runtime/core/kernels/interface/implementations.h"
#include "runtime/core/kernels/permute/permute.h"

namespace sial::kernels {
namespace {

// CacheBlocks reach about as far as this in the fastest dimensions of either side: a kilobyte and a half, long enough
// for memory to be at its best. Where both sides have the same fastest dimension they may reach further. A cache block
// fills half of a second-level cache at most.
constexpr std::int64_t cache_block_reach = 192, longest_reach = 1024, cache_block_of_lines = 16384,
                       max_cache_block = 28672, buffer_size = max_cache_block + max_cache_block / 4;
constexpr std::int64_t near_rows_at_once = 64;
// Without a buffer, y is fetched as many lines ahead as 8 rows of a cache block have; where lines are copied as they
// are, so many.
constexpr std::int64_t stream_reach_x = 128, stream_reach_y = 64, lines_at_once = 128;

}  // namespace

void Permuter::sort_by_y(std::vector<int>& dims) const {
  const auto place = [&](int k) { return std::pair(dims_[static_cast<std::size_t>(k)].y, k); };
  std::sort(dims.begin(), dims.end(), [&](int p, int q) { return place(p) < place(q); });
}

/// Extents of cache blocks: about so many elements in a row on either side. Returns the volume.
std::int64_t Permuter::cut_cache_blocks(std::int64_t length_x, std::int64_t length_y) {
  for (Dim& dim : dims_) dim.block = 1;
  const auto reach = [&](std::int64_t length) {
    std::int64_t row = 1;
    for (const int k : order_) {
      Dim& dim = dims_[static_cast<std::size_t>(k)];
      if (row * dim.extent <= length + length / 4) {
        dim.block = dim.extent;
        row *= dim.extent;
        continue;
      }
      // Blocks of equal size, of whole lines where the dimension is a fastest one.
      const std::int64_t wanted = std::max<std::int64_t>(1, (length + row / 2) / row);
      const std::int64_t pieces = (dim.extent + wanted - 1) / wanted;
      std::int64_t block = (dim.extent + pieces - 1) / pieces;
      if (k == 0 || k == fast_y_) block = std::min(dim.extent, (block + cache_line - 1) / cache_line * cache_line);
      dim.block = std::max(dim.block, block);
      break;
    }
  };
  order_.resize(dims_.size());
  std::iota(order_.begin(), order_.end(), 0);
  reach(length_x);
  sort_by_y(order_);
  reach(length_y);
  std::int64_t volume = 1;
  for (const Dim& dim : dims_) volume *= dim.block;
  return volume;
}

/// Strides of the buffer: pieces of x as they are there, an odd number of lines apart, in the order of y. Returns its
/// size.
std::int64_t Permuter::lay_out_buffer() {
  std::int64_t size = 1;
  contiguous_ = 0;
  for (bool more = true; more;) {
    Dim& dim = dims_[static_cast<std::size_t>(contiguous_++)];
    dim.buffer = size;
    size *= dim.block;
    const auto next = static_cast<std::size_t>(contiguous_);
    more = next < dims_.size() && dim.block == dim.extent && dims_[next].x == dim.x * dim.extent;
  }
  outside_.clear();
  for (int k = contiguous_; k < static_cast<int>(dims_.size()); ++k) outside_.push_back(k);
  sort_by_y(outside_);
  if (!outside_.empty()) size = pieces_apart(size);
  for (const int k : outside_) {
    Dim& dim = dims_[static_cast<std::size_t>(k)];
    dim.buffer = size;
    size *= dim.block;
  }
  return size;
}

/// Panels of cache blocks: x's fastest dimension and a second one, with those that continue it in y and in the buffer
/// alike; and the order of what is left.
void Permuter::choose_panels(bool in_order_of_y) {
  const int n = static_cast<int>(dims_.size());
  second_.clear();
  near_.clear();
  far_.clear();
  third_ = -1;
  near_third_ = false;
  if (n == 1) return;
  order_.resize(dims_.size());
  std::iota(order_.begin(), order_.end(), 0);
  sort_by_y(order_);
  second_.push_back(fast_y_ != 0 ? fast_y_ : in_order_of_y ? order_[1] : 1);
  for (const int k : order_) {
    const Dim& last = dims_[static_cast<std::size_t>(second_.back())];
    const Dim& dim = dims_[static_cast<std::size_t>(k)];
    if (last.block == last.extent && k != 0 && dim.y == last.y * last.extent && dim.buffer == last.buffer * last.extent)
      second_.push_back(k);
  }
  for (const int k : order_) {
    if (k == 0 || std::find(second_.begin(), second_.end(), k) != second_.end()) continue;
    const bool near = fast_y_ != 0 && dims_[static_cast<std::size_t>(k)].y < dims_[0].y;
    (near ? near_ : far_).push_back(k);
  }
  near_third_ = !near_.empty();
  std::vector<int>& from = near_third_ ? near_ : far_;
  if (from.empty()) return;
  third_ = from.front();
  from.erase(from.begin());
}

/// Calls f(x offset, y offset, buffer offset) for every position of the cache block at hand in the dimensions listed,
/// first one fastest.
template <class F>
void Permuter::within_cache_block(const std::vector<int>& listed, F&& f) const {
  std::array<std::int64_t, 2 * max_rank> at{};
  std::int64_t x = 0, y = 0, buffer = 0;
  for (;;) {
    f(x, y, buffer);
    std::size_t k = 0;
    for (; k < listed.size(); ++k) {
      const auto i = static_cast<std::size_t>(listed[k]);
      const Dim& dim = dims_[i];
      x += dim.x, y += dim.y, buffer += dim.buffer;
      if (++at[k] < here_[i]) break;
      x -= dim.x * here_[i], y -= dim.y * here_[i], buffer -= dim.buffer * here_[i];
      at[k] = 0;
    }
    if (k == listed.size()) return;
  }
}

/// Rows that are read together.
std::int64_t Permuter::rows_at_once() const { return near_third_ ? std::min(here_[0], near_rows_at_once) : here_[0]; }

/// Calls f(y offset, buffer offset, length, count, panels) for the panels of the cache block at hand, a row of them at
/// a time, in the order in which y lies in memory. Where its rows lie further apart than other dimensions, `rows` of
/// them go through those together: often only a few find room in one set of a cache.
template <class F>
void Permuter::panels_of_cache_block(std::int64_t rows, F&& f) const {
  const std::int64_t length = here_[0];
  const std::int64_t panels = third_ < 0 ? 1 : here_[static_cast<std::size_t>(third_)];
  std::int64_t count = 1;
  for (const int k : second_) count *= here_[static_cast<std::size_t>(k)];
  within_cache_block(far_, [&](std::int64_t, std::int64_t y_far, std::int64_t to_far) {
    for (std::int64_t i = 0, n = 0; i < length; i += n) {
      // Fewer than four rows by themselves would be transposed one element after the other.
      n = length - i < rows + 4 ? length - i : rows;
      within_cache_block(near_, [&](std::int64_t, std::int64_t y, std::int64_t to) {
        f(y_far + y + i * dims_[0].y, to_far + to + i, n, count, panels);
      });
    }
  });
}

/// The lines of y in a cache block, in the order in which assembling reads them.
void Permuter::list_lines() {
  lines_.clear();
  std::int64_t reach = 0;
  for (const Dim& dim : dims_) reach += dim.y * (dim.block - 1);
  if (reach > std::numeric_limits<std::int32_t>::max()) return;
  const bool transposed = fast_y_ != 0;
  const std::int64_t step =
      transposed || second_.empty() ? dims_[0].y : dims_[static_cast<std::size_t>(second_.front())].y;
  const auto list_panel = [&](std::int64_t y, std::int64_t length, std::int64_t count) {
    const auto add = [&](std::int64_t at) { lines_.push_back(static_cast<std::int32_t>(y + at)); };
    if (!transposed) {
      for (std::int64_t j = 0; j < count; ++j)
        for (std::int64_t i = 0; i < length; i += cache_line) add(i + j * step);
      return;
    }
    for (std::int64_t i0 = 0; i0 < length; i0 += cache_line)
      for (std::int64_t j = 0; j < count; j += cache_line)
        for (std::int64_t i = i0; i < std::min(i0 + cache_line, length); ++i) add(j + i * step);
  };
  const std::int64_t next = third_ < 0 ? 0 : dims_[static_cast<std::size_t>(third_)].y;
  panels_of_cache_block(
      rows_at_once(), [&](std::int64_t y, std::int64_t, std::int64_t length, std::int64_t count, std::int64_t panels) {
        for (std::int64_t k = 0; k < panels; ++k) list_panel(y + k * next, length, count);
      });
}

/// The lines of x in a cache block, piece by piece, where they are read.
void Permuter::list_added(bool read) {
  x_lines_.clear();
  std::int64_t reach = 0, count = 1;
  for (const Dim& dim : dims_) reach += dim.x * (dim.block - 1);
  if (!read || reach > std::numeric_limits<std::int32_t>::max()) return;
  for (int k = 0; k < contiguous_; ++k) count *= here_[static_cast<std::size_t>(k)];
  within_cache_block(outside_, [&](std::int64_t to, std::int64_t, std::int64_t) {
    for (std::int64_t i = 0; i < count; i += cache_line) x_lines_.push_back(static_cast<std::int32_t>(to + i));
  });
}

/// The lines of x that pieces of the cache block at hand begin or end within: they are written through the cache, and a
/// store that waits for its line keeps all later ones waiting.
void Permuter::fetch_edges(double* x, std::int64_t count) {
  within_cache_block(outside_, [&](std::int64_t to, std::int64_t, std::int64_t) {
    double* begin = x + to;
    double* end = begin + count;
    if (!begins_line(begin)) __builtin_prefetch(begin, 1, 3);
    if (!begins_line(end)) __builtin_prefetch(end - 1, 1, 3);
  });
}

/// The steps of panels.
PanelWork Permuter::panel_work(double alpha) const {
  const auto second = static_cast<std::size_t>(second_.empty() ? 0 : second_.front());
  PanelWork w;
  w.alpha = alpha;
  w.x_step = dims_[second].buffer;
  w.y_step = dims_[fast_y_ != 0 ? 0 : second].y;
  if (third_ >= 0) {
    w.x_next = dims_[static_cast<std::size_t>(third_)].buffer;
    w.y_next = dims_[static_cast<std::size_t>(third_)].y;
  }
  return w;
}

void Permuter::assemble(const double* y, PanelCode code, double alpha) {
  PanelWork w = panel_work(alpha);
  panels_of_cache_block(rows_at_once(), [&](std::int64_t from, std::int64_t to, std::int64_t length, std::int64_t count,
                                            std::int64_t panels) {
    w.x = buffer_ + to;
    w.y = y + from;
    w.length = length;
    w.count = count;
    w.panels = panels;
    code(&w);
  });
}

void Permuter::begin_cache_blocks() {
  for (std::size_t k = 0; k < dims_.size(); ++k) add_loop(static_cast<int>(k), dims_[k].block);
  order_loops();
  here_.resize(dims_.size());
  SIAL_CHECK(dims_.size() <= 2 * max_rank, "{} dimensions", dims_.size());
  look();
}

/// The cache block at hand is that at the loops' position.
void Permuter::look() {
  for (std::size_t k = 0; k < dims_.size(); ++k) here_[k] = extent_here(static_cast<int>(k), dims_[k].block);
}

/// No buffer is needed where all lines of x are whole: y is read about in the order in which it lies in memory, parts
/// of x are transposed in registers, and its lines are stored non-temporally one by one. False where lines are not
/// whole, or there is no such code.
bool Permuter::by_streams(double* x, const double* y, double alpha, double beta) {
  const bool transposed = fast_y_ != 0;
  const std::size_t blend = number(blend_of(alpha, beta));
  const StreamCode code = transposed ? code_->stream_transposed[blend] : code_->stream_lines[blend];
  bool whole = code && begins_line(x);
  for (const Dim& dim : dims_) whole &= (&dim == &dims_.front() ? dim.extent : dim.x) % cache_line == 0;
  if (!whole) return false;
  for (Dim& dim : dims_) {
    dim.block = dim.extent;
    dim.buffer = dim.x;
  }
  if (transposed) cut_cache_blocks(stream_reach_x, stream_reach_y);
  begin_cache_blocks();
  choose_panels(true);
  if (third_ >= 0 && !near_third_) {
    far_.insert(far_.begin(), third_);
    third_ = -1;
  }
  PanelWork w = panel_work(alpha);
  // One part behind: what is fetched is the next one.
  const auto part = [&](double* to, const double* from, std::int64_t length, std::int64_t count, std::int64_t panels) {
    if (w.x) code(&w, from);
    w.x = to;
    w.y = from;
    w.length = length;
    w.count = count;
    w.panels = panels;
  };
  const std::int64_t rows = std::max<std::int64_t>(1, lines_at_once * cache_line / dims_[0].extent);
  std::int64_t ox = 0, oy = 0;
  do {
    look();
    panels_of_cache_block(
        transposed ? cache_line : here_[0],
        [&](std::int64_t from, std::int64_t to, std::int64_t length, std::int64_t count, std::int64_t panels) {
          const std::int64_t step = transposed ? count : rows;
          for (std::int64_t j = 0; j < count; j += step)
            part(x + ox + to + j * w.x_step, y + oy + from + j * w.y_step, length, std::min(step, count - j), panels);
        });
  } while (advance(ox, oy));
  code(&w, w.y);
  complete_streams();
  return true;
}

void Permuter::by_cache_blocks(double* x, const double* y, double alpha, double beta) {
  std::int64_t reach = cache_block_reach;
  if (fast_y_ == 0)
    while (2 * reach <= longest_reach && 4 * reach * reach <= cache_block_of_lines * dims_[0].extent) reach *= 2;
  while (cut_cache_blocks(reach, reach) > max_cache_block) reach = reach / 4 * 3;
  const std::int64_t size = lay_out_buffer();
  SIAL_CHECK(size <= buffer_size, "a cache_block of {} elements", size);
  if (!memory_) {
    memory_ = std::make_unique<double[]>(static_cast<std::size_t>(buffer_size + cache_line));
    buffer_ = memory_.get();
    while (!begins_line(buffer_)) ++buffer_;
  }
  begin_cache_blocks();
  choose_panels(false);
  list_lines();

  // Factors apply where they can be applied in passing: alpha while assembling, beta while writing.
  const Blend blend = blend_of(alpha, beta);
  const PanelCode turn = fast_y_ != 0 ? code_->transposed[number(alpha == 1.0 ? Blend::copy : Blend::scale)][0]
                                      : code_->lines[number(alpha == 1.0 ? Blend::copy : Blend::scale)];
  const PieceCode write = code_->piece[number(blend == Blend::scale ? Blend::copy : blend)];
  PieceWork piece;
  piece.beta = beta;
  // Memory that is added to is fetched as well, after what is read.
  list_added(blend == Blend::add || blend == Blend::update);
  piece.per_line = x_lines_.empty() ? 1 : 2;
  std::int64_t ox = 0, oy = 0;
  for (bool more = true; more;) {
    look();
    piece.count = 1;
    for (int k = 0; k < contiguous_; ++k) piece.count *= here_[static_cast<std::size_t>(k)];
    fetch_edges(x + ox, piece.count);
    assemble(y + oy, turn, alpha);
    const std::int64_t x_here = ox;
    more = advance(ox, oy);
    piece.y_soon = y + oy;
    piece.at = lines_.data();
    piece.at_end = piece.at + (more ? lines_.size() : 0);
    within_cache_block(outside_, [&](std::int64_t to, std::int64_t, std::int64_t from) {
      piece.x = x + x_here + to;
      piece.piece = buffer_ + from;
      write(&piece);
      if (piece.at != piece.at_end || piece.y_soon == x + ox || !more) return;
      piece.y_soon = x + ox;
      piece.at = x_lines_.data();
      piece.at_end = piece.at + x_lines_.size();
    });
  }
  complete_streams();
}

}  // namespace sial::kernels
