// A device in front of another, which has small work wait for its like. Events are what orders streams and the host,
// and none is after work that waits: a wait for an event may go ahead of it, copies go their own way, and only who
// records an event needs all before it started.

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "runtime/core/base/error.h"
#include "runtime/core/device/batch/batch_queue.h"
#include "runtime/core/device/device.h"
#include "runtime/core/device/simulated/plain_steps.h"
#include "runtime/core/memory/host_pool.h"

namespace sial {
namespace {

using kernels::FusedStep;

/// In a stream: enough to find many of one shape among the steps of several iterations, few enough that the device does
/// not wait for long: they take the host some milliseconds.
constexpr std::size_t max_waiting = 512;

class BatchingDevice final : public Device {
 public:
  BatchingDevice(std::unique_ptr<Device> device, std::int64_t small) : device_(std::move(device)), small_(small) {}
  // Nobody has asked for work that still waits.

  std::string_view name() const override { return device_->name(); }
  int compute_streams() const override { return device_->compute_streams(); }
  std::int64_t memory() const override { return device_->memory(); }
  std::int64_t piece() const override { return device_->piece(); }
  double* reserve(std::int64_t n) override { return device_->reserve(n); }
  void give_back(double* p, std::int64_t n) noexcept override {
    try {
      start_all();
    } catch (const EnvironmentError&) {
      // The device is lost: the next call that may say so does.
    }
    device_->give_back(p, n);
  }
  bool pins() const override { return device_->pins(); }
  bool pin(const void* p, std::size_t bytes) override { return device_->pin(p, bytes); }
  void unpin(const void* p) noexcept override { device_->unpin(p); }
  PinnedCount pinned() const override { return device_->pinned(); }

  void copy_in(double* device, const double* host, std::int64_t n) override { device_->copy_in(device, host, n); }
  void copy_out(double* host, const double* device, std::int64_t n) override { device_->copy_out(host, device, n); }
  void run(int stream, const BlockOp& op) override {
    if (is_small(op, small_)) return wait_in_queue(stream, [&](BatchQueue& queue) { queue.add(op); });
    start(stream);
    device_->run(stream, op);
  }
  void run(int stream, const MutableView& target, std::span<const FusedStep> steps) override {
    if (is_small(target, steps, small_))
      return wait_in_queue(stream, [&](BatchQueue& queue) { queue.add(target, steps); });
    start(stream);
    device_->run(stream, target, steps);
  }
  std::size_t run_batch(int stream, std::span<const BlockOp> ops) override {
    start(stream);
    return device_->run_batch(stream, ops);
  }
  std::size_t run_batch(int stream, std::span<const FusedWork> groups) override {
    start(stream);
    return device_->run_batch(stream, groups);
  }
  void dot(int stream, const ConstView& a, const ConstView& b, double* result) override {
    start(stream);
    device_->dot(stream, a, b, result);
  }

  Event record(int stream) override {
    start(stream);
    return device_->record(stream);
  }
  Event record_started(int stream) override { return device_->record(stream); }
  void wait(int stream, Event event) override { device_->wait(stream, event); }
  bool done(Event event) override { return device_->done(event); }
  void finish(Event event) override {
    if (device_->done(event)) return;
    start_all();  // while the host waits the device may work
    device_->finish(event);
  }
  void release(Event event) override { device_->release(event); }

  std::int64_t small() const override { return small_; }
  bool waits(int stream) const override { return queues_[static_cast<std::size_t>(stream)].size() > 0; }
  void start_waiting() override { start_all(); }
  BatchCount batched() const override { return count_; }
  std::int64_t starts() const override { return device_->starts(); }
  void take_times(bool on) override {
    start_all();
    device_->take_times(on);
  }
  std::optional<DeviceTimes> times() override {
    start_all();
    return device_->times();
  }
  bool host_reads() const override { return device_->host_reads(); }
  void enter() override { device_->enter(); }
  std::int64_t message_piece(std::int64_t n) const override { return device_->message_piece(n); }
  bool poisons() const override { return device_->poisons(); }
  void poison(int stream, double* device, std::int64_t n) override {
    start(stream);
    device_->poison(stream, device, n);
  }
  void poison_host(const MutableView& host) override { device_->poison_host(host); }
  TransferCount moved_in() const override { return device_->moved_in(); }
  TransferCount moved_out() const override { return device_->moved_out(); }

 private:
  template <class Add>
  void wait_in_queue(int stream, Add&& add) {
    ++count_.pieces;
    BatchQueue& queue = queues_[static_cast<std::size_t>(stream)];
    add(queue);
    if (queue.size() >= max_waiting) start(stream);
  }
  void start_all() {
    for (std::size_t s = 0; s < queues_.size(); ++s) start(static_cast<int>(s));
  }
  /// All that waits in the stream. The device's being lost is all that can come of it.
  void start(int stream) {
    BatchQueue& waiting = queues_[static_cast<std::size_t>(stream)];
    if (waiting.size() == 0) return;
    const BatchQueue queue = std::exchange(waiting, {});
    for (const BatchQueue::Batch& batch : queue.batches()) {
      start(stream, std::span(batch.ops));
      start(stream, std::span(batch.groups));
    }
  }
  template <class Work>
  void start(int stream, std::span<const Work> pieces) {
    if (pieces.empty()) return;
    std::size_t started = 0;
    if (pieces.size() > 1) {
      started = device_->run_batch(stream, pieces);
      if (started > 1) {
        ++count_.batches;
        count_.batched += static_cast<std::int64_t>(started);
      }
    }
    for (; started < pieces.size(); ++started) {
      try {
        run_at_once(stream, pieces[started]);
      } catch (const DeviceFull&) {
        ++count_.on_host;
        run_by_host(stream, pieces[started]);
      }
    }
  }
  void run_at_once(int stream, const BlockOp& op) { device_->run(stream, op); }
  void run_at_once(int stream, const FusedWork& work) { device_->run(stream, work.target, work.steps); }

  // --- what was taken on without a workspace for it, with values that go to the host and back

  void after(int stream, int other) {
    const Event e = device_->record(other);
    device_->wait(stream, e);
    device_->finish(e);
    device_->release(e);
  }
  std::vector<double> fetch(int stream, const double* data, std::int64_t n) {
    std::vector<double> values(static_cast<std::size_t>(n));
    after(copy_out_stream, stream);
    device_->copy_out(values.data(), data, n);
    after(stream, copy_out_stream);
    return values;
  }
  template <class T>
  std::vector<double> fetch(int stream, const BlockView<T>& view) {
    return fetch(stream, view.data, span_of(view));
  }
  void write_back(int stream, const MutableView& view, const std::vector<double>& values) {
    device_->copy_in(view.data, values.data(), static_cast<std::int64_t>(values.size()));
    after(stream, copy_in_stream);
  }
  void run_by_host(int stream, const BlockOp& op) {
    BlockOp mine = op;
    std::vector<double> d = fetch(stream, op.d), a = fetch(stream, op.a),
                        b = op.has_b ? fetch(stream, op.b) : std::vector<double>();
    mine.d.data = d.data();
    mine.a.data = a.data();
    mine.b.data = b.data();
    const std::unique_ptr<BufferResource> workspace = make_host_pool();
    make_kernels("reference", *workspace)->run(mine);
    write_back(stream, op.d, d);
  }
  void run_by_host(int stream, const FusedWork& work) {
    write_back(stream, work.target, carry_out_on_copies(work.target, work.steps, [&](const double* p, std::int64_t n) {
                 return fetch(stream, p, n);
               }));
  }

  const std::unique_ptr<Device> device_;
  const std::int64_t small_;
  std::array<BatchQueue, max_device_streams> queues_;
  BatchCount count_;
};

}  // namespace

std::unique_ptr<Device> make_batching_device(std::unique_ptr<Device> device, std::int64_t small) {
  return std::make_unique<BatchingDevice>(std::move(device), small);
}

}  // namespace sial
