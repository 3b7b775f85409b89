#pragma once
// A fixed team of threads that share one operation: run(f) calls f(0) ... f(size - 1) at once, f(0) on the caller, and
// returns when all are done. Used by one thread at a time; the threads sleep between operations.

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace sial::kernels {

class Team {
 public:
  explicit Team(int size);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const { return static_cast<int>(threads_.size()) + 1; }
  /// `f` must not throw.
  void run(const std::function<void(int)>& f);

 private:
  void work(int number);
  void stop();

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  const std::function<void(int)>* task_ = nullptr;
  std::int64_t round_ = 0;
  int busy_ = 0;
  bool leaving_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace sial::kernels
