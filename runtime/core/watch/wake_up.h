#pragma once
// Wakes a thread that sleeps; may be used in signal handlers.

#include <semaphore.h>

namespace sial {

class WakeUp {
 public:
  WakeUp();
  ~WakeUp();
  WakeUp(const WakeUp&) = delete;
  WakeUp& operator=(const WakeUp&) = delete;
  void post() noexcept { sem_post(&semaphore_); }
  /// Until post() was called, which it says, or so many seconds have gone, or a signal has come.
  bool wait(double seconds) noexcept;

 private:
  sem_t semaphore_;
};

}  // namespace sial
