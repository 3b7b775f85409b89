#include "runtime/core/transport/simulated_remote_memory.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>

#include "runtime/core/transport/transport.h"

namespace sial {

class SimulatedRemoteMemory final : public RemoteMemory {
 public:
  SimulatedRemoteMemory(SimulatedRemoteTransfers& remote_memory, SimulatedRemoteTransfers::Round& round, int rank)
      : remote_memory_(remote_memory), round_(round), rank_(rank) {}
  ~SimulatedRemoteMemory() override {
    // An error that unwinds this rank ends the job, and others may be waiting for it.
    const bool worker = rank_ < remote_memory_.options_.ranks && std::uncaught_exceptions() == 0;
    if (worker) ++round_.workers_closed;
    while (worker && round_.workers_closed < remote_memory_.options_.ranks && !remote_memory_.scheduler_.ending()) {
      try {
        remote_memory_.scheduler_.pause();
      } catch (const JobEnding&) {}
    }
    remote_memory_.cancel(
        [this](const auto& c) { return c.round == &round_ && (c.by == rank_ || c.copy->rank == rank_); });
    round_.providers[static_cast<std::size_t>(rank_)] = nullptr;
  }
  SimulatedRemoteMemory(const SimulatedRemoteMemory&) = delete;
  SimulatedRemoteMemory& operator=(const SimulatedRemoteMemory&) = delete;

  /// The switch to another rank can wait: whoever asks may hold locks.
  RemoteChunk ask(int rank, std::uint64_t bytes) override {
    remote_memory_.scheduler_.clock() += 2 * remote_memory_.options_.latency;
    MemoryProvider* provider = round_.providers[static_cast<std::size_t>(rank)];
    return provider ? provider->provide(bytes) : RemoteChunk{};
  }
  void start(RemoteCopy& copy) override { remote_memory_.add(copy, round_, rank_); }
  void raise(RemoteCopy& copy) override { remote_memory_.raise(copy); }
  /// Time moves on without this; while the job is being ended it does not.
  void progress() override {
    if (remote_memory_.scheduler_.ending())
      remote_memory_.cancel([this](const auto& c) { return c.round == &round_ && c.by == rank_; });
  }

 private:
  SimulatedRemoteTransfers& remote_memory_;
  SimulatedRemoteTransfers::Round& round_;
  const int rank_;
};

SimulatedRemoteTransfers::SimulatedRemoteTransfers(SimulatedScheduler& scheduler, const SimulationOptions& options,
                                                   int total)
    : scheduler_(scheduler),
      options_(options),
      links_(static_cast<std::size_t>(total)),
      starts_(static_cast<std::size_t>(total)),
      opened_(static_cast<std::size_t>(total)) {}

std::unique_ptr<RemoteMemory> SimulatedRemoteTransfers::open(int rank, MemoryProvider& provider) {
  const std::size_t number = opened_[static_cast<std::size_t>(rank)]++;
  while (rounds_.size() <= number) rounds_.emplace_back().providers.resize(links_.size(), nullptr);
  Round& round = rounds_[number];
  round.providers[static_cast<std::size_t>(rank)] = &provider;
  auto memory = std::make_unique<SimulatedRemoteMemory>(*this, round, rank);
  ++round.opened;
  while (round.opened < links_.size()) scheduler_.pause();
  return memory;
}

/// A read leaves the provider, which has to hear of it first; a write leaves the requester.
void SimulatedRemoteTransfers::add(RemoteCopy& copy, Round& round, int by) {
  if (!copy.writes) std::memset(copy.memory, 0xFF, copy.bytes);  // NaN: who does not wait is found out
  const double since = scheduler_.clock() + (copy.writes ? 0 : options_.latency);
  const int sender = copy.writes ? by : copy.rank;
  Link& link = links_[static_cast<std::size_t>(sender)];
  link.queued[static_cast<std::size_t>(copy.priority)].push_back({&copy, &round, by, since});
  link.first = std::min(link.first, since);
  record_start(sender);
}

void SimulatedRemoteTransfers::raise(RemoteCopy& copy) {
  if (copy.priority == CopyPriority::demand) return;
  for (Link& link : links_) {
    auto& queue = link.queued[static_cast<std::size_t>(copy.priority)];
    const auto found = std::ranges::find(queue, &copy, &Copy::copy);
    if (found == queue.end()) continue;
    link.queued[static_cast<std::size_t>(CopyPriority::demand)].push_back(*found);
    queue.erase(found);
    copy.priority = CopyPriority::demand;
    return;
  }
}

void SimulatedRemoteTransfers::record_first(int rank) {
  Link& link = links_[static_cast<std::size_t>(rank)];
  link.first = never;
  for (const auto& queue : link.queued)
    for (const Copy& c : queue) link.first = std::min(link.first, c.since);
  record_start(rank);
}

/// The most urgent of those that are there.
void SimulatedRemoteTransfers::start(int rank, double now) {
  Link& link = links_[static_cast<std::size_t>(rank)];
  for (auto& queue : link.queued) {
    const auto found = std::ranges::find_if(queue, [now](const Copy& c) { return c.since <= now; });
    if (found == queue.end()) continue;
    const Copy what = *found;
    queue.erase(found);
    link.free_at = now + static_cast<double>(what.copy->bytes) / options_.bandwidth;
    record_first(rank);
    moving_.insert({link.free_at + (what.copy->writes ? 2 : 1) * options_.latency, {what, started_++}});
    return;
  }
}

bool SimulatedRemoteTransfers::advance_one(double limit) {
  const double next = next_event();
  if (next == never || next > limit) return false;
  if (!moving_.empty() && moving_.begin()->first == next) {
    const Copy what = moving_.begin()->second.what;
    moving_.erase(moving_.begin());
    end(what);
    return true;
  }
  std::vector<int> starting;
  starts_.visit_earliest([&](int rank, std::uint32_t) { starting.push_back(rank); });
  for (const int rank : starting) start(rank, next);
  return true;
}

void SimulatedRemoteTransfers::end(const Copy& what) {
  RemoteCopy& c = *what.copy;
  MemoryProvider* provider = what.round->providers[static_cast<std::size_t>(c.rank)];
  if (provider && c.writes) std::memcpy(provider->provided(c.at), c.memory, c.bytes);
  if (provider && !c.writes) std::memcpy(c.memory, provider->provided(c.at), c.bytes);
  c.completed(provider ? 0 : ECANCELED);
  scheduler_.look_again();
}

void SimulatedRemoteTransfers::cancel(const std::function<bool(const Copy&)>& which) {
  std::vector<Moving> moving;
  for (const auto& [ends, m] : moving_)
    if (which(m.what)) moving.push_back(m);
  std::erase_if(moving_, [&](const auto& entry) { return which(entry.second.what); });
  std::ranges::sort(moving, {}, &Moving::number);
  std::vector<RemoteCopy*> ended;
  for (const Moving& m : moving) ended.push_back(m.what.copy);
  for (int rank = 0; rank < static_cast<int>(links_.size()); ++rank) {
    for (auto& queue : links_[static_cast<std::size_t>(rank)].queued) {
      for (const Copy& c : queue)
        if (which(c)) ended.push_back(c.copy);
      std::erase_if(queue, which);
    }
    record_first(rank);
  }
  for (RemoteCopy* c : ended) c->completed(ECANCELED);
}

}  // namespace sial
