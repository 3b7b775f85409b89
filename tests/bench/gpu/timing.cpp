#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

#include "tests/bench/gpu/bench.h"

namespace bench {
namespace {

constexpr double shortest_batch = 1e-3;  // seconds, against the wait at its end

Effort effort_of(bool quick) { return quick ? Effort{0.001, 1} : Effort{0.03, 3}; }

}  // namespace

Bench::Bench(bool quick_run) : quick(quick_run), device(sial::make_cuda_device({})), raw(std::make_unique<RawGpu>(0)) {}

void Bench::finish(int stream) {
  const sial::Device::Event e = device->record(stream);
  device->finish(e);
  device->release(e);
}

void Bench::upload(double* to, const double* from, std::int64_t n) {
  device->copy_in(to, from, n);
  finish(sial::copy_in_stream);
}

void Bench::download(double* to, const double* from, std::int64_t n) {
  device->copy_out(to, from, n);
  finish(sial::copy_out_stream);
}

OnDevice::OnDevice(sial::Device& device, std::int64_t n) : device_(device), n_(n), p_(device.reserve(n)) {
  if (!p_) throw std::runtime_error(fmt::format("the device has no room for {} doubles", n));
}

std::vector<double> streamed_seconds(const std::vector<Streamed>& contenders, bool quick) {
  std::vector<Contender> batches;
  std::vector<int> calls;
  const Clock clock{true};
  for (const Streamed& s : contenders) {
    double once = 0;
    for (int i = 0; i < 2; ++i) {  // the first pays for what is made once
      const double begin = clock.now();
      s.put();
      s.finish();
      once = clock.now() - begin;
    }
    const int n =
        quick ? std::min(2, s.most) : std::clamp(static_cast<int>(shortest_batch / std::max(once, 1e-7)), 1, s.most);
    calls.push_back(n);
    batches.push_back({s.name, [&s, n] {
                         for (int i = 0; i < n; ++i) s.put();
                         s.finish();
                       }});
  }
  measure(batches, clock, effort_of(quick));
  std::vector<double> seconds;
  for (std::size_t i = 0; i < batches.size(); ++i) seconds.push_back(batches[i].seconds / calls[i]);
  return seconds;
}

std::vector<double> plain_seconds(std::vector<std::function<void()>> contenders, bool quick) {
  std::vector<Contender> all;
  for (auto& run : contenders) all.push_back({"", std::move(run)});
  measure(all, Clock{true}, effort_of(quick));
  std::vector<double> seconds;
  for (const Contender& c : all) seconds.push_back(c.seconds);
  return seconds;
}

}  // namespace bench
