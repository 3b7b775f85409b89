#include "runtime/core/tier/simulated_space.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "runtime/core/base/check.h"

namespace sial {
namespace {

constexpr std::uint64_t chunk_bytes = 1 << 20;
constexpr int not_a_number = 0xFF;  // as each byte of a double

}  // namespace

SimulatedSpace::SimulatedSpace(std::uint64_t capacity, const SimulatedSpeed& speed)
    : capacity_(capacity), speed_(speed) {}

void SimulatedSpace::add(const void* tier, TierTransfer& transfer, bool write, TierPriority priority, double now) {
  SIAL_CHECK(transfer.bytes > 0 && transfer.at <= capacity_ && transfer.bytes <= capacity_ - transfer.at,
             "a transfer of {} bytes at {} of {}", transfer.bytes, transfer.at, capacity_);
  if (!write) std::memset(transfer.memory, not_a_number, transfer.bytes);  // who does not wait is found out
  const std::lock_guard lock(mutex_);
  Channel& channel = write ? writes_ : reads_;
  channel.queued[static_cast<std::size_t>(priority)].push_back({tier, &transfer, write, now});
}

void SimulatedSpace::raise(TierTransfer& transfer) {
  const std::lock_guard lock(mutex_);
  for (Channel* channel : {&reads_, &writes_})
    for (const TierPriority priority : {TierPriority::prefetch, TierPriority::write}) {
      auto& queue = channel->queued[static_cast<std::size_t>(priority)];
      const auto found = std::ranges::find(queue, &transfer, &Queued::transfer);
      if (found == queue.end()) continue;
      channel->queued[static_cast<std::size_t>(TierPriority::demand)].push_back(*found);
      queue.erase(found);
      return;
    }
}

/// Prefetches that another rank waits for.
void SimulatedSpace::raise_awaited(Channel& channel) {
  std::erase_if(channel.queued[static_cast<std::size_t>(TierPriority::prefetch)], [&](const Queued& queued) {
    if (!queued.transfer->is_awaited()) return false;
    channel.queued[static_cast<std::size_t>(TierPriority::demand)].push_back(queued);
    return true;
  });
}

/// The most urgent of those that had come when the channel became free; else the first that came.
SimulatedSpace::Queued SimulatedSpace::next(Channel& channel) const {
  std::deque<Queued>* earliest = nullptr;
  for (auto& queue : channel.queued) {
    if (queue.empty()) continue;
    if (!earliest || queue.front().since < earliest->front().since) earliest = &queue;
    if (queue.front().since > channel.free_at) continue;
    earliest = &queue;
    break;
  }
  const Queued found = earliest->front();
  earliest->pop_front();
  return found;
}

/// Starts what the channel begins by `now`.
void SimulatedSpace::start(Channel& channel, double now) {
  const auto empty = [](const auto& queue) { return queue.empty(); };
  while (channel.free_at <= now && !std::ranges::all_of(channel.queued, empty)) {
    raise_awaited(channel);
    const Queued what = next(channel);
    const double bandwidth = what.write ? speed_.write_bandwidth : speed_.read_bandwidth;
    channel.free_at = std::max(channel.free_at, what.since) + static_cast<double>(what.transfer->bytes) / bandwidth;
    moving_.push_back({what, channel.free_at + speed_.latency});
  }
}

void SimulatedSpace::advance(double now) {
  std::vector<Moving> ended;
  {
    const std::lock_guard lock(mutex_);
    now_ = std::max(now_, now);
    for (Channel* channel : {&reads_, &writes_}) start(*channel, now_);
    const auto rest = std::ranges::stable_partition(moving_, [&](const Moving& m) { return m.ends <= now_; });
    ended.assign(moving_.begin(), rest.begin());
    moving_.erase(moving_.begin(), rest.begin());
    std::ranges::stable_sort(ended, {}, &Moving::ends);
    for (const Moving& m : ended) move(m.what);
  }
  for (const Moving& m : ended) m.what.transfer->completed(0);
}

double SimulatedSpace::next_completion() {
  const std::lock_guard lock(mutex_);
  for (Channel* channel : {&reads_, &writes_}) start(*channel, now_);
  double next = std::numeric_limits<double>::infinity();
  for (const Moving& m : moving_) next = std::min(next, m.ends);
  return next;
}

void SimulatedSpace::finish(const void* tier) {
  std::vector<Queued> ended;
  {
    const std::lock_guard lock(mutex_);
    const auto own = [&](const Queued& q) { return q.tier == tier; };
    for (const Moving& m : moving_)
      if (own(m.what)) ended.push_back(m.what);
    std::erase_if(moving_, [&](const Moving& m) { return own(m.what); });
    for (Channel* channel : {&reads_, &writes_})
      for (auto& queue : channel->queued) {
        std::ranges::copy_if(queue, std::back_inserter(ended), own);
        std::erase_if(queue, own);
      }
    for (const Queued& what : ended) move(what);
  }
  for (const Queued& what : ended) what.transfer->completed(0);
}

std::byte* SimulatedSpace::chunk(std::uint64_t at) {
  const auto index = static_cast<std::size_t>(at / chunk_bytes);
  if (index >= chunks_.size()) chunks_.resize(index + 1);
  if (!chunks_[index]) {
    chunks_[index] = std::make_unique_for_overwrite<std::byte[]>(chunk_bytes);
    std::memset(chunks_[index].get(), not_a_number, chunk_bytes);
  }
  return chunks_[index].get() + at % chunk_bytes;
}

void SimulatedSpace::move(const Queued& what) {
  const TierTransfer& t = *what.transfer;
  for (std::size_t done = 0; done < t.bytes;) {
    const std::uint64_t at = t.at + done;
    const std::size_t bytes = std::min<std::uint64_t>(t.bytes - done, chunk_bytes - at % chunk_bytes);
    if (what.write) std::memcpy(chunk(at), t.memory + done, bytes);
    else std::memcpy(t.memory + done, chunk(at), bytes);
    done += bytes;
  }
}

}  // namespace sial
