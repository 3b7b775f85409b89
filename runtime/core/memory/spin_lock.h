#pragma once
// A lock that works between processes through shared memory: one word, zero when free, no address inside, no system
// call. Held for short stretches only. Whoever waits calls the transport's pause(), which throws when the job is being
// ended, so that a holder that died does not leave the others spinning.

#include <atomic>
#include <cstdint>

namespace sial {

class SpinLock {
 public:
  bool try_lock() noexcept {
    return word_.load(std::memory_order_relaxed) == 0 && word_.exchange(1, std::memory_order_acquire) == 0;
  }
  void unlock() noexcept { word_.store(0, std::memory_order_release); }

 private:
  std::atomic<std::uint32_t> word_{0};
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free && std::atomic<std::uint64_t>::is_always_lock_free,
              "shared memory needs address-free atomics");

/// Holds a SpinLock for a scope; `pause` is called between attempts.
class SpinGuard {
 public:
  template <class Pause>
  SpinGuard(SpinLock& lock, Pause&& pause) : lock_(lock) {
    while (!lock_.try_lock()) pause();
  }
  ~SpinGuard() { lock_.unlock(); }
  SpinGuard(const SpinGuard&) = delete;
  SpinGuard& operator=(const SpinGuard&) = delete;

 private:
  SpinLock& lock_;
};

}  // namespace sial
