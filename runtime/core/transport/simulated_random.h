#pragma once
// The random numbers that order what happens in a simulated run: a value, the same on every platform for the same seed.

#include <cstdint>

namespace sial {

/// SplitMix64: small, and the same on every platform. Number n of a seed is known without those before it.
class SimulatedRandom {
 public:
  explicit SimulatedRandom(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() { return mixed(state_ += step); }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  /// The number that next() after `others` more of them will return.
  std::uint64_t after(std::uint64_t others) const { return mixed(state_ + (others + 1) * step); }
  /// Advances as if next() had been called so many times.
  void skip(std::uint64_t count) { state_ += count * step; }

 private:
  static constexpr std::uint64_t step = 0x9e3779b97f4a7c15ULL;
  static std::uint64_t mixed(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }

  std::uint64_t state_;
};

}  // namespace sial
