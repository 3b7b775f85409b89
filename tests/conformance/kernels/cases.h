#pragma once
// Random operands for the kernel suites: views of dense blocks or of parts of larger arrays, with canaries around them.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <random>
#include <vector>

#include "runtime/core/kernels/interface/block_op.h"

namespace sial::kernel_cases {

/// Plain memory that counts, so that lost workspace shows.
class CountingResource final : public BufferResource {
 public:
  double* allocate(std::int64_t n) override {
    ++stats_.requests;
    stats_.bytes_in_use += n * 8;
    return new double[static_cast<std::size_t>(n) + 1];
  }
  void deallocate(double* p, std::int64_t n) noexcept override {
    stats_.bytes_in_use -= n * 8;
    delete[] p;
  }
  ResourceStats stats() const override { return stats_; }

 private:
  ResourceStats stats_;
};

/// A view together with the memory it looks at; elements outside the view hold a canary.
struct Operand {
  std::vector<double> memory;
  std::int64_t offset = 0;
  std::vector<int> labels;
  std::vector<std::int64_t> extents, strides;

  template <class T>
  BlockView<T> view() {
    BlockView<T> v;
    v.data = memory.data() + offset;
    v.rank = static_cast<std::int32_t>(labels.size());
    for (std::size_t i = 0; i < labels.size(); ++i) {
      v.extent[i] = extents[i];
      v.stride[i] = strides[i];
      v.label[i] = labels[i];
    }
    return v;
  }
  std::int64_t at(const std::map<int, std::int64_t>& position) const {
    std::int64_t o = offset;
    for (std::size_t i = 0; i < labels.size(); ++i) o += position.at(labels[i]) * strides[i];
    return o;
  }
};

inline constexpr double canary = 12345.678;

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n)); }
  bool chance(int percent) { return below(100) < percent; }

  std::int64_t extent() {
    if (chance(3)) return 0;
    if (chance(20)) return 1;
    return 2 + below(4);
  }
  /// Small integers: sums of products are exact whatever the order of summation.
  double value() { return static_cast<double>(below(9) - 4); }

  std::vector<int> shuffled(std::vector<int> v) {
    for (std::size_t i = v.size(); i > 1; --i)
      std::swap(v[i - 1], v[static_cast<std::size_t>(below(static_cast<std::int64_t>(i)))]);
    return v;
  }

  /// A dense block or a rectangular part of one, filled with small integers inside the view.
  Operand operand(const std::vector<int>& labels, const std::map<int, std::int64_t>& extents) {
    Operand o;
    o.labels = labels;
    const bool part = chance(40);
    const bool reordered = part && chance(30);
    std::vector<std::size_t> order(labels.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    if (reordered)
      for (std::size_t i = order.size(); i > 1; --i)
        std::swap(order[i - 1], order[static_cast<std::size_t>(below(static_cast<std::int64_t>(i)))]);
    o.extents.resize(labels.size());
    o.strides.resize(labels.size());
    std::int64_t stride = 1;
    for (std::size_t i : order) {
      const std::int64_t extent = extents.at(labels[i]);
      const bool margins = part && stride < 5000;  // of many dimensions, not around all
      const std::int64_t before = margins ? below(2) : 0, after = margins ? below(2) : 0;
      o.extents[i] = extent;
      o.strides[i] = stride;
      o.offset += before * stride;
      stride *= extent + before + after;
    }
    if (part && chance(20))  // a gap between neighbouring elements as well
      for (auto& s : o.strides) s *= 2;
    std::int64_t last = o.offset;
    for (std::size_t i = 0; i < labels.size(); ++i) last += std::max<std::int64_t>(0, o.extents[i] - 1) * o.strides[i];
    o.memory.assign(static_cast<std::size_t>(last + 1), canary);
    fill(o, [&] { return value(); });
    return o;
  }

  template <class F>
  static void fill(Operand& o, F f) {
    std::map<int, std::int64_t> extents;
    for (std::size_t i = 0; i < o.labels.size(); ++i) extents[o.labels[i]] = o.extents[i];
    each(extents, [&](const std::map<int, std::int64_t>& p) { o.memory[static_cast<std::size_t>(o.at(p))] = f(); });
  }

  template <class F>
  static void each(const std::map<int, std::int64_t>& extents, F f) {
    std::map<int, std::int64_t> position;
    for (auto& [label, extent] : extents) {
      if (extent == 0) return;
      position[label] = 0;
    }
    for (;;) {
      f(position);
      auto p = position.begin();
      for (; p != position.end(); ++p) {
        if (++p->second < extents.at(p->first)) break;
        p->second = 0;
      }
      if (p == position.end()) return;
    }
  }

 private:
  std::mt19937_64 random_;
};

inline std::uint64_t base_seed() {
  const char* s = std::getenv("SIALX_SEED");
  return s ? std::strtoull(s, nullptr, 10) : 20240501u;
}

}  // namespace sial::kernel_cases
