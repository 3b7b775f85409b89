#include "runtime/core/device/cache/device_statistics.h"

namespace sial {

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
      starts_before_(device.starts()) {}

void DeviceStatistics::copied_in(CachedBlock& u, Statement statement) {
  TransferRow& counted = row(statement, u.host.array);
  counted.in.add(u.size);
  if (!device_.poisons()) return;
  u.values = hash_values(u.host);
  if (u.written_back()) seen_by_device_.insert(u.values);
  if (seen_by_device_.insert(u.values).second || u.state == BlockState::host_made) counted.in_lower_bound.add(u.size);
}

void DeviceStatistics::seen_by_host(CachedBlock& u, Statement statement) {
  if (!device_.poisons()) return;
  u.values = hash_values(u.host);
  seen_by_device_.insert(u.values);
  if (u.sent != SentState::counted) row(statement, u.host.array).out_lower_bound.add(u.size);
}

std::optional<DeviceTimes> DeviceStatistics::times() const {
  std::optional<DeviceTimes> now = device_.times();
  return now && times_before_ ? now->since(*times_before_) : now;
}

}  // namespace sial
