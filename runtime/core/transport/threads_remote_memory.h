#pragma once
// Memory of other nodes among the threads of one process: each rank has a thread that copies, the most urgent first. A
// provider that has gone, because the job ends, is not copied from any more.

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "runtime/core/transport/remote_memory.h"

namespace sial {

class ThreadsRemoteTransfers {
 public:
  ThreadsRemoteTransfers(int workers, int total) : workers_(workers), opened_(static_cast<std::size_t>(total)) {}
  /// Waits for all ranks. `ending`: whether the job is being ended.
  std::unique_ptr<RemoteMemory> open(int rank, MemoryProvider& provider, std::function<bool()> ending);

 private:
  friend class ThreadsRemoteMemory;
  struct Place {
    std::shared_mutex mutex;  // held by those who copy
    MemoryProvider* provider = nullptr;
  };
  /// The stores that ranks make one after another, each with all others of its number.
  struct Round {
    explicit Round(std::size_t total) : places(total) {}
    std::deque<Place> places;  // by rank
    std::mutex mutex;
    std::size_t opened = 0;
    int workers_closed = 0;
  };

  const int workers_;
  std::mutex mutex_;  // of the rest
  std::vector<std::size_t> opened_;
  std::deque<Round> rounds_;
};

}  // namespace sial
