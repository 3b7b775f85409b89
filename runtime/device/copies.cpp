#include "runtime/device/copies.h"

#include <bit>
#include <limits>

#include "runtime/base/check.h"
#include "runtime/base/plants.h"

namespace sial {

namespace {

/// f(element of the host's block, number in dense order)
template <class F>
void for_each_element(const HostBlock& b, F&& f) {
  const std::int64_t n = b.size();
  std::array<std::int64_t, max_rank> at{};
  std::int64_t offset = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    f(b.data[offset], i);
    for (int d = 0; d < b.rank; ++d) {
      offset += b.stride[d];
      if (++at[d] < b.extent[d]) break;
      offset -= b.stride[d] * b.extent[d];
      at[d] = 0;
    }
  }
}

std::uint64_t content_hash(std::int32_t array, std::uint64_t key, const double* data, std::int64_t n) {
  std::uint64_t h = mix_hash(static_cast<std::uint64_t>(static_cast<std::uint32_t>(array)), key);
  for (std::int64_t i = 0; i < n; ++i) h = mix_hash(h, std::bit_cast<std::uint64_t>(data[i]));
  return h;
}

}  // namespace

std::int64_t HostBlock::size() const {
  std::int64_t n = 1;
  for (int d = 0; d < rank; ++d) n *= extent[d];
  return n;
}

bool HostBlock::dense() const {
  std::int64_t s = 1;
  for (int d = 0; d < rank; ++d) {
    if (extent[d] != 1 && stride[d] != s) return false;
    s *= extent[d];
  }
  return true;
}

DeviceCopies::~DeviceCopies() {
  for (std::size_t a = 0; a < units_.size(); ++a) forget_array(static_cast<std::int32_t>(a));
}

void DeviceCopies::drop(Unit& u) {
  if (u.device) device_.release(u.device, u.size);
  u.device = nullptr;
}

void DeviceCopies::forget(std::int32_t array, std::uint64_t key) {
  const auto found = units_[array].find(key);
  if (found == units_[array].end()) return;
  drop(found->second);
  units_[array].erase(found);
}

void DeviceCopies::forget_array(std::int32_t array) {
  for (auto& [key, u] : units_[array]) drop(u);
  units_[array].clear();
}

void DeviceCopies::copy_in(std::int32_t array, std::uint64_t key, Unit& u) {
  const double* from = u.host.data;
  if (!u.host.dense()) {
    staging_.resize(static_cast<std::size_t>(u.size));
    for_each_element(u.host, [&](const double& x, std::int64_t i) { staging_[i] = x; });
    from = staging_.data();
  }
  device_.to_device(u.device, from, u.size);
  stats_.in_by_intent.add(u.size);
  const std::uint64_t content = content_hash(array, key, from, u.size);
  seen_by_host_.insert(content);
  if (seen_by_device_.insert(content).second) stats_.in_least.add(u.size);
  u.device_valid = true;
}

void DeviceCopies::copy_out(std::int32_t array, std::uint64_t key, Unit& u) {
  const std::uint64_t content = content_hash(array, key, u.device, u.size);
  seen_by_device_.insert(content);
  if (seen_by_host_.insert(content).second) stats_.out_least.add(u.size);
  stats_.out_by_intent.add(u.size);
  if (u.host.dense()) {
    device_.to_host(u.host.data, u.device, u.size);
  } else {
    staging_.resize(static_cast<std::size_t>(u.size));
    device_.to_host(staging_.data(), u.device, u.size);
    for_each_element(u.host, [&](double& x, std::int64_t i) { x = staging_[i]; });
  }
  u.host_valid = true;
}

double* DeviceCopies::on_device(std::int32_t array, std::uint64_t key, const HostBlock& host, Intent intent, std::uint64_t version) {
  Unit& u = units_[array][key];
  const std::int64_t size = host.size();
  if (u.device && (u.version != version || u.size != size)) {
    drop(u);
    u = {};
  }
  if (!u.device) {
    u.device = device_.allocate(size);
    u.size = size;
    u.version = version;
  }
  u.host = host;
  stats_.in_as_written.add(size);
  stats_.out_as_written.add(size);
  if (intent != Intent::write && !u.device_valid) {
    SIAL_CHECK(u.host_valid, "block {} of array {} is valid nowhere", key, array);
    if (planted(Plant::device_copy_in)) u.device_valid = true;
    else copy_in(array, key, u);
  }
  if (intent == Intent::read) return u.device;
  u.device_valid = true;
  if (u.host_valid && device_.spoils_host())
    for_each_element(u.host, [](double& x, std::int64_t) { x = std::numeric_limits<double>::quiet_NaN(); });
  u.host_valid = false;
  return u.device;
}

void DeviceCopies::use_on_host(std::int32_t array, std::uint64_t key, Unit& u, Intent intent) {
  if (intent != Intent::write && !u.host_valid && !planted(Plant::device_copy_out)) copy_out(array, key, u);
  if (intent == Intent::read) return;
  u.host_valid = true;
  if (u.device_valid) device_.spoil(u.device, u.size);
  u.device_valid = false;
}

void DeviceCopies::on_host(std::int32_t array, std::uint64_t key, Intent intent, std::uint64_t version) {
  const auto found = units_[array].find(key);
  if (found == units_[array].end()) return;
  if (found->second.version != version) forget(array, key);
  else use_on_host(array, key, found->second, intent);
}

void DeviceCopies::array_on_host(std::int32_t array, Intent intent) {
  for (auto& [key, u] : units_[array]) use_on_host(array, key, u, intent);
}

void DeviceCopies::all_on_host() {
  for (std::size_t a = 0; a < units_.size(); ++a) array_on_host(static_cast<std::int32_t>(a), Intent::read);
}

}  // namespace sial
