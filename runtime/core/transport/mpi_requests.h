#pragma once
// Requests between nodes as two-sided messages. A request is one envelope message (header inside) and, when it has a
// payload, messages straight out of the requester's buffer into the one the owner's service names; the reply comes back
// the same way, its receives posted before the request leaves. Each request in flight has a slot of the requester's,
// from which its tags follow, so that data of different requests cannot be confused. The server is run by the helper
// thread of a worker, or by a server rank itself. The client belongs to the rank's own thread.

#include <atomic>
#include <deque>
#include <functional>
#include <list>
#include <thread>
#include <vector>

#include "runtime/core/transport/mpi_support.h"
#include "runtime/core/transport/request_limits.h"
#include "runtime/core/watch/activity.h"

namespace sial {

/// When a server stops: never, when its replies have left, at once (the job fails: peers may be gone).
enum class StopServing { no, when_drained, now };

class RequestServer {
 public:
  explicit RequestServer(MpiWorld& world);
  ~RequestServer();
  void set_service(Service* service);
  /// Has run(), which is another thread, call it before it goes on; waits until it has.
  void prepare(std::function<void()> f);
  /// Releases replies that have been sent, where the service itself waits for memory that they may hold. By its
  /// thread.
  void release_sent();
  bool serves_here() const { return std::this_thread::get_id() == thread_.load(std::memory_order_relaxed); }
  /// Serves until told to stop or, on a server rank, until the workers have finished.
  void run(const std::atomic<StopServing>& stop);

 private:
  struct Job;
  bool accept(int tag);
  void raise(int from, int slot);
  bool start_deferred();
  bool start_waiting();
  bool has_room(const Job& job) const;
  void begin(std::list<Job>::iterator at);
  bool advance(Job& job);  // true: finished
  void start_serving(Job& job);

  MpiWorld& world_;
  std::mutex service_mutex_;  // held during calls of the service
  Service* service_ = nullptr;
  std::int64_t unreleased_ = 0;  // replies of the service
  std::list<Job> jobs_;
  std::list<Job> deferred_;   // prefetches that have not begun: any demand goes before them
  std::list<Job> waiting_;    // for room for their payloads
  std::size_t arriving_ = 0;  // bytes of payloads that have room, and are not yet the service's
  bool end_seen_ = false;
  std::atomic<std::thread::id> thread_{};  // of run()
  std::function<void()> preparation_;
  std::atomic<bool> prepare_{false};  // preparation_ is to be called
};

class RequestClient {
 public:
  RequestClient(MpiWorld& world, RankActivity& activity);
  std::unique_ptr<PendingRequest> request(int to, std::span<const std::byte> header, Payload payload,
                                          ReplyBuffer reply_buffer, Priority priority);
  /// Receives what has arrived, if it was not looked for just now.
  void progress();
  /// Tells the server ranks that the workers have finished.
  void send_end();

 private:
  friend class MpiPendingRequest;
  struct Flight;
  int take_slot();
  void wait_for_room(int to, std::size_t bytes);
  void land_all();
  /// Sends what has come of payloads that grow.
  void send_more();
  bool send_more(Flight& flight);

  MpiWorld& world_;
  RankActivity& activity_;
  const RequestLimits limits_;
  std::deque<int> free_slots_;
  struct UnderWay {
    int payloads = 0;
    std::size_t bytes = 0;
  };
  std::vector<UnderWay> to_owner_;
  std::list<Flight*> flights_;  // in the air; owned by their MpiPendingRequest
  std::list<Flight*> growing_;  // those of them whose payloads have not left altogether
  static constexpr std::chrono::microseconds soonest_look{20}, latest_look{320};
  std::chrono::steady_clock::time_point next_look_;
  std::chrono::microseconds look_after_ = soonest_look;
};

}  // namespace sial
