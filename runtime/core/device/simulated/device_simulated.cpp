// A device for tests and for counting transfers. Its memory lies in the host's address space, so that the host's
// kernels can stand in for its own; nobody else may use its addresses, and whatever has no defined value there is NaN.
// Work that is put into a stream waits: each call lets a few pieces of work go on, of streams chosen by a seeded
// generator, so that work that is ordered by chance only gets into the wrong order sooner or later. Times are those of
// a model: each piece of work takes as long as it took here, all streams go on beside each other and beside the host,
// and wait for what they are told to.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "runtime/core/base/check.h"
#include "runtime/core/base/error.h"
#include "runtime/core/base/fault_injection.h"
#include "runtime/core/device/device.h"
#include "runtime/core/device/simulated/plain_steps.h"

namespace sial {

namespace {

using kernels::FusedOp;
using kernels::FusedStep;

class SimulatedDevice final : public Device {
 public:
  SimulatedDevice(Kernels& kernels, const DeviceOptions& options)
      : kernels_(kernels), options_(options), random_(options.seed * 0x9e3779b97f4a7c15ULL + 1) {}
  ~SimulatedDevice() override {
    while (step()) {}
    for (const auto& [p, n] : pieces_) std::free(p);
  }
  std::string_view name() const override { return "simulated"; }
  int compute_streams() const override { return std::clamp(options_.streams, 1, max_compute_streams); }

  std::int64_t memory() const override {
    return options_.memory > 0 ? options_.memory : std::numeric_limits<std::int64_t>::max();
  }
  std::int64_t piece() const override {
    return options_.memory > 0 ? std::max<std::int64_t>(options_.memory / 8, 1) : std::int64_t{1} << 20;
  }
  double* reserve(std::int64_t n) override {
    const std::int64_t bytes = (n * 8 + 255) / 256 * 256;
    if (reserved_ + bytes > memory()) return nullptr;
    auto* p =
        static_cast<double*>(std::aligned_alloc(256, static_cast<std::size_t>(std::max<std::int64_t>(256, bytes))));
    if (!p) return nullptr;
    reserved_ += bytes;
    pieces_.emplace(p, n);
    poison(p, n);
    return p;
  }
  void give_back(double* p, std::int64_t n) noexcept override {
    const auto found = pieces_.find(p);
    SIAL_CHECK(found != pieces_.end() && found->second == n, "{} elements given back that the device did not hand out",
               n);
    while (step()) {}
    pieces_.erase(found);
    reserved_ -= (n * 8 + 255) / 256 * 256;
    std::free(p);
  }

  void copy_in(double* device, const double* host, std::int64_t n) override {
    in_.add(n);
    check_own(device, n);
    post(copy_in_stream, DeviceWork::in, [=] { copy(device, host, n); });
  }
  void copy_out(double* host, const double* device, std::int64_t n) override {
    out_.add(n);
    check_own(device, n);
    post(copy_out_stream, DeviceWork::out, [=] { copy(host, device, n); });
  }
  void run(int stream, const BlockOp& op) override { start(stream, {work_of(op)}); }
  void run(int stream, const MutableView& target, std::span<const FusedStep> steps) override {
    start(stream, {work_of(target, steps)});
  }
  std::size_t run_batch(int stream, std::span<const BlockOp> ops) override {
    std::vector<std::function<void()>> pieces;
    for (const BlockOp& op : ops) pieces.push_back(work_of(op));
    start(stream, std::move(pieces));
    return ops.size();
  }
  std::size_t run_batch(int stream, std::span<const FusedWork> groups) override {
    std::vector<std::function<void()>> pieces;
    for (const FusedWork& work : groups) pieces.push_back(work_of(work.target, work.steps));
    start(stream, std::move(pieces));
    return groups.size();
  }
  void dot(int stream, const ConstView& a, const ConstView& b, double* result) override {
    check_view(a);
    check_view(b);
    ++starts_;
    post(stream, DeviceWork::kernel, [this, a, b, result] {
      *result = kernels_.dot(a, b);
      if (fault_enabled(Fault::device_result)) *result += 1.0;
    });
  }

  Event record(int stream) override {
    const auto e = static_cast<Event>(events_.size());
    events_.push_back({});
    post(stream, {}, [this, e, stream] { events_[e] = {true, clock_[stream]}; });
    return e;
  }
  void wait(int stream, Event event) override {
    streams_[stream].push_back({{}, {}, event, 0});
    go_on();
  }
  bool done(Event event) override {
    go_on();
    return events_[event].done;
  }
  void finish(Event event) override {
    while (!events_[event].done) SIAL_CHECK(step(), "the streams of the simulated device wait for each other");
    if (!timed_) return;
    const double wait = std::max(0.0, events_[event].at - host_time());
    waited_ += wait;
    beside_ += wait;
  }
  void release(Event event) override {
    SIAL_CHECK(events_[event].done, "an event of the simulated device is given back before it is done");
  }

  void take_times(bool on) override {
    timed_ = on;
    ever_timed_ = ever_timed_ || on;
  }
  std::optional<DeviceTimes> times() override {
    if (!ever_timed_) return {};
    while (waiting() > 0 && step()) {  // nothing is drawn for nothing
    }
    DeviceTimes times = busy_.sums();
    times.waited = waited_;
    return times;
  }

  std::int64_t starts() const override { return starts_; }
  bool host_reads() const override { return true; }
  std::int64_t message_piece(std::int64_t n) const override {
    return std::max<std::int64_t>(5, n / 6);
  }  // small blocks come in pieces, too
  bool poisons() const override { return true; }
  void poison(int stream, double* device, std::int64_t n) override {
    check_own(device, n);
    post(stream, {}, [=] { poison(device, n); });
  }
  void poison_host(const MutableView& host) override {
    post(copy_in_stream, {},
         [host] { carry_out(host, {FusedOp::fill, std::numeric_limits<double>::quiet_NaN(), {}, {}, nullptr}); });
  }
  TransferCount moved_in() const override { return in_; }
  TransferCount moved_out() const override { return out_; }

 private:
  struct Work {
    std::function<void()> run;
    std::optional<DeviceWork> kind;  // nothing: takes no time
    Event event = -1;                // to wait for instead
    double posted = 0;               // by the host, on its clock
  };
  struct EventState {
    bool done = false;
    double at = 0;
  };
  static constexpr std::size_t max_pieces = 4096;

  std::function<void()> work_of(const BlockOp& op) {
    check_view(op.d);
    check_view(op.a);
    if (op.has_b) check_view(op.b);
    return [this, op] {
      kernels_.run(op);
      poison_result(op.d);
    };
  }
  std::function<void()> work_of(const MutableView& target, std::span<const FusedStep> steps) {
    check_view(target);
    std::vector<std::shared_ptr<const EnergyDifferences>> energies;
    std::vector<FusedStep> own(steps.begin(), steps.end());
    for (FusedStep& s : own) {
      for (const kernels::FusedSource* source : {&s.a, &s.b})
        if (source->data) check_view(source_view(target, *source));
      if (s.energies) s.energies = energies.emplace_back(std::make_shared<const EnergyDifferences>(*s.energies)).get();
    }
    return [this, target, own = std::move(own), energies = std::move(energies)] {
      for (const FusedStep& s : own) carry_out(target, s);
      poison_result(target);
    };
  }
  /// At once: in whatever order.
  void start(int stream, std::vector<std::function<void()>> pieces) {
    ++starts_;
    for (std::size_t i = pieces.size(); i > 1; --i) std::swap(pieces[i - 1], pieces[random() % i]);
    post(stream, DeviceWork::kernel, [pieces = std::move(pieces)] {
      for (const std::function<void()>& piece : pieces) piece();
    });
  }

  static double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }
  /// The host's clock, which stands still while it does the device's work, and goes on while it waits.
  double host_time() const { return now() + beside_; }
  void carry_out_timed(int stream, const Work& work) {
    clock_[stream] = std::max(clock_[stream], work.posted);
    const double begin = now();
    work.run();
    const double length = now() - begin;
    beside_ -= length;
    if (!work.kind) return;
    busy_.add(*work.kind, clock_[stream], clock_[stream] + length);
    clock_[stream] += length;
    if (busy_.open() < sum_up_at_) return;
    double horizon = host_time();
    for (std::size_t s = 0; s < streams_.size(); ++s)
      if (!streams_[s].empty()) horizon = std::min(horizon, clock_[s]);
    busy_.sum_up(horizon);
    sum_up_at_ = busy_.open() + max_pieces;
  }

  /// One element of one result in five.
  void poison_result(const MutableView& d) {
    if (!fault_enabled(Fault::device_result) || random() % 5 != 0) return;
    if (span_of(d) > 0) d.data[0] += 1.0;
  }
  static void poison(double* p, std::int64_t n) { std::fill_n(p, n, std::numeric_limits<double>::quiet_NaN()); }
  static void copy(double* to, const double* from, std::int64_t n) {
    if (n > 0) std::memcpy(to, from, static_cast<std::size_t>(n) * 8);
  }
  void check_own(const double* p, std::int64_t n) const {
    auto found = pieces_.upper_bound(const_cast<double*>(p));
    SIAL_CHECK(found != pieces_.begin() && (--found, p + n <= found->first + found->second),
               "{} elements that are not the device's", n);
  }
  template <class T>
  void check_view(const BlockView<T>& v) const {
    if (const std::int64_t n = span_of(v); n > 0) check_own(v.data, n);
  }
  std::uint64_t random() {
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    return random_;
  }
  void post(int stream, std::optional<DeviceWork> kind, std::function<void()> work) {
    streams_[stream].push_back({std::move(work), kind, -1, timed_ ? host_time() : 0.0});
    go_on();
  }
  void go_on() {
    for (std::uint64_t n = random() % 3; n > 0; --n) step();
    while (waiting() > 200) step();
  }
  std::size_t waiting() const {
    std::size_t n = 0;
    for (const auto& s : streams_) n += s.size();
    return n;
  }
  /// The next piece of work of one stream, chosen at random; false when nothing can go on.
  bool step() {
    const std::size_t first = random() % streams_.size();
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      const std::size_t stream = (first + i) % streams_.size();
      auto& s = streams_[stream];
      if (s.empty() || (s.front().event >= 0 && !events_[s.front().event].done)) continue;
      const Work work = std::move(s.front());
      s.pop_front();
      if (!work.run) clock_[stream] = std::max(clock_[stream], events_[work.event].at);
      else if (timed_) carry_out_timed(static_cast<int>(stream), work);
      else work.run();
      return true;
    }
    return false;
  }

  Kernels& kernels_;
  DeviceOptions options_;
  std::uint64_t random_;
  std::array<std::deque<Work>, max_device_streams> streams_;
  std::vector<EventState> events_;  // numbers are not used again
  std::map<double*, std::int64_t> pieces_;
  std::int64_t reserved_ = 0, starts_ = 0;
  TransferCount in_, out_;
  bool timed_ = false, ever_timed_ = false;
  std::array<double, max_device_streams> clock_{};  // per stream
  double beside_ = 0, waited_ = 0;                  // seconds
  BusyTimes busy_;
  std::size_t sum_up_at_ = max_pieces;
};

}  // namespace

std::unique_ptr<Device> make_simulated_device(Kernels& kernels, const DeviceOptions& options) {
  return std::make_unique<SimulatedDevice>(kernels, options);
}

}  // namespace sial
