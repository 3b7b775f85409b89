#pragma once
// A tier in the memory of one process, whose ranks share a space, on the clock of a simulation. Transfers end in
// progress() of any of its tiers, when the clock says so. What is read holds NaN until then.

#include <functional>
#include <memory>
#include <string>

#include "runtime/core/tier/simulated_space.h"
#include "runtime/core/tier/tier.h"

namespace sial {

class SimulatedTier final : public Tier {
 public:
  SimulatedTier(std::shared_ptr<SimulatedSpace> space, std::function<double()> now);
  /// Ends its transfers under way, whatever the clock says.
  ~SimulatedTier() override;
  SimulatedTier(const SimulatedTier&) = delete;
  SimulatedTier& operator=(const SimulatedTier&) = delete;

  std::string name() const override { return "the simulated disk"; }
  std::string kind() const override { return "simulated"; }
  std::uint64_t capacity() const override { return space_->capacity(); }
  std::uint64_t alignment() const override { return 4096; }
  bool reserve(std::uint64_t bytes) override;
  void write(TierTransfer& transfer) override;
  void read(TierTransfer& transfer, TierPriority priority) override;
  void raise(TierTransfer& transfer) override { space_->raise(transfer); }
  void progress() override { space_->advance(now_()); }
  TierSpeed speed() const override;

  /// The next completion of all ranks of the node.
  std::optional<double> next_completion() override;

 private:
  std::shared_ptr<SimulatedSpace> space_;
  std::function<double()> now_;
};

}  // namespace sial
