#pragma once
// Random contractions for kernel suites, on operands that end where memory ends.

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <vector>

#include "runtime/core/kernels/interface/block_op.h"
#include "tests/conformance/kernels/cases.h"

namespace sial::kernel_cases {

/// Memory between two pages that nobody may touch; the data lie at its end or at its beginning.
class Guarded {
 public:
  Guarded(const std::vector<double>& content, bool at_end) : size_(content.size() * sizeof(double)) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    inner_ = (size_ + page - 1) / page * page;
    total_ = inner_ + 2 * page;
    base_ = static_cast<char*>(mmap(nullptr, total_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    REQUIRE(base_ != MAP_FAILED);
    if (inner_ > 0) REQUIRE(mprotect(base_ + page, inner_, PROT_READ | PROT_WRITE) == 0);
    data_ = reinterpret_cast<double*>(base_ + page + (at_end ? inner_ - size_ : 0));
    if (size_ > 0) std::memcpy(data_, content.data(), size_);
  }
  ~Guarded() { munmap(base_, total_); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  double* data() const { return data_; }
  const double* untouchable() const { return reinterpret_cast<const double*>(base_); }
  std::vector<double> content() const { return {data_, data_ + size_ / sizeof(double)}; }

 private:
  std::size_t size_, inner_ = 0, total_ = 0;
  char* base_ = nullptr;
  double* data_ = nullptr;
};

/// A contraction whose operands are as large as tiles and panels take to be met in all their ways.
struct Case {
  Operand d, a, b;
  double alpha = 1, beta = 0;
};

enum class Thin { no, outer, vector };

inline Case make_case(std::uint64_t seed, bool reals, Thin thin = Thin::no) {
  Generator g(seed);
  const int n_summed = thin == Thin::outer ? 0 : static_cast<int>(g.below(3)) + (g.chance(90) ? 1 : 0),
            n_rows = static_cast<int>(g.below(4));
  const int n_columns = thin == Thin::vector ? 0 : static_cast<int>(g.below(std::min(4, 7 - n_rows)));
  const int limit = n_summed > 2 ? 2 : n_summed;
  std::map<int, std::int64_t> extents;
  std::vector<int> rows, columns, summed;
  double volume = 1;
  const auto extent = [&] {
    static constexpr std::int64_t usual[] = {1, 2, 3, 4, 5, 7, 8, 9, 11, 12, 13, 16, 17, 24, 25, 31, 40, 64};
    std::int64_t e = g.chance(2) ? 0 : thin == Thin::vector && g.chance(3) ? 5003 : usual[g.below(18)];
    while (volume * static_cast<double>(e) > 4e5) e = e / 2;
    volume *= static_cast<double>(std::max<std::int64_t>(e, 1));
    return e;
  };
  for (int i = 0; i < n_rows + n_columns + limit; ++i) {
    extents[i] = extent();
    (i < n_rows ? rows : i < n_rows + n_columns ? columns : summed).push_back(i);
  }
  const auto join = [](std::vector<int> x, const std::vector<int>& y) {
    x.insert(x.end(), y.begin(), y.end());
    return x;
  };
  const auto order = [&](std::vector<int> v) { return g.chance(60) ? g.shuffled(std::move(v)) : v; };
  Case c;
  c.a = g.operand(order(g.chance(50) ? join(rows, summed) : join(summed, rows)), extents);
  c.b = g.operand(order(g.chance(50) ? join(summed, columns) : join(columns, summed)), extents);
  c.d = g.operand(order(g.chance(50) ? join(rows, columns) : join(columns, rows)), extents);
  constexpr double factors[] = {1.0, 1.0, -1.0, 0.5, 2.0, 0.0};
  c.alpha = factors[g.below(6)];
  c.beta = factors[g.below(6)];
  if (reals) {
    for (Operand* o : {&c.a, &c.b, &c.d})
      Generator::fill(*o, [&] { return static_cast<double>(g.below(2000001) - 1000000) / 999983.0; });
    if (c.alpha != 1.0 && g.chance(50)) c.alpha = 0.3, c.beta = -0.7;
    if (g.chance(10))
      Generator::fill(c.a,
                      [&] { return std::numeric_limits<double>::denorm_min() * static_cast<double>(g.below(100)); });
  }
  if (c.beta == 0.0) Generator::fill(c.d, [] { return std::numeric_limits<double>::quiet_NaN(); });
  return c;
}

inline BlockOp operation(Case& c) {
  BlockOp op;
  op.has_b = true;
  op.d = c.d.view<double>();
  op.a = c.a.view<const double>();
  op.b = c.b.view<const double>();
  op.alpha = c.alpha;
  op.beta = c.beta;
  return op;
}

/// Memory of D afterwards; the operands must be untouched.
inline std::vector<double> outcome(Kernels& kernels, Case& c, bool at_end) {
  const Guarded d(c.d.memory, at_end), a(c.a.memory, at_end), b(c.b.memory, at_end);
  BlockOp op = operation(c);
  op.d.data = d.data() + c.d.offset;
  op.a.data = a.data() + c.a.offset;
  op.b.data = b.data() + c.b.offset;
  // What is to be brought near may be anywhere.
  if (at_end) {
    kernels.expect(a.untouchable(), 1200);
    kernels.expect(op.b.data, c.b.view<const double>().extent[0]);
    kernels.expect(a.untouchable() + 100, 77);
  }
  kernels.run(op);
  CHECK(a.content() == c.a.memory);
  CHECK(b.content() == c.b.memory);
  return d.content();
}

inline bool same_bits(const std::vector<double>& x, const std::vector<double>& y) {
  return x.size() == y.size() && (x.empty() || std::memcmp(x.data(), y.data(), x.size() * sizeof(double)) == 0);
}

inline bool equal_values(const std::vector<double>& x, const std::vector<double>& y) {
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!(x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i])))) return false;
  return x.size() == y.size();
}

/// d += a * b by two kernels, from the same d, has the same bits.
inline void require_same_bits(Kernels& one, Kernels& other, Operand a, Operand b, Operand d) {
  Operand e = d;
  BlockOp op;
  op.has_b = true;
  op.beta = 1.0;
  op.a = a.view<const double>();
  op.b = b.view<const double>();
  op.d = d.view<double>();
  one.run(op);
  op.d = e.view<double>();
  other.run(op);
  INFO(other.explain(op));
  REQUIRE(d.memory == e.memory);
}

}  // namespace sial::kernel_cases
