#pragma once
// The behaviour every transport must show, as bodies that run on each rank of a job. Failures are exceptions (Catch2's
// macros are not for several threads), so the same bodies run in the simulator, on real threads and under mpirun.

#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/core/transport/transport.h"
#include "runtime/core/transport/work_queue.h"

namespace sial::suite {

#define EXPECT(condition)                                                                                          \
  do {                                                                                                             \
    if (!(condition))                                                                                              \
      throw std::runtime_error(std::string(__FILE__) + ":" + std::to_string(__LINE__) + ": expected " #condition); \
  } while (false)

struct Body {
  const char* name;
  bool needs_nodes;  // only with requests
  std::function<void(Transport&, std::uint64_t seed)> run;
};

/// A request of the suite and its answer: sums of the payload, patterns in the reply.
struct Question {
  int from = 0, to = 0;
  std::uint32_t number = 0;
  std::size_t payload_bytes = 0, reply_bytes = 0;
};
struct Answer {
  std::uint32_t number = 0;
  std::uint64_t total = 0;
  int rank = 0;
};

class AnswerService final : public Service {
 public:
  explicit AnswerService(Transport& transport);
  ~AnswerService() override;
  AnswerService(const AnswerService&) = delete;
  AnswerService& operator=(const AnswerService&) = delete;
  std::span<std::byte> payload_buffer(int from, std::span<const std::byte> header, std::size_t bytes) override;
  Reply serve(int from, std::span<const std::byte> header, std::span<std::byte> payload) override;
  std::int64_t served() const;
  std::int64_t unreleased() const;

 private:
  Transport& transport_;
  mutable std::mutex mutex_;
  std::int64_t served_ = 0, unreleased_ = 0;
  std::vector<std::unique_ptr<std::vector<std::byte>>> received_;
};

/// Random pardos on a work queue with `slots` slots: every iteration is handed out exactly once.
void queue(Transport& transport, std::uint64_t seed, std::size_t slots);

/// Runs a pardo of which each iteration takes `seconds(i)` on this rank, and then waits for the others; the seconds
/// that it took without that wait.
double run_pardo(Transport& transport, WorkQueue& work, const PardoKey& key, Candidates candidates,
                 const std::function<double(std::int64_t)>& seconds);
/// A queue whose messages the transport's ranks answer.
class ServedQueue {
 public:
  explicit ServedQueue(Transport& transport);
  ~ServedQueue();
  ServedQueue(const ServedQueue&) = delete;
  ServedQueue& operator=(const ServedQueue&) = delete;
  WorkQueue& operator*() { return *queue_; }

 private:
  std::unique_ptr<WorkQueue> queue_;
  std::unique_ptr<Service> service_;
};

/// In an order in which one job can run them all.
const std::vector<Body>& bodies();

/// Numbers of ranks, and how they are spread, that are worth trying.
struct Layout {
  int ranks, per_node, servers;
};
inline constexpr Layout layouts[] = {{1, 0, 0}, {2, 0, 0}, {4, 0, 0}, {2, 1, 0}, {4, 2, 0},
                                     {3, 1, 0}, {5, 2, 0}, {2, 0, 1}, {3, 2, 2}};

/// Runs all that apply, with a barrier between them; on a server: serves.
void run_all(Transport& transport, std::uint64_t seed);

inline CollectiveTag tag(CollectiveKind kind, int pc) { return {kind, Place{0, pc}}; }

}  // namespace sial::suite
