#include "runtime/core/kernels/permute/permute.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <tuple>

#include "runtime/core/kernels/interface/implementations.h"

namespace sial::kernels {
namespace {

// Elements of a page, and the ways of a first-level cache: lines a page apart all want the same place.
constexpr std::int64_t page = 2 * half_page, ways = 8;
constexpr std::int64_t panel_length = 64, panel_count = 64, panel_volume = 2048, panel_of_lines = 4096, few = 16;
// Programs that move less than this never load a code generator.
constexpr std::int64_t elements_worth_generating = 50'000'000;

/// Extent of the parts that a dimension is cut into: at most `most`, all about the same, whole lines.
std::int64_t part_of(std::int64_t extent, std::int64_t most) {
  if (extent <= most) return extent;
  const std::int64_t parts = (extent + most - 1) / most, even = (extent + parts - 1) / parts;
  return std::min(most, (even + cache_line - 1) / cache_line * cache_line);
}

struct Panels {
  std::int64_t length = 0, count = 0;
  bool along_x = false;            // rows of x in the inner loop
  bool columns_outermost = false;  // as few as fill whole lines of y, for all of the block
};

/// Panels of lines: fast is x's fastest dimension, and that of y as well.
Panels cut_lines(const PairDim& fast, const PairDim& second) {
  return {fast.extent, std::min(second.extent, std::max<std::int64_t>(1, panel_of_lines / fast.extent)), false, false};
}

/// Panels that are transposed: fast is x's fastest dimension, second that of y.
Panels cut_transposed(const PairDim& fast, const PairDim& second) {
  const bool x_crowded = second.x % half_page == 0, y_crowded = fast.y % half_page == 0;
  const std::int64_t apart = ways * page / std::gcd(second.x, page);  // columns of x that have places of their own
  Panels p;
  if (!x_crowded && !y_crowded) {
    // Whole columns: each part of eight rows goes on where the one before ended, and what it touches is small. Cuts
    // cost whole lines read twice.
    p.length = fast.extent;
    // Short columns that follow one another are written from end to end.
    p.along_x = second.x == fast.extent && fast.extent <= panel_length && second.x % cache_line != 0;
    const std::int64_t most =
        second.extent <= 2 * panel_count ? second.extent : std::max(panel_count, panel_volume / fast.extent);
    p.count = p.along_x ? second.extent : part_of(second.extent, std::min(most, std::max(few, apart)));
    return p;
  }
  // Columns of x half a page apart share few places in the cache: their lines have to be done one by one.
  p.along_x = x_crowded && second.x >= fast.y;
  if (x_crowded && y_crowded && second.x % page != 0) {
    p.length = part_of(fast.extent, few);
    p.count = part_of(second.extent, few);
    return p;
  }
  p.columns_outermost = x_crowded;
  p.length = part_of(fast.extent, panel_length);
  p.count = part_of(second.extent, std::max(x_crowded ? cache_line : few, std::min(panel_volume / p.length, apart)));
  return p;
}

template <class Code>
bool fetch(CodeEngine& engine, PermuteRole role, Blend blend, Code& code) {
  if (!code) code = reinterpret_cast<Code>(engine.find(permute_key(role, blend)));
  return code != nullptr;
}

}  // namespace

Permuter::Permuter(CodeEngine* engine, PermuteLimits limits)
    : engine_(engine), limits_(limits), table_(builtin_permute(engine ? engine->facts() : processor_facts())) {
  if (limits_.assembled_bytes == 0) limits_.assembled_bytes = bytes_beyond_caches();
  if (engine_ && (limits_.prefer_generated || engine_->facts().vector_bits > table_.vector_bits)) {
    generated_.vector_bits = engine_->facts().vector_bits;
    generated_.streams = true;
  } else {
    engine_ = nullptr;
  }
}

const PermuteKernels& Permuter::table(std::int64_t volume) {
  if (complete_) return generated_;
  if (!engine_) return table_;
  moved_ += volume;
  // The engine is asked now and then; its lock and its table are not for every small block.
  if (!limits_.prefer_generated && (moved_ < elements_worth_generating || (calls_++ & 63) != 0)) return table_;
  bool all = true;
  for (const Blend blend : {Blend::copy, Blend::scale, Blend::add, Blend::update}) {
    const std::size_t k = number(blend);
    all &= fetch(*engine_, PermuteRole::transposed, blend, generated_.transposed[k][0]);
    all &= fetch(*engine_, PermuteRole::transposed_along_x, blend, generated_.transposed[k][1]);
    all &= fetch(*engine_, PermuteRole::lines, blend, generated_.lines[k]);
    if (blend != Blend::scale) all &= fetch(*engine_, PermuteRole::piece, blend, generated_.piece[k]);
  }
  complete_ = all;
  return complete_ ? generated_ : table_;
}

Permuter::Method Permuter::run(double* x, const double* y, std::vector<PairDim> dims, double alpha, double beta) {
  if (!fuse(dims)) return Method::nothing;
  std::int64_t volume = 1;
  for (const PairDim& dim : dims) volume *= dim.extent;
  if (dims.size() == 1 && dims.front().x == 1 && dims.front().y == 1 && alpha == 1.0 && beta == 0.0) {
    std::memcpy(x, y, static_cast<std::size_t>(volume) * sizeof(double));
    return Method::copied;
  }
  const auto plainly = [&] {
    combine(x, y, std::move(dims), alpha, beta);
    return Method::combined;
  };
  if (volume < limits_.plain_volume || dims.empty()) return plainly();
  const auto fast =
      std::min_element(dims.begin(), dims.end(), [](const PairDim& p, const PairDim& q) { return p.y < q.y; });
  // Without unit strides there are no lines to speak of.
  if (dims.front().x != 1 || fast->y != 1) return plainly();
  fast_y_ = static_cast<int>(fast - dims.begin());
  dims_.clear();
  for (const PairDim& dim : dims) dims_.push_back({dim});
  loops_.clear();
  code_ = &table(volume);
  // Lines that all want the same few places in the caches, on both sides, leave them early.
  const Dim& other = dims_[static_cast<std::size_t>(fast_y_ != 0 || dims_.size() == 1 ? fast_y_ : 1)];
  const bool chased = dims_.size() > 1 && other.x % page == 0 && (fast_y_ != 0 ? dims_.front().y : other.y) % page == 0;
  const bool large = code_->streams && 2 * volume * static_cast<std::int64_t>(sizeof(double)) >=
                                           limits_.assembled_bytes / (chased ? 2 : 1);
  if (!large) {
    by_panels(x, y, alpha, beta);
    return Method::panels;
  }
  if (by_streams(x, y, alpha, beta)) return Method::streams;
  by_cache_blocks(x, y, alpha, beta);
  return Method::cache_blocks;
}

/// A loop over blocks of a dimension; none when there is only one block.
void Permuter::add_loop(int dim, std::int64_t block) {
  const Dim& d = dims_[static_cast<std::size_t>(dim)];
  if (block >= d.extent) return;
  loops_.push_back({(d.extent + block - 1) / block, d.x * block, d.y * block, d.extent, block, dim});
}

/// Short steps on either side go inside: lines at the edges of blocks are completed while they are near. The loop over
/// dimension `outermost`, if any, is that.
void Permuter::order_loops(int outermost) {
  const auto key = [&](const Loop& loop) {
    return std::tuple(loop.dim == outermost, std::min(loop.x, loop.y), std::max(loop.x, loop.y), loop.dim);
  };
  std::sort(loops_.begin(), loops_.end(), [&](const Loop& p, const Loop& q) { return key(p) < key(q); });
  at_.assign(loops_.size(), 0);
}

/// To the next position of the loops; false after the last one, back at the first.
bool Permuter::advance(std::int64_t& x, std::int64_t& y) {
  for (std::size_t k = 0; k < loops_.size(); ++k) {
    const Loop& loop = loops_[k];
    x += loop.x, y += loop.y;
    if (++at_[k] < loop.count) return true;
    x -= loop.x * loop.count, y -= loop.y * loop.count;
    at_[k] = 0;
  }
  return false;
}

std::int64_t Permuter::extent_here(int dim, std::int64_t block) const {
  for (std::size_t k = 0; k < loops_.size(); ++k)
    if (loops_[k].dim == dim) return std::min(block, loops_[k].extent - at_[k] * block);
  return std::min(block, dims_[static_cast<std::size_t>(dim)].extent);
}

void Permuter::by_panels(double* x, const double* y, double alpha, double beta) {
  const bool transposed = fast_y_ != 0;
  const bool alone = dims_.size() == 1;
  const int other = transposed ? fast_y_ : 1;
  const Dim& fast = dims_[0];
  const Dim second = alone ? Dim{} : dims_[static_cast<std::size_t>(other)];
  const auto [length, count, along_x, columns_outermost] =
      transposed ? cut_transposed(fast, second) : cut_lines(fast, second);
  for (int k = 1; k < static_cast<int>(dims_.size()); ++k)
    if (k != other) add_loop(k, 1);
  add_loop(0, length);
  if (!alone) add_loop(other, count);
  order_loops(columns_outermost ? other : -1);

  PanelWork w;
  // The innermost loop is left to the code, unless it changes the panels.
  if (!loops_.empty() && loops_.front().block == 1 && loops_.front().dim != 0 && loops_.front().dim != other) {
    w.panels = loops_.front().count;
    w.x_next = loops_.front().x;
    w.y_next = loops_.front().y;
    loops_.erase(loops_.begin());
    at_.pop_back();
  }
  w.x_step = second.x;
  w.y_step = transposed ? fast.y : second.y;
  w.length = length;
  w.count = count;
  w.alpha = alpha;
  w.beta = beta;
  const Blend blend = blend_of(alpha, beta);
  const PanelCode code = transposed ? code_->transposed[number(blend)][along_x ? 1 : 0] : code_->lines[number(blend)];
  std::int64_t ox = 0, oy = 0;
  do {
    w.x = x + ox;
    w.y = y + oy;
    if (length < fast.extent) w.length = extent_here(0, length);
    if (count < second.extent) w.count = extent_here(other, count);
    code(&w);
  } while (advance(ox, oy));
}

}  // namespace sial::kernels
