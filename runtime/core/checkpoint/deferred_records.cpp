#include "runtime/core/checkpoint/deferred_records.h"

#include <utility>

namespace sial {

void DeferredRecords::record(std::uint32_t type, const Packer& head, std::span<const double> data) {
  if (copied_ + data.size_bytes() > limit_) {
    write_so_far();
    return writer_.record(type, head, data);
  }
  const auto copy = std::make_shared<const std::vector<double>>(data.begin(), data.end());
  record_held(type, head, {*copy, copy, true});
}

void DeferredRecords::record_held(std::uint32_t type, const Packer& head, LeasedValues data) {
  if (data.copied) copied_ += data.values.size_bytes();
  records_.push_back({type, head, std::move(data)});
  if (copied_ > limit_) write_so_far();
}

void DeferredRecords::write_so_far() {
  static const std::atomic<bool> never{false};
  write(never);
}

bool DeferredRecords::write(const std::atomic<bool>& stop) {
  std::vector<Record> records = std::exchange(records_, {});
  copied_ = 0;
  for (Record& r : records) {
    if (stop.load(std::memory_order_relaxed)) return false;
    writer_.record_held(r.type, r.head, std::move(r.data));
  }
  return true;
}

}  // namespace sial
