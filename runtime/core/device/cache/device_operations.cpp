#include "runtime/core/device/cache/device_operations.h"

#include <utility>

#include "runtime/core/base/check.h"
#include "runtime/core/base/fault_injection.h"
#include "runtime/core/device/batch/batch_queue.h"
#include "runtime/core/device/simulated/plain_steps.h"

namespace sial {

DeviceOperations::DeviceOperations(CacheLayers& layers, int self_check) : layers_(layers) {
  if (self_check > 0)
    self_check_ =
        std::make_unique<SelfCheck>(self_check, [this](const double* p, std::int64_t n) { return fetch(p, n); });
}

void DeviceOperations::begin() {
  layers_.statistics.begin_operation();
  layers_.table.begin_operation();
  before_ = {};
  layers_.held.release_done();
}

void DeviceOperations::end() {
  while (!scratches_.empty()) release_scratch(scratches_.back());  // of one that was abandoned
  for (std::shared_ptr<DeviceBlock>& block : operands_) layers_.table.give_back(std::move(block));
  operands_.clear();
  targets_ = 0;
}

// --- operands

CachedBlock& DeviceOperations::block_for(const HostBlock& host, Intent intent) {
  CachedBlock* u = layers_.table.find(host.buffer, host.data);
  if (u && u->size != host.size()) {
    layers_.table.drop_in(host.data, 1);
    u = nullptr;
  }
  if (!u) return layers_.table.make(host);
  if (intent == Intent::write) layers_.table.record_ended(*u);
  else layers_.table.record_used_again(*u);
  return *u;
}

double* DeviceOperations::operand(const HostBlock& host, Intent intent, Statement statement) {
  CachedBlock& u = block_for(host, intent);
  u.host = host;
  if (intent == Intent::write) layers_.budget.record_no_use(u);
  else if (layers_.budget.record_use(u) && u.path == TransferPath::copied)
    layers_.statistics.counts().ahead_used.add(u.size);
  layers_.table.use(u, statement);
  if (!u.block) layers_.memory.attach(u, statement);
  if (intent != Intent::read) layers_.memory.make_exclusive(u, intent == Intent::update, statement);
  TransferRow& counted = layers_.statistics.row(statement, u.host.array);
  counted.in_unoptimized.add(u.size);
  counted.out_unoptimized.add(u.size);
  if (intent != Intent::write && !u.on_device()) {
    if (fault_enabled(Fault::device_copy_in)) u.record(BlockEvent::copy_in);
    else layers_.transfers.copy_in(u, statement);
  }
  return intent == Intent::read ? read_operand(u) : written_operand(u);
}

double* DeviceOperations::read_operand(const CachedBlock& u) {
  if (u.on_host() && u.values != 0 && layers_.order.done(u.host_busy))
    SIAL_CHECK(u.values == hash_values(u.host),
               "the device's copy of a block of {} elements is taken for the host's, which has changed", u.size);
  before_.include(u.block->written);
  operands_.push_back(u.block);
  return u.block->data;
}

double* DeviceOperations::written_operand(CachedBlock& u) {
  before_.include(u.block->used);
  operands_.push_back(u.block);
  std::swap(operands_.back(), operands_[targets_++]);
  u.sent = SentState::no;
  u.values = 0;
  if (u.on_host()) layers_.transfers.poison_host(u);
  u.record(BlockEvent::write_on_device);
  return u.block->data;
}

double* DeviceOperations::scratch(std::int64_t n, Statement statement) {
  Frontier free_after;
  double* p = layers_.memory.allocate(n, free_after, statement);
  before_.include(free_after);
  scratches_.push_back(p);
  return p;
}

void DeviceOperations::release_scratch(double* p) noexcept {
  std::erase(scratches_, p);
  layers_.memory.release(p, before_);
}

// --- pieces of work

int DeviceOperations::begin_work(bool small) {
  const int stream = layers_.order.compute_stream(before_, small);
  layers_.order.before(stream, before_);
  return stream;
}

void DeviceOperations::end_work(int stream) {
  const std::uint64_t number = layers_.order.submitted(stream);
  before_.include(stream, number);
  for (const std::shared_ptr<DeviceBlock>& block : operands_) block->used.include(stream, number);
  for (std::size_t i = 0; i < targets_; ++i) operands_[i]->written.include(stream, number);
}

void DeviceOperations::run(const BlockOp& op) {
  const auto compute = [&] {
    launch(is_small(op, layers_.device.small()), [&](Device& device, int stream) { device.run(stream, op); });
  };
  if (self_check_ && self_check_->due()) self_check_->compare(op, compute);
  else compute();
}

void DeviceOperations::run(const MutableView& target, std::span<const kernels::FusedStep> steps) {
  const auto compute = [&] {
    try {
      launch(is_small(target, steps, layers_.device.small()),
             [&](Device& device, int stream) { device.run(stream, target, steps); });
    } catch (const DeviceFull&) { run_by_host(target, steps); }
  };
  if (self_check_ && self_check_->due()) self_check_->compare(target, steps, compute);
  else compute();
}

void DeviceOperations::run(const ElementWork& work) {
  const kernels::FusedStep step = step_of(work);
  run(work.d, std::span(&step, 1));
}

void DeviceOperations::run_by_host(const MutableView& target, std::span<const kernels::FusedStep> steps) {
  record_on_host_instead();
  const std::vector<double> values =
      carry_out_on_copies(target, steps, [this](const double* p, std::int64_t n) { return fetch(p, n); });
  layers_.order.before(copy_in_stream, before_);
  layers_.device.copy_in(target.data, values.data(), static_cast<std::int64_t>(values.size()));
  const Frontier done = layers_.order.after_submitted(copy_in_stream);
  layers_.order.finish(done);
  before_.include(done);
  for (const std::shared_ptr<DeviceBlock>& block : operands_) block->used.include(done);
  for (std::size_t i = 0; i < targets_; ++i) operands_[i]->written.include(done);
}

double DeviceOperations::dot(const ConstView& a, const ConstView& b) {
  double result = 0.0;
  launch(false, [&](Device& device, int stream) { device.dot(stream, a, b, &result); });
  layers_.order.finish(before_);
  if (self_check_ && self_check_->due()) self_check_->compare(a, b, result);
  return result;
}

/// The values of operands of the present operation after all work on them. Waits.
std::vector<double> DeviceOperations::fetch(const double* device, std::int64_t n) {
  std::vector<double> values(static_cast<std::size_t>(n));
  layers_.order.before(copy_out_stream, before_);
  layers_.device.copy_out(values.data(), device, n);
  layers_.order.finish(layers_.order.after_submitted(copy_out_stream));
  return values;
}

bool DeviceOperations::work_waits() const {
  for (int stream = 0; stream < max_device_streams; ++stream)
    if (layers_.device.waits(stream)) return true;
  return false;
}

void DeviceOperations::start_work() {
  ++layers_.statistics.counts().started_at_waits;
  layers_.device.start_waiting();
}

}  // namespace sial
