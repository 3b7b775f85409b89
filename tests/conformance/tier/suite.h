#pragma once
// What every tier does, whatever it is made of.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/core/tier/tier.h"

namespace sial::suite {

/// Memory with a rim that no transfer may touch, and the transfer from or to it.
class TestTransfer final : public TierTransfer {
 public:
  /// `shift`: how far the memory is from a page's begin, a multiple of 64.
  TestTransfer(std::uint64_t offset, std::size_t size, std::size_t shift);
  void completed(int error) noexcept override;

  void fill(std::uint64_t seed);
  void clear();
  /// Of its bytes, that of fill(seed).
  bool holds(std::uint64_t seed) const;
  bool rim_intact() const;
  int calls() const { return calls_.load(); }
  int error() const { return error_.load(); }
  /// May be started once more.
  void again() { calls_ = 0; }

 private:
  static constexpr std::size_t rim = 64;
  std::vector<std::byte> all_;
  std::atomic<int> calls_ = 0, error_ = -1;
};

/// Of the space that the rules need.
constexpr std::uint64_t space_bytes = std::uint64_t{80} << 20;

/// How tiers of one kind are made, and what a rank does while it waits.
struct Subject {
  std::function<std::unique_ptr<Tier>()> make;  // with a space of space_bytes
  std::function<void()> pause = [] {};
  bool many_threads = true;
};

/// Until it has completed; fails when that takes too long.
void wait(Tier& tier, const Subject& subject, const TestTransfer& transfer);

/// Tiers that run_all() makes, with many threads.
constexpr int tiers_of_run_all = 6;
void run_all(const Subject& subject, std::uint64_t seed);

}  // namespace sial::suite
