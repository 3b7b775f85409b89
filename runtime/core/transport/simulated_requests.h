#pragma once
// Requests in the simulator: they travel to their owner, whose helper serves one after another, demand first, and sends
// the replies one after another. Used by whichever actor runs.

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <queue>
#include <vector>

#include "runtime/core/transport/simulated_message.h"
#include "runtime/core/transport/simulated_remote_memory.h"
#include "runtime/core/transport/simulated_scheduler.h"

namespace sial {

class SimulatedRequests {
 public:
  static constexpr double never = SimulatedScheduler::never;

  SimulatedRequests(SimulatedScheduler& scheduler, SimulatedRemoteTransfers& remote_memory,
                    const SimulationOptions& options, int ranks);

  std::unique_ptr<PendingRequest> request(int from, int to, std::span<const std::byte> header, const Payload& payload,
                                          ReplyBuffer reply_buffer, Priority priority);
  void set_service(int rank, Service* service);
  /// The work of the helper of `rank` until `done`.
  void serve(int rank, const std::function<bool()>& done);
  /// Releases delivered replies of the helper of `rank`, while it waits within a service: perhaps for what they
  /// hold.
  void release_within_service(int rank);

  /// When the next reply arrives, or never.
  double next_reply() const { return replies_.empty() ? never : replies_.top().arrival; }
  void deliver_next();

  std::int64_t requests() const { return number_; }
  std::int64_t bytes() const { return bytes_; }

 private:
  friend class SimulatedRequest;
  using Message = SimulatedMessage;
  using MessagePtr = std::shared_ptr<Message>;

  struct Owner {
    std::vector<MessagePtr> inbox;               // in no order
    double first_arrival = never;                // of those
    std::deque<std::function<void()>> releases;  // of replies that have been delivered, for the helper to call
    Service* service = nullptr;
    bool in_service = false;  // the helper is inside a call of the service
  };
  struct OnItsWay {
    double arrival;
    std::int64_t number;
    MessagePtr message;
    bool operator>(const OnItsWay& o) const { return arrival != o.arrival ? arrival > o.arrival : number > o.number; }
  };

  Owner& owner(int rank) { return owners_[static_cast<std::size_t>(rank)]; }
  void raise(Message& message);
  void record_work(int rank);
  MessagePtr next_to_serve(Owner& owner);
  void serve(int rank, Owner& owner, const MessagePtr& message);
  void release_delivered(Owner& owner);

  SimulatedScheduler& scheduler_;
  SimulatedRemoteTransfers& remote_memory_;
  const SimulationOptions& options_;
  std::vector<Owner> owners_;  // by rank
  std::priority_queue<OnItsWay, std::vector<OnItsWay>, std::greater<>> replies_;
  std::int64_t number_ = 0, bytes_ = 0;
};

}  // namespace sial
