#include "plain_disk.h"

#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

namespace sial::bench {
namespace {

constexpr std::uint64_t piece = 1 << 20;
constexpr int depth = 16;

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

}  // namespace

double clock_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double processor_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

double plain_speed(int file, std::uint64_t bytes, bool write) {
  std::atomic<std::uint64_t> next = 0;
  std::atomic<bool> failed = false;
  const auto work = [&] {
    const std::unique_ptr<void, Free> memory(std::aligned_alloc(4096, piece));
    std::memset(memory.get(), 1, piece);
    for (std::uint64_t at = 0; (at = next.fetch_add(piece)) < bytes;) {
      const ssize_t moved = write ? ::pwrite(file, memory.get(), piece, static_cast<off_t>(at))
                                  : ::pread(file, memory.get(), piece, static_cast<off_t>(at));
      if (moved != static_cast<ssize_t>(piece)) failed = true;
    }
  };
  const double begin = clock_seconds();
  std::vector<std::thread> threads;
  for (int i = 0; i < depth; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  return failed ? 0 : static_cast<double>(bytes) / (clock_seconds() - begin);
}

}  // namespace sial::bench
