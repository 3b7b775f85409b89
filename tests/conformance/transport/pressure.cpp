#include "pressure.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "runtime/core/transport/request_limits.h"
#include "suite.h"

namespace sial::suite {

namespace {

/// VmHWM of this process, in MiB.
double peak_of_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == "VmHWM:") {
      double kibibytes = 0;
      status >> kibibytes;
      return kibibytes / 1024;
    }
  return 0;
}

/// The owner: knows the payloads that have a buffer and are not served yet.
class SlowService final : public Service {
 public:
  std::span<std::byte> payload_buffer(int, std::span<const std::byte>, std::size_t bytes) override {
    const std::lock_guard lock(mutex_);
    arriving_ += bytes;
    ++buffers_;
    max_bytes_ = std::max(max_bytes_, arriving_);
    max_buffers_ = std::max(max_buffers_, buffers_);
    auto& buffer = payloads_.emplace_back(std::make_unique<std::vector<std::byte>>(bytes));
    return *buffer;
  }
  Reply serve(int, std::span<const std::byte>, std::span<std::byte> payload) override {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    const std::lock_guard lock(mutex_);
    arriving_ -= payload.size();
    --buffers_;
    std::erase_if(payloads_, [&](const auto& p) { return p->data() == payload.data(); });
    return {};
  }
  std::size_t max_bytes() const { return max_bytes_; }
  int max_buffers() const { return max_buffers_; }

 private:
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<std::vector<std::byte>>> payloads_;
  std::size_t arriving_ = 0, max_bytes_ = 0;
  int buffers_ = 0, max_buffers_ = 0;
};

}  // namespace

void pressure(Transport& t, std::size_t requests, std::size_t bytes) {
  SlowService service;
  t.set_service(&service);
  t.barrier(tag(CollectiveKind::barrier, 1));
  const double before = peak_of_memory();
  std::size_t max_under_way = 0;
  if (t.rank() != 0) {
    const std::vector<std::byte> payload(bytes);
    std::deque<std::unique_ptr<PendingRequest>> under_way;
    for (std::size_t n = 0; n < requests; ++n) {
      under_way.push_back(t.request(0, {}, payload, {}, Priority::demand));
      std::erase_if(under_way, [](const auto& r) { return r->test(); });
      max_under_way = std::max(max_under_way, under_way.size());
    }
    for (const auto& r : under_way) r->wait();
  }
  t.barrier(tag(CollectiveKind::barrier, 2));
  const double memory = peak_of_memory() - before;
  const double under_way_of_all = t.sum(static_cast<double>(max_under_way), tag(CollectiveKind::sum, 3));
  const double memory_of_senders = t.sum(t.rank() == 0 ? 0 : memory, tag(CollectiveKind::sum, 4));
  t.set_service(nullptr);
  const RequestLimits limits(t.size());
  if (t.rank() == 0)
    std::printf(
        "%d senders, %zu payloads of %zu bytes each: at most %d payloads, %.1f MiB, with a buffer at the owner; on average %.1f under way of a sender; peak of memory +%.1f MiB of the owner, +%.1f MiB of a sender\n",
        t.size() - 1, requests, bytes, service.max_buffers(), static_cast<double>(service.max_bytes()) / (1 << 20),
        under_way_of_all / (t.size() - 1), memory, memory_of_senders / (t.size() - 1));
  EXPECT(service.max_bytes() <= std::max(RequestLimits::bytes, bytes));
  const std::size_t fits = std::max<std::size_t>(1, limits.bytes_to_owner / bytes);
  EXPECT(max_under_way <= std::min<std::size_t>(static_cast<std::size_t>(limits.payloads_to_owner), fits));
  // Beside buffers the owner holds what came without being asked for, and what malloc keeps.
  EXPECT(t.rank() != 0 || memory <= 3.0 * RequestLimits::bytes / (1 << 20));
}

}  // namespace sial::suite
