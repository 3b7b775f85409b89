#include "runtime/core/transport/simulated_requests.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>
#include <utility>

#include "runtime/core/base/check.h"

namespace sial {

class SimulatedRequest final : public PendingRequest {
 public:
  SimulatedRequest(SimulatedRequests& requests, SimulatedRequests::MessagePtr message)
      : requests_(requests), scheduler_(requests.scheduler_), message_(std::move(message)) {}
  ~SimulatedRequest() override {
    if (message_->delivered || scheduler_.ending()) return;
    // An error is unwinding this rank and ends the job. The owner may be in the same state and never answer.
    if (std::uncaught_exceptions() > 0) {
      message_->cancel();
      return;
    }
    try {
      wait();
    } catch (const JobEnding&) {  // a destructor must not throw; the next seam call of this rank does
    }
  }
  SimulatedRequest(const SimulatedRequest&) = delete;
  SimulatedRequest& operator=(const SimulatedRequest&) = delete;

  bool test() override {
    if (!message_->delivered) scheduler_.pause();
    return message_->delivered;
  }
  void wait() override {
    scheduler_.block([this] { return message_->delivered; },
                     [this] { return fmt::format("a reply from rank {}", message_->to); });
  }
  std::span<const std::byte> reply_header() const override { return message_->reply.header; }
  std::size_t reply_bytes() const override { return message_->reply_bytes; }
  std::size_t received() override {
    return scheduler_.ending() ? 0 : message_->received(scheduler_.clock(), requests_.options_.bandwidth);
  }
  void raise() override { requests_.raise(*message_); }

 private:
  SimulatedRequests& requests_;
  SimulatedScheduler& scheduler_;
  SimulatedRequests::MessagePtr message_;
};

namespace {

class InService {
 public:
  explicit InService(bool& flag) : flag_(flag) { flag_ = true; }
  ~InService() { flag_ = false; }
  InService(const InService&) = delete;
  InService& operator=(const InService&) = delete;

 private:
  bool& flag_;
};

}  // namespace

SimulatedRequests::SimulatedRequests(SimulatedScheduler& scheduler, SimulatedRemoteTransfers& remote_memory,
                                     const SimulationOptions& options, int ranks)
    : scheduler_(scheduler),
      remote_memory_(remote_memory),
      options_(options),
      owners_(static_cast<std::size_t>(ranks)) {}

std::unique_ptr<PendingRequest> SimulatedRequests::request(int from, int to, std::span<const std::byte> header,
                                                           const Payload& payload, ReplyBuffer reply_buffer,
                                                           Priority priority) {
  auto m = std::make_shared<Message>();
  m->from = from;
  m->to = to;
  m->priority = priority;
  m->header.assign(header.begin(), header.end());
  if (payload.growing) payload.growing->complete();
  m->payload = payload.bytes;
  m->reply_buffer = reply_buffer;
  m->moves_data = options_.moves_data;
  if (scheduler_.ending()) throw JobEnding{};
  m->number = number_++;
  const std::size_t bytes = m->header.size() + m->payload.size();
  m->arrival = scheduler_.clock() + options_.latency + static_cast<double>(bytes) / options_.bandwidth;
  bytes_ += static_cast<std::int64_t>(bytes);
  Owner& at = owner(to);
  at.inbox.push_back(m);
  at.first_arrival = std::min(at.first_arrival, m->arrival);
  record_work(to);
  scheduler_.spend(0);
  return std::make_unique<SimulatedRequest>(*this, std::move(m));
}

void SimulatedRequests::raise(Message& m) {
  if (scheduler_.ending()) throw JobEnding{};
  if (m.delivered || m.priority == Priority::demand || !std::isinf(m.raised)) return;
  m.raised = scheduler_.clock() + options_.latency;
  scheduler_.spend(0);
}

/// When the helper of `rank` has something to do.
void SimulatedRequests::record_work(int rank) {
  const Owner& o = owner(rank);
  const double first = o.service ? o.first_arrival : never;
  scheduler_.set_wake(scheduler_.helper_of(rank), o.releases.empty() ? first : 0);
}

void SimulatedRequests::set_service(int rank, Service* service) {
  Owner& o = owner(rank);
  o.service = service;
  if (scheduler_.actors() > static_cast<int>(owners_.size())) record_work(rank);
  // A reply's release reaches into the service as well: those still to come are the helper's to run before the service
  // goes.
  while (o.in_service || !o.releases.empty()) {  // perhaps in a destructor: must not throw
    if (scheduler_.ending()) {
      if (o.in_service) scheduler_.let_end(scheduler_.helper_of(rank));
      o.releases.clear();
      return;
    }
    try {
      scheduler_.pause();
    } catch (const JobEnding&) {}
  }
}

void SimulatedRequests::deliver_next() {
  const MessagePtr m = replies_.top().message;
  replies_.pop();
  m->deliver();
  if (m->reply.release) {
    owner(m->to).releases.push_back(std::move(m->reply.release));
    record_work(m->to);
  }
  m->reply.release = nullptr;
  m->reply.payload = {};
  scheduler_.wake(m->from, m->arrival);
}

SimulatedRequests::MessagePtr SimulatedRequests::next_to_serve(Owner& o) {
  const double now = scheduler_.clock();
  if (o.first_arrival > now) return nullptr;
  const auto is_demand = [now](const MessagePtr& m) { return m->priority == Priority::demand || m->raised <= now; };
  const auto better = [&](const MessagePtr& x, const MessagePtr& y) {
    if (is_demand(x) != is_demand(y)) return is_demand(x);
    return x->arrival != y->arrival ? x->arrival < y->arrival : x->number < y->number;
  };
  auto best = o.inbox.end();
  double first = never, second = never;
  for (auto it = o.inbox.begin(); it != o.inbox.end(); ++it) {
    const double arrival = (*it)->arrival;
    second = std::min(second, std::max(first, arrival));
    first = std::min(first, arrival);
    if (arrival <= now && (best == o.inbox.end() || better(*it, *best))) best = it;
  }
  MessagePtr m = std::exchange(*best, o.inbox.back());
  o.inbox.pop_back();
  o.first_arrival = m->arrival == first ? second : first;
  return m;
}

void SimulatedRequests::release_delivered(Owner& o) {
  while (!o.releases.empty()) {
    const InService inside(o.in_service);
    const auto release = std::move(o.releases.front());
    o.releases.pop_front();
    release();
  }
}

void SimulatedRequests::release_within_service(int rank) {
  Owner& o = owner(rank);
  if (!o.in_service || scheduler_.current() != scheduler_.helper_of(rank)) return;
  while (!o.releases.empty()) {
    const auto release = std::move(o.releases.front());
    o.releases.pop_front();
    release();
  }
}

void SimulatedRequests::serve(int rank, const std::function<bool()>& done) {
  Owner& o = owner(rank);
  while (!done()) {
    release_delivered(o);
    const MessagePtr m = o.service ? next_to_serve(o) : nullptr;
    if (!m) {
      record_work(rank);
      scheduler_.sleep();
    } else if (!m->cancelled) {
      serve(rank, o, m);
    }
  }
  release_delivered(o);
}

void SimulatedRequests::serve(int rank, Owner& o, const MessagePtr& m) {
  {
    Service& service = *o.service;  // which may be on its way out before this has ended
    const InService inside(o.in_service);
    std::span<std::byte> buffer;
    if (!m->payload.empty()) {
      buffer = service.payload_buffer(m->from, m->header, m->payload.size());
      SIAL_CHECK(buffer.size() >= m->payload.size(), "payload buffer of {} bytes for {}", buffer.size(),
                 m->payload.size());
      buffer = buffer.first(m->payload.size());
      if (options_.moves_data) std::memcpy(buffer.data(), m->payload.data(), m->payload.size());
    }
    m->reply = service.serve(m->from, m->header, buffer);
  }
  SIAL_CHECK(m->cancelled || m->reply.payload.size() <= m->reply_buffer.bytes.size(),
             "reply of {} bytes into a buffer of {}", m->reply.payload.size(), m->reply_buffer.bytes.size());
  const std::size_t bytes = m->reply.header.size() + m->reply.payload.size();
  bytes_ += static_cast<std::int64_t>(bytes);
  // The owner sends one reply after the other: what it sends for one rank delays what another one waits for.
  double& clock = scheduler_.clock();
  clock = std::max(clock, remote_memory_.free_at(rank)) + options_.service_seconds +
          static_cast<double>(bytes) / options_.bandwidth;
  remote_memory_.occupy(rank, clock);
  m->arrival = clock + options_.latency;
  m->answered = true;
  replies_.push({m->arrival, m->number, m});
  scheduler_.spend(0);
}

}  // namespace sial
