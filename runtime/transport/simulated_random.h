#pragma once
// The random numbers that order what happens in a simulated run: a value, the same on every platform for the same seed.

#include <cstdint>

namespace sial {

/// SplitMix64: small, and the same on every platform.
class SimulatedRandom {
 public:
  explicit SimulatedRandom(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

}  // namespace sial
