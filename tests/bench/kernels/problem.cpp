#include "tests/bench/kernels/problem.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <new>

namespace bench {
namespace {

/// Numbers in [-1, 1) by position, cheap enough for hundreds of megabytes.
double number(std::uint64_t at, std::uint64_t stream) {
  std::uint64_t x = (at + 1) * 0x9e3779b97f4a7c15u + stream * 0xd1b54a32d192ed03u;
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93u;
  x ^= x >> 29;
  return static_cast<double>(static_cast<std::int64_t>(x >> 11)) * 0x1p-52 - 1.0;
}

std::int64_t stride_in(const std::string& labels, char label, const std::map<char, std::int64_t>& extent) {
  std::int64_t s = 1;
  for (char l : labels) {
    if (l == label) return s;
    s *= extent.at(l);
  }
  return 0;
}

template <class T>
sial::BlockView<T> view(T* data, const std::string& labels, const std::map<char, std::int64_t>& extent) {
  sial::BlockView<T> v;
  v.data = data;
  v.rank = static_cast<std::int32_t>(labels.size());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    v.extent[i] = extent.at(labels[i]);
    v.stride[i] = stride_in(labels, labels[i], extent);
    v.label[i] = labels[i];
  }
  return v;
}

double* filled(Buffer& buffer, std::int64_t n, std::uint64_t stream) {
  double* p = buffer.need(n);
  for (std::int64_t i = 0; i < n; ++i) p[i] = number(static_cast<std::uint64_t>(i), stream);
  return p;
}

constexpr std::uint64_t stream_d = 1, stream_a = 2, stream_b = 3, stream_positions = 4;

}  // namespace

void Buffer::Free::operator()(double* p) const { std::free(p); }

double* Buffer::need(std::int64_t n) {
  if (n <= size_ && data_) return data_.get();
  constexpr std::size_t page = std::size_t{1} << 21;
  data_.reset();
  const std::size_t bytes = (static_cast<std::size_t>(n) * sizeof(double) / page + 1) * page;
  void* p = std::aligned_alloc(page, bytes);
  if (!p) throw std::bad_alloc();
  data_.reset(static_cast<double*>(p));
  size_ = static_cast<std::int64_t>(bytes / sizeof(double));
  return data_.get();
}

std::int64_t volume(const Dims& dims) {
  std::int64_t n = 1;
  for (const Dim& dim : dims) n *= dim.extent;
  return n;
}

Problem::Problem(const Case& c, Memory& memory) : case_(c), memory_(memory) {
  const auto dim = [&](char l) {
    return Dim{l, c.extent.at(l), stride_in(c.d, l, c.extent), stride_in(c.a, l, c.extent),
               stride_in(c.b, l, c.extent)};
  };
  for (char l : c.d) (c.a.find(l) != std::string::npos ? rows : columns).push_back(dim(l));
  for (char l : c.a)
    if (c.d.find(l) == std::string::npos) summed.push_back(dim(l));
  m = volume(rows), n = volume(columns), k = volume(summed);
  size_d_ = m * n, size_a_ = m * k, size_b_ = k * n;
  op_.has_b = true;
  op_.alpha = 1.0;
  op_.beta = c.beta;
  op_.d = view<double>(memory.d.need(size_d_), c.d, c.extent);
  op_.a = view<const double>(filled(memory.a, size_a_, stream_a), c.a, c.extent);
  op_.b = view<const double>(filled(memory.b, size_b_, stream_b), c.b, c.extent);
  // Once and for all: the baselines keep pointers, and streaming() moves half of all bytes from one of these to the
  // other.
  const std::int64_t half = static_cast<std::int64_t>(bytes() / 16.0) + 1;
  memory.packed_d.need(std::max(size_d_, half));
  memory.packed_a.need(std::max(size_a_, half));
  memory.packed_b.need(size_b_);
}

double Problem::bytes() const {
  return 8.0 * static_cast<double>(size_a_ + size_b_ + (case_.beta == 0.0 ? 1 : 2) * size_d_);
}

double Problem::old_value(std::int64_t at) const {
  return case_.beta == 0.0 ? std::numeric_limits<double>::quiet_NaN()
                           : number(static_cast<std::uint64_t>(at), stream_d);
}

void Problem::reset() const {
  for (std::int64_t i = 0; i < size_d_; ++i) op_.d.data[i] = old_value(i);
}

double Problem::error() const {
  const bool all = size_d_ * k <= 300'000;
  const std::int64_t positions = all ? size_d_ : 200;
  double worst = 0.0;
  for (std::int64_t p = 0; p < positions; ++p) {
    const auto drawn = static_cast<std::int64_t>((number(static_cast<std::uint64_t>(p), stream_positions) + 1.0) * 0.5 *
                                                 static_cast<double>(size_d_));
    std::int64_t rest = all ? p : std::min(drawn, size_d_ - 1);
    // The position in D, taken apart by D's own order of labels.
    std::int64_t at = 0, from_a = 0, from_b = 0;
    for (char l : case_.d) {
      const std::int64_t i = rest % case_.extent.at(l);
      rest /= case_.extent.at(l);
      at += i * stride_in(case_.d, l, case_.extent);
      from_a += i * stride_in(case_.a, l, case_.extent);
      from_b += i * stride_in(case_.b, l, case_.extent);
    }
    double sum = case_.beta == 0.0 ? 0.0 : case_.beta * old_value(at);
    double size = std::abs(sum);
    for (std::int64_t s = 0; s < k; ++s) {
      std::int64_t left = s, oa = from_a, ob = from_b;
      for (const Dim& dim : summed) {
        oa += left % dim.extent * dim.a;
        ob += left % dim.extent * dim.b;
        left /= dim.extent;
      }
      const double term = op_.a.data[oa] * op_.b.data[ob];
      sum += term;
      size += std::abs(term);
    }
    const double allowed = size * 2.3e-16 * (8.0 + std::sqrt(static_cast<double>(k)));
    const double error = std::abs(op_.d.data[at] - sum);
    if (std::isnan(error)) return std::numeric_limits<double>::infinity();
    if (error > 0.0) worst = std::max(worst, error / allowed);
  }
  return worst;
}

}  // namespace bench
