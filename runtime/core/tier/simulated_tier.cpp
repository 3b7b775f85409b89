#include "runtime/core/tier/simulated_tier.h"

#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "runtime/core/base/bytes.h"
#include "runtime/core/base/check.h"
#include "runtime/core/base/error.h"

namespace sial {

SimulatedTier::SimulatedTier(std::shared_ptr<SimulatedSpace> space, std::function<double()> now)
    : space_(std::move(space)), now_(std::move(now)) {
  SIAL_CHECK(space_->capacity() % alignment() == 0, "a space of {} bytes", space_->capacity());
}

SimulatedTier::~SimulatedTier() { space_->finish(this); }

bool SimulatedTier::reserve(std::uint64_t bytes) {
  if (bytes <= capacity()) return true;
  throw EnvironmentError(
      fmt::format("{} is full: blocks need {} of its {}", name(), bytes_text(static_cast<std::int64_t>(bytes)),
                  bytes_text(static_cast<std::int64_t>(capacity()))),
      "simulate a larger one, or raise `--memory`");
}

void SimulatedTier::write(TierTransfer& transfer) { space_->add(this, transfer, true, TierPriority::write, now_()); }

void SimulatedTier::read(TierTransfer& transfer, TierPriority priority) {
  space_->add(this, transfer, false, priority, now_());
}

TierSpeed SimulatedTier::speed() const {
  const SimulatedSpeed& s = space_->speed();
  return {s.latency, s.read_bandwidth, s.write_bandwidth};
}

std::optional<double> SimulatedTier::next_completion() {
  const double next = space_->next_completion();
  return std::isfinite(next) ? std::optional(next) : std::nullopt;
}

}  // namespace sial
