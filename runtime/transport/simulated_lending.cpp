#include "runtime/transport/simulated_lending.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>

#include "runtime/transport/transport.h"

namespace sial {

class SimulatedRemoteMemory final : public RemoteMemory {
 public:
  SimulatedRemoteMemory(SimulatedLending& lending, SimulatedLending::Round& round, int rank)
      : lending_(lending), round_(round), rank_(rank) {}
  ~SimulatedRemoteMemory() override {
    // An error that unwinds this rank ends the job, and others may be waiting for it.
    const bool worker = rank_ < lending_.workers_ && std::uncaught_exceptions() == 0;
    if (worker) ++round_.workers_closed;
    while (worker && round_.workers_closed < lending_.workers_ && !lending_.hooks_.ending()) {
      try {
        lending_.hooks_.pause();
      } catch (const JobEnding&) {}
    }
    lending_.cancel([this](const auto& c) { return c.round == &round_ && (c.by == rank_ || c.copy->rank == rank_); });
    round_.lenders[static_cast<std::size_t>(rank_)] = nullptr;
  }
  SimulatedRemoteMemory(const SimulatedRemoteMemory&) = delete;
  SimulatedRemoteMemory& operator=(const SimulatedRemoteMemory&) = delete;

  /// The switch to another rank can wait: whoever asks may hold locks.
  Loan ask(int rank, std::uint64_t bytes) override {
    lending_.hooks_.clock() += 2 * lending_.latency_;
    Lender* lender = round_.lenders[static_cast<std::size_t>(rank)];
    return lender ? lender->lend(bytes) : Loan{};
  }
  void start(RemoteCopy& copy) override { lending_.add(copy, round_, rank_); }
  void raise(RemoteCopy& copy) override { lending_.raise(copy); }
  /// Time moves on without this; while the job is being ended it does not.
  void progress() override {
    if (lending_.hooks_.ending())
      lending_.cancel([this](const auto& c) { return c.round == &round_ && c.by == rank_; });
  }

 private:
  SimulatedLending& lending_;
  SimulatedLending::Round& round_;
  const int rank_;
};

SimulatedLending::SimulatedLending(int workers, int total, double latency, double bandwidth, Hooks hooks)
    : workers_(workers),
      latency_(latency),
      bandwidth_(bandwidth),
      hooks_(std::move(hooks)),
      links_(static_cast<std::size_t>(total)),
      opened_(static_cast<std::size_t>(total)) {}

std::unique_ptr<RemoteMemory> SimulatedLending::open(int rank, Lender& lender) {
  const std::size_t number = opened_[static_cast<std::size_t>(rank)]++;
  while (rounds_.size() <= number) rounds_.emplace_back().lenders.resize(links_.size(), nullptr);
  Round& round = rounds_[number];
  round.lenders[static_cast<std::size_t>(rank)] = &lender;
  auto memory = std::make_unique<SimulatedRemoteMemory>(*this, round, rank);
  ++round.opened;
  while (round.opened < links_.size()) hooks_.pause();
  return memory;
}

/// What is read leaves the lender, which has to hear of it first; what is written leaves the borrower.
void SimulatedLending::add(RemoteCopy& copy, Round& round, int by) {
  if (!copy.writes) std::memset(copy.memory, 0xFF, copy.bytes);  // NaN: who does not wait is found out
  const double since = hooks_.clock() + (copy.writes ? 0 : latency_);
  Link& link = links_[static_cast<std::size_t>(copy.writes ? by : copy.rank)];
  link.queued[static_cast<std::size_t>(copy.priority)].push_back({&copy, &round, by, since});
}

void SimulatedLending::raise(RemoteCopy& copy) {
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

double SimulatedLending::next_start(const Link& link) const {
  double first = never;
  for (const auto& queue : link.queued)
    for (const Copy& c : queue) first = std::min(first, c.since);
  return std::max(first, link.free_at);
}

double SimulatedLending::next_event() const {
  double next = never;
  for (const Moving& m : moving_) next = std::min(next, m.ends);
  for (const Link& link : links_) next = std::min(next, next_start(link));
  return next;
}

/// The most urgent of those that are there.
void SimulatedLending::start(Link& link, double now) {
  for (auto& queue : link.queued) {
    const auto found = std::ranges::find_if(queue, [now](const Copy& c) { return c.since <= now; });
    if (found == queue.end()) continue;
    const Copy what = *found;
    queue.erase(found);
    link.free_at = now + static_cast<double>(what.copy->bytes) / bandwidth_;
    moving_.push_back({what, link.free_at + (what.copy->writes ? 2 : 1) * latency_});
    return;
  }
}

bool SimulatedLending::advance_one(double limit) {
  const double next = next_event();
  if (next == never || next > limit) return false;
  const auto ended = std::ranges::find(moving_, next, &Moving::ends);
  if (ended != moving_.end()) {
    const Copy what = ended->what;
    moving_.erase(ended);
    end(what);
    return true;
  }
  for (Link& link : links_)
    if (next_start(link) <= next) start(link, next);
  return true;
}

void SimulatedLending::end(const Copy& what) {
  RemoteCopy& c = *what.copy;
  Lender* lender = what.round->lenders[static_cast<std::size_t>(c.rank)];
  if (lender && c.writes) std::memcpy(lender->lent(c.at), c.memory, c.bytes);
  if (lender && !c.writes) std::memcpy(c.memory, lender->lent(c.at), c.bytes);
  c.completed(lender ? 0 : ECANCELED);
  hooks_.look_again();
}

void SimulatedLending::cancel(const std::function<bool(const Copy&)>& which) {
  std::vector<RemoteCopy*> ended;
  for (const Moving& m : moving_)
    if (which(m.what)) ended.push_back(m.what.copy);
  std::erase_if(moving_, [&](const Moving& m) { return which(m.what); });
  for (Link& link : links_)
    for (auto& queue : link.queued) {
      for (const Copy& c : queue)
        if (which(c)) ended.push_back(c.copy);
      std::erase_if(queue, which);
    }
  for (RemoteCopy* c : ended) c->completed(ECANCELED);
}

}  // namespace sial
