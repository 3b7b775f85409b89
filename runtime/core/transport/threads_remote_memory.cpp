#include "runtime/core/transport/threads_remote_memory.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <thread>
#include <utility>

#include "runtime/core/transport/transport.h"

namespace sial {

class ThreadsRemoteMemory final : public RemoteMemory {
 public:
  ThreadsRemoteMemory(ThreadsRemoteTransfers& remote_memory, ThreadsRemoteTransfers::Round& round, int rank,
                      std::function<bool()> ending)
      : remote_memory_(remote_memory), round_(round), rank_(rank), ending_(std::move(ending)), thread_([this] {
          run();
        }) {}
  /// Waits for all ranks.
  void open() {
    {
      const std::lock_guard guard(round_.mutex);
      ++round_.opened;
    }
    while (!all_opened()) {
      if (ending_()) throw JobEnding{};
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  }
  ~ThreadsRemoteMemory() override {
    {
      const std::lock_guard guard(mutex_);
      closed_ = true;
    }
    changed_.notify_all();
    thread_.join();
    if (rank_ < remote_memory_.workers_ && std::uncaught_exceptions() == 0) {  // else the job is about to be ended
      {
        const std::lock_guard guard(round_.mutex);
        ++round_.workers_closed;
      }
      while (!all_closed() && !ending_()) std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    const std::unique_lock guard(place(rank_).mutex);
    place(rank_).provider = nullptr;
  }
  ThreadsRemoteMemory(const ThreadsRemoteMemory&) = delete;
  ThreadsRemoteMemory& operator=(const ThreadsRemoteMemory&) = delete;

  RemoteChunk ask(int rank, std::uint64_t bytes) override {
    const std::shared_lock guard(place(rank).mutex);
    return place(rank).provider ? place(rank).provider->provide(bytes) : RemoteChunk{};
  }
  void start(RemoteCopy& copy) override {
    {
      const std::lock_guard guard(mutex_);
      queued_[static_cast<std::size_t>(copy.priority)].push_back(&copy);
    }
    changed_.notify_one();
  }
  void raise(RemoteCopy& copy) override {
    const std::lock_guard guard(mutex_);
    if (copy.priority == CopyPriority::demand) return;
    auto& queue = queued_[static_cast<std::size_t>(copy.priority)];
    const auto found = std::ranges::find(queue, &copy);
    if (found == queue.end()) return;
    queue.erase(found);
    copy.priority = CopyPriority::demand;
    queued_[0].push_back(&copy);
  }

 private:
  ThreadsRemoteTransfers::Place& place(int rank) { return round_.places[static_cast<std::size_t>(rank)]; }
  bool all_opened() {
    const std::lock_guard guard(round_.mutex);
    return round_.opened == round_.places.size();
  }
  bool all_closed() {
    const std::lock_guard guard(round_.mutex);
    return round_.workers_closed == remote_memory_.workers_;
  }
  /// With the lock; null: there is none.
  RemoteCopy* next() {
    for (auto& queue : queued_) {
      if (queue.empty()) continue;
      RemoteCopy* copy = queue.front();
      queue.pop_front();
      return copy;
    }
    return nullptr;
  }
  void run() {
    while (true) {
      RemoteCopy* copy = nullptr;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return (copy = next()) || closed_; });
      }
      if (!copy) return;
      copy->completed(move(*copy));
    }
  }
  int move(const RemoteCopy& copy) {
    const std::shared_lock guard(place(copy.rank).mutex);
    MemoryProvider* provider = place(copy.rank).provider;
    if (!provider) {  // which says why the job ends, where it does
      while (!all_closed() && !ending_()) std::this_thread::sleep_for(std::chrono::microseconds(100));
      return ECANCELED;
    }
    if (copy.writes) std::memcpy(provider->provided(copy.at), copy.memory, copy.bytes);
    else std::memcpy(copy.memory, provider->provided(copy.at), copy.bytes);
    return 0;
  }

  ThreadsRemoteTransfers& remote_memory_;
  ThreadsRemoteTransfers::Round& round_;
  const int rank_;
  const std::function<bool()> ending_;
  std::mutex mutex_;  // of the next three
  std::condition_variable changed_;
  std::array<std::deque<RemoteCopy*>, 3> queued_;
  bool closed_ = false;
  std::thread thread_;
};

std::unique_ptr<RemoteMemory> ThreadsRemoteTransfers::open(int rank, MemoryProvider& provider,
                                                           std::function<bool()> ending) {
  Round* round = nullptr;
  {
    const std::lock_guard guard(mutex_);
    const std::size_t number = opened_[static_cast<std::size_t>(rank)]++;
    while (rounds_.size() <= number) rounds_.emplace_back(opened_.size());
    round = &rounds_[number];
  }
  {
    ThreadsRemoteTransfers::Place& place = round->places[static_cast<std::size_t>(rank)];
    const std::unique_lock guard(place.mutex);
    place.provider = &provider;
  }
  auto memory = std::make_unique<ThreadsRemoteMemory>(*this, *round, rank, std::move(ending));
  memory->open();
  return memory;
}

}  // namespace sial
