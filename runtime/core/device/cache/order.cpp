#include "runtime/core/device/cache/order.h"

#include <algorithm>

#include "runtime/core/base/error.h"
#include "runtime/core/base/fault_injection.h"

namespace sial {

namespace {

/// Per stream, before those that are done are looked for.
constexpr std::size_t max_events = 32;

}  // namespace

DeviceOrder::~DeviceOrder() {
  for (auto& list : marks_)
    for (const Mark& m : list) {
      try {
        device_.finish(m.event);
      } catch (const EnvironmentError&) {
        // The device is lost, and nobody needs what it did: whoever did was told.
      }
      device_.release(m.event);
    }
}

/// The earliest event after the piece of work with this number. What waits to be started is started only if that is
/// among it.
const DeviceOrder::Mark& DeviceOrder::mark(int stream, std::uint64_t number) {
  auto& list = marks_[stream];
  const auto found =
      std::lower_bound(list.begin(), list.end(), number, [](const Mark& m, std::uint64_t n) { return m.number < n; });
  if (found != list.end()) return *found;
  if (list.size() >= max_events) record_done(stream);  // nobody may ask about this stream itself
  count_started(stream);
  if (number <= started_[stream]) {
    list.push_back({started_[stream], device_.record_started(stream)});
  } else {
    list.push_back({submitted_[stream], device_.record(stream)});
    started_[stream] = submitted_[stream];
  }
  return list.back();
}

void DeviceOrder::record_done(int stream) {
  auto& list = marks_[stream];
  while (!list.empty() && device_.done(list.front().event)) {
    done_[stream] = list.front().number;
    device_.release(list.front().event);
    list.pop_front();
  }
}

void DeviceOrder::before(int stream, const Frontier& frontier) {
  if (fault_enabled(Fault::device_order)) return;
  for (int other = 0; other < max_device_streams; ++other) {
    const std::uint64_t number = frontier.at[other];
    if (other == stream || number <= waited_[stream][other] || number <= done_[other]) continue;
    const Mark& m = mark(other, number);
    device_.wait(stream, m.event);
    waited_[stream][other] = m.number;
  }
}

bool DeviceOrder::started(const Frontier& frontier) {
  for (int stream = 0; stream < max_device_streams; ++stream) {
    if (frontier.at[stream] <= started_[stream]) continue;
    count_started(stream);
    if (frontier.at[stream] > started_[stream]) return false;
  }
  return true;
}

bool DeviceOrder::done(const Frontier& frontier) {
  for (int stream = 0; stream < max_device_streams; ++stream) {
    if (frontier.at[stream] <= done_[stream]) continue;
    mark(stream, frontier.at[stream]);
    record_done(stream);
    if (frontier.at[stream] > done_[stream]) return false;
  }
  return true;
}

void DeviceOrder::finish(const Frontier& frontier) {
  for (int stream = 0; stream < max_device_streams; ++stream) {
    if (frontier.at[stream] <= done_[stream]) continue;
    device_.finish(mark(stream, frontier.at[stream]).event);
    record_done(stream);
  }
}

int DeviceOrder::compute_stream(const Frontier& frontier, bool small) {
  int last = -1;
  for (int s = first_compute_stream; s < first_compute_stream + device_.compute_streams(); ++s)
    if (frontier.at[s] > done_[s] && (last < 0 || frontier.at[s] == submitted_[s])) last = s;
  if (last >= 0) return last;
  if (small) return first_compute_stream;
  next_ = (next_ + 1) % device_.compute_streams();
  return first_compute_stream + next_;
}

}  // namespace sial
