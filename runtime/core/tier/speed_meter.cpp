#include "runtime/core/tier/speed_meter.h"

namespace sial {
namespace {

constexpr double weight = 0.25;  // of a new sample
constexpr double sample_bytes = 4 << 20;
constexpr double sample_seconds = 0.02;
constexpr std::size_t small_bytes = 64 << 10;

void average(double& value, double sample) { value = value == 0 ? sample : value + weight * (sample - value); }

}  // namespace

void SpeedMeter::begin(bool write, double now) {
  Direction& d = write ? write_ : read_;
  if (d.under_way++ == 0) d.since = now;
}

void SpeedMeter::end(bool write, std::size_t bytes, double begun, double now) {
  Direction& d = write ? write_ : read_;
  --d.under_way;
  d.busy += now - d.since;
  d.since = now;
  d.bytes += static_cast<double>(bytes);
  if (!write && bytes > 0 && bytes <= small_bytes) average(speed_.latency, now - begun);
  double& bandwidth = write ? speed_.write_bandwidth : speed_.read_bandwidth;
  const bool enough = d.bytes >= sample_bytes || d.busy >= sample_seconds;
  if (d.busy <= 0 || (!enough && bandwidth != 0)) return;
  average(bandwidth, d.bytes / d.busy);
  if (enough) d.busy = d.bytes = 0;
}

}  // namespace sial
