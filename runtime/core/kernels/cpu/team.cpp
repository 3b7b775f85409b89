#include "runtime/core/kernels/cpu/team.h"

#include "runtime/core/base/process_limits.h"

namespace sial::kernels {

Team::Team(int size) {
  try {
    for (int i = 1; i < size; ++i) threads_.push_back(start_thread("`--threads`", [this, i] { work(i); }));
  } catch (...) {
    stop();
    throw;
  }
}

Team::~Team() { stop(); }

void Team::stop() {
  {
    const std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Team::run(const std::function<void(int)>& f) {
  {
    const std::lock_guard lock(mutex_);
    task_ = &f;
    busy_ = static_cast<int>(threads_.size());
    ++round_;
  }
  wake_.notify_all();
  f(0);
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return busy_ == 0; });
  task_ = nullptr;
}

void Team::work(int number) {
  std::int64_t seen = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return leaving_ || round_ != seen; });
    if (leaving_) return;
    seen = round_;
    const auto* task = task_;
    lock.unlock();
    (*task)(number);
    lock.lock();
    if (--busy_ == 0) done_.notify_one();
  }
}

}  // namespace sial::kernels
