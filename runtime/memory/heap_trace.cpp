#include "runtime/memory/heap_trace.h"

#include <iostream>
#include <string_view>

#include "runtime/base/error.h"

namespace sial {

namespace {

constexpr std::size_t events_per_write = 1 << 15;

std::string_view bytes_of(const void* data, std::size_t bytes) { return {static_cast<const char*>(data), bytes}; }

}  // namespace

HeapRecorder::HeapRecorder(const std::string& path, const HeapTraceHeader& header) : path_(path) {
  file_.emplace(path);
  file_->write(bytes_of(&header, sizeof header));
  events_.reserve(events_per_write);
}

HeapRecorder::~HeapRecorder() {
  write();
  try {
    if (file_) file_->finish();
  } catch (const EnvironmentError& e) { problem_ = e.what(); }
  if (!problem_.empty()) std::cerr << "warning: " << path_ << " is not written: " << problem_ << std::endl;
}

void HeapRecorder::record(std::atomic<std::uint64_t>& sequence, HeapEvent event) noexcept {
  event.sequence = sequence.fetch_add(1, std::memory_order_acq_rel);
  const std::scoped_lock lock(mutex_);
  events_.push_back(event);
  if (events_.size() == events_per_write) write();
}

void HeapRecorder::write() noexcept {
  try {
    if (file_) file_->write(bytes_of(events_.data(), events_.size() * sizeof(HeapEvent)));
  } catch (const EnvironmentError& e) {
    problem_ = e.what();
    file_.reset();
  }
  events_.clear();
}

}  // namespace sial
