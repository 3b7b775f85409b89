#include "runtime/core/device/cache/device_statistics.h"

#include <limits>

namespace sial {

namespace {

constexpr std::size_t max_uses_recorded = 2'000'000;

}  // namespace

TransferRow DeviceStats::total() const {
  TransferRow sum;
  const auto add = [](TransferCount& to, const TransferCount& more) {
    to.transfers += more.transfers;
    to.bytes += more.bytes;
  };
  for (const auto& [key, r] : rows) {
#define TRANSFER_COST(field) add(sum.field, r.field);
#include "runtime/core/stats/costs.def"
  }
  return sum;
}

DeviceStatistics::DeviceStatistics(Device& device)
    : device_(device),
      times_before_(device.times()),
      batched_before_(device.batched()),
      starts_before_(device.starts()) {
  if (device.poisons() && device.memory() < std::numeric_limits<std::int64_t>::max())
    offline_optimum_ = std::make_unique<OfflineOptimum>();
}

void DeviceStatistics::begin_operation() {
  ++counts_.operations;
  if (offline_optimum_ && offline_optimum_->size() > max_uses_recorded) offline_optimum_.reset();
}

void DeviceStatistics::copied_in(CachedBlock& u, Statement statement) {
  TransferRow& counted = row(statement, u.host.array);
  counted.in.add(u.size);
  if (!device_.poisons()) return;
  if (u.written_back) u.made_by_host = false;
  u.values = hash_values(u.host);
  if (u.written_back) seen_by_device_.insert(u.values);
  if (seen_by_device_.insert(u.values).second || u.made_by_host) counted.in_lower_bound.add(u.size);
  u.made_by_host = false;
}

void DeviceStatistics::seen_by_host(CachedBlock& u, Statement statement) {
  if (!device_.poisons()) return;
  u.values = hash_values(u.host);
  seen_by_device_.insert(u.values);
  if (!u.out_counted) row(statement, u.host.array).out_lower_bound.add(u.size);
}

void DeviceStatistics::used_on_device(const CachedBlock& u, std::uint64_t operation, Intent intent) {
  if (offline_optimum_) offline_optimum_->on_device({u.host.data, u.content}, u.size, operation, intent);
}

void DeviceStatistics::used_on_host(const CachedBlock& u, Intent intent) {
  if (offline_optimum_) offline_optimum_->on_host({u.host.data, u.content}, intent);
}

void DeviceStatistics::ended(const CachedBlock& u) {
  if (offline_optimum_) offline_optimum_->ended({u.host.data, u.content});
}

void DeviceStatistics::shared(const CachedBlock& of, const double* copy, std::uint64_t content) {
  if (offline_optimum_) offline_optimum_->shared({of.host.data, of.content}, {copy, content});
}

OfflineOptimum::Moved DeviceStatistics::offline_optimum() const {
  return offline_optimum_ ? offline_optimum_->replay(device_.memory()) : OfflineOptimum::Moved{};
}

std::optional<DeviceTimes> DeviceStatistics::times() const {
  std::optional<DeviceTimes> now = device_.times();
  return now && times_before_ ? now->since(*times_before_) : now;
}

}  // namespace sial
