#pragma once
// A tier that fails as disks do, for tests: at the n-th write, read or reserve(), counted from 1 for each of its tiers.
// Failures, stalls and delays end in progress(), never before the call that started them has returned.

#include <cerrno>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "runtime/core/tier/tier.h"

namespace sial {

/// 0: never.
struct TierFaults {
  int fail_write = 0, write_error = ENOSPC;
  int fail_read = 0, read_error = EIO;
  int fail_reserve = 0;
  bool lasting = false;      // those after it fail too
  int stall = 0;             // this transfer, of reads and writes together, begins late
  double stall_seconds = 0;  // by `now`
  std::function<double()> now = [] { return 0.0; };
  int delay = 0;  // completions are told by so many calls of progress() later
};

class FaultyTier final : public Tier {
 public:
  FaultyTier(std::unique_ptr<Tier> tier, TierFaults faults);
  ~FaultyTier() override;
  FaultyTier(const FaultyTier&) = delete;
  FaultyTier& operator=(const FaultyTier&) = delete;

  std::string name() const override { return tier_->name(); }
  std::string kind() const override { return tier_->kind(); }
  std::uint64_t capacity() const override { return tier_->capacity(); }
  std::uint64_t usable() const override { return tier_->usable(); }
  std::uint64_t alignment() const override { return tier_->alignment(); }
  bool reserve(std::uint64_t bytes) override;
  void write(TierTransfer& transfer) override;
  void read(TierTransfer& transfer, TierPriority priority) override;
  void raise(TierTransfer& transfer) override;
  void progress() override;
  TierSpeed speed() const override { return tier_->speed(); }

 private:
  /// Between whoever started a transfer and the tier below.
  struct DelayedTransfer final : TierTransfer {
    void completed(int error) noexcept override { owner->ended(*this, error); }
    bool is_awaited() const noexcept override { return outer->is_awaited(); }
    FaultyTier* owner = nullptr;
    TierTransfer* outer = nullptr;
    bool write = false, ended = false, stalled = false;
    TierPriority priority = TierPriority::write;
    int error = 0, calls_left = 0;
    double begins = 0;
  };

  void start(TierTransfer& transfer, bool write, TierPriority priority);
  void forward(DelayedTransfer& held);
  void ended(DelayedTransfer& held, int error);
  void begin_stalled(bool whatever_the_time);
  void tell(bool all);

  const TierFaults faults_;
  std::mutex mutex_;
  std::list<DelayedTransfer> held_;
  int writes_ = 0, reads_ = 0, reserves_ = 0;
  std::unique_ptr<Tier> tier_;  // ends before what its transfers belong to
};

}  // namespace sial
