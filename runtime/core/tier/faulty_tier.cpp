#include "runtime/core/tier/faulty_tier.h"

#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "runtime/core/base/bytes.h"
#include "runtime/core/base/error.h"

namespace sial {
namespace {

bool fails(int number, int fault, bool lasting) {
  return fault != 0 && (number == fault || (lasting && number > fault));
}

}  // namespace

FaultyTier::FaultyTier(std::unique_ptr<Tier> tier, TierFaults faults)
    : faults_(std::move(faults)), tier_(std::move(tier)) {}

FaultyTier::~FaultyTier() {
  begin_stalled(true);
  tier_.reset();
  tell(true);
}

bool FaultyTier::reserve(std::uint64_t bytes) {
  std::unique_lock lock(mutex_);
  const int number = ++reserves_;
  lock.unlock();
  if (fails(number, faults_.fail_reserve, faults_.lasting))
    throw EnvironmentError(fmt::format("{} is full: {} are needed for blocks, 0 B are free", name(),
                                       bytes_text(static_cast<std::int64_t>(bytes))),
                           "free space there, name another folder with `--spill`, or raise `--memory`");
  return tier_->reserve(bytes);
}

void FaultyTier::write(TierTransfer& transfer) { start(transfer, true, TierPriority::write); }

void FaultyTier::read(TierTransfer& transfer, TierPriority priority) { start(transfer, false, priority); }

void FaultyTier::start(TierTransfer& transfer, bool write, TierPriority priority) {
  const std::lock_guard lock(mutex_);
  DelayedTransfer& held = held_.emplace_back();
  held.at = transfer.at;
  held.memory = transfer.memory;
  held.bytes = transfer.bytes;
  held.owner = this;
  held.outer = &transfer;
  held.write = write;
  held.priority = priority;
  held.calls_left = faults_.delay;
  const int number = ++(write ? writes_ : reads_);
  if (fails(number, write ? faults_.fail_write : faults_.fail_read, faults_.lasting)) {
    held.ended = true;
    held.error = write ? faults_.write_error : faults_.read_error;
    return;
  }
  if (faults_.stall != 0 && writes_ + reads_ == faults_.stall) {
    held.stalled = true;
    held.begins = faults_.now() + faults_.stall_seconds;
    return;
  }
  forward(held);
}

void FaultyTier::forward(DelayedTransfer& held) {
  if (held.write) tier_->write(held);
  else tier_->read(held, held.priority);
}

void FaultyTier::raise(TierTransfer& transfer) {
  const std::lock_guard lock(mutex_);
  for (DelayedTransfer& held : held_) {
    if (held.outer != &transfer || held.ended) continue;
    held.priority = TierPriority::demand;
    if (!held.stalled) tier_->raise(held);
    return;
  }
}

/// Called by threads of the tier below.
void FaultyTier::ended(DelayedTransfer& held, int error) {
  const std::lock_guard lock(mutex_);
  held.ended = true;
  held.error = error;
}

void FaultyTier::begin_stalled(bool whatever_the_time) {
  const std::lock_guard lock(mutex_);
  for (DelayedTransfer& held : held_) {
    if (!held.stalled || (!whatever_the_time && held.begins > faults_.now())) continue;
    held.stalled = false;
    forward(held);
  }
}

void FaultyTier::tell(bool all) {
  std::list<DelayedTransfer> told;
  {
    const std::lock_guard lock(mutex_);
    for (auto it = held_.begin(); it != held_.end();) {
      const auto next = std::next(it);
      if (it->ended && (all || it->calls_left-- <= 0)) told.splice(told.end(), held_, it);
      it = next;
    }
  }
  for (const DelayedTransfer& held : told) held.outer->completed(held.error);
}

void FaultyTier::progress() {
  tier_->progress();
  begin_stalled(false);
  tell(false);
}

}  // namespace sial
