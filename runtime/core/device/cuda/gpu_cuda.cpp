#include "runtime/core/device/cuda/gpu.h"

#include <array>
#include <chrono>
#include <exception>

#include <fmt/format.h>

#include "runtime/core/base/error.h"

namespace sial::cuda {
namespace {

constexpr const char* remedy_of_lost =
    "what the GPU computed and was not copied back is gone: run the job again, with `--restart` from its last checkpoint if it has one; should it happen again, see the system's log for errors of "
    "the GPU (Xid), or run with `--device host`";

std::string status_text(const Driver& driver, Status status) {
  const char *name = nullptr, *text = nullptr;
  driver.cuGetErrorName(status, &name);
  driver.cuGetErrorString(status, &text);
  return fmt::format("{}{}", name ? name : fmt::format("error {}", static_cast<int>(status)),
                     text ? fmt::format(" ({})", text) : "");
}

}  // namespace

GpuDevice::GpuDevice(int number) : driver_(libraries().driver), number_(number), name_(fmt::format("GPU {}", number)) {
  const auto expect = [&](Status status, const char* what) {
    if (status != Status::success)
      throw EnvironmentError(
          fmt::format("{}: {} failed: {}", name_, what, status_text(driver_, status)),
          "see whether `nvidia-smi` shows the GPU and room on it, choose others with `--devices`, or run with `--device host`");
  };
  expect(driver_.cuDeviceGet(&gpu_, number), "opening it");
  std::array<char, 128> text{};
  if (driver_.cuDeviceGetName(text.data(), static_cast<int>(text.size()) - 1, gpu_) == Status::success)
    name_ += fmt::format(" ({})", text.data());
  expect(driver_.cuDeviceGetAttribute(&major_, Attribute::compute_major, gpu_), "asking for its compute capability");
  expect(driver_.cuDeviceGetAttribute(&minor_, Attribute::compute_minor, gpu_), "asking for its compute capability");
  expect(driver_.cuDevicePrimaryCtxRetain(&context_, gpu_), "making a context");
  enter();
}

GpuDevice::~GpuDevice() {
  enter();
  for (Event event : events_) driver_.cuEventDestroy_v2(event);
  driver_.cuDevicePrimaryCtxRelease_v2(gpu_);
}

bool GpuDevice::check(Status status, const char* operation) {
  return status == Status::success || fail(status_text(driver_, status), operation);
}

bool GpuDevice::check(BlasStatus status, const char* operation) {
  return status == BlasStatus::success || fail(fmt::format("cuBLAS status {}", static_cast<int>(status)), operation);
}

bool GpuDevice::fail(const std::string& what, const char* operation) {
  lost_ = true;
  if (std::uncaught_exceptions() > 0) return false;
  throw EnvironmentError(fmt::format("{} failed: {}, told at {}", name_, what, operation), remedy_of_lost);
}

std::int64_t GpuDevice::free_bytes() {
  std::size_t free = 0, total = 0;
  check(driver_.cuMemGetInfo_v2(&free, &total), "asking for free memory");
  return static_cast<std::int64_t>(free);
}

std::int64_t GpuDevice::total_bytes() {
  std::size_t total = 0;
  check(driver_.cuDeviceTotalMem_v2(&total, gpu_), "asking for its memory");
  return static_cast<std::int64_t>(total);
}

Stream GpuDevice::make_stream() {
  Stream stream = nullptr;
  check(driver_.cuStreamCreate(&stream, stream_non_blocking), "making a stream");
  streams_.push_back(stream);
  return stream;
}

void GpuDevice::drop_stream(Stream stream) noexcept {
  if (!stream) return;
  std::erase(streams_, stream);
  driver_.cuStreamDestroy_v2(stream);
}

template <class F>
Status GpuDevice::waiting(F&& wait) {
  const auto begin = std::chrono::steady_clock::now();
  const Status status = wait();
  waited_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return status;
}

bool GpuDevice::finish(Event event, const char* operation) {
  return check(waiting([&] { return driver_.cuEventSynchronize(event); }), operation);
}

bool GpuDevice::finish(Stream stream, const char* operation) {
  return check(waiting([&] { return driver_.cuStreamSynchronize(stream); }), operation);
}

void GpuDevice::synchronize() {
  for (Stream stream : streams_) finish(stream, "waiting for all work");
}

Event GpuDevice::take_event() {
  if (!unused_.empty()) {
    const Event event = unused_.back();
    unused_.pop_back();
    return event;
  }
  Event event = nullptr;
  check(driver_.cuEventCreate(&event, event_disable_timing), "making an event");
  if (event) events_.push_back(event);  // none is made while the loss of the device unwinds
  return event;
}

Event GpuDevice::take_timed_event() {
  Event event = nullptr;
  if (!unused_timed_.empty()) {
    event = unused_timed_.back();
    unused_timed_.pop_back();
  } else if (driver_.cuEventCreate(&event, 0) == Status::success) {
    events_.push_back(event);
  } else {
    event = nullptr;
  }
  return event;
}

Address GpuDevice::allocate(std::size_t bytes, const char* what) {
  Address p = 0;
  const Status status = driver_.cuMemAlloc_v2(&p, bytes);
  if (status == Status::out_of_memory) return 0;
  check(status, what);
  return p;
}

void GpuDevice::free(Address p) noexcept {
  if (p) driver_.cuMemFree_v2(p);
}

}  // namespace sial::cuda
