#include "runtime/device/cache/block_cache.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "runtime/base/check.h"
#include "runtime/base/error.h"
#include "runtime/base/fault_injection.h"
#include "runtime/device/batch/batch_queue.h"
#include "runtime/device/simulated/plain_steps.h"

namespace sial {

namespace {

constexpr std::size_t max_uses_kept = 2'000'000;

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

MutableView HostBlock::view() const {
  MutableView v;
  v.data = data;
  v.rank = rank;
  std::copy_n(extent.begin(), rank, v.extent.begin());
  v.stride = stride;
  return v;
}

TransferRow DeviceStats::total() const {
  TransferRow sum;
  const auto add = [](TransferCount& to, const TransferCount& more) {
    to.transfers += more.transfers;
    to.bytes += more.bytes;
  };
  for (const auto& [key, r] : rows) {
#define TRANSFER_COST(field) add(sum.field, r.field);
#include "runtime/stats/costs.def"
  }
  return sum;
}

DeviceBlockCache::DeviceBlockCache(Device& device, BufferResource& host, bool direct, const std::int32_t& place,
                                   int self_check)
    : device_(device),
      host_(host),
      direct_(direct),
      place_(place),
      order_(device),
      pool_(device),
      times_before_(device.times()),
      batched_before_(device.batched()),
      starts_before_(device.starts()) {
  if (device.poisons() && device.memory() < std::numeric_limits<std::int64_t>::max())
    offline_optimum_ = std::make_unique<OfflineOptimum>();
  if (self_check > 0)
    self_check_ =
        std::make_unique<SelfCheck>(self_check, [this](const double* p, std::int64_t n) { return fetch(p, n); });
}

std::optional<DeviceTimes> DeviceBlockCache::times() const {
  std::optional<DeviceTimes> now = device_.times();
  return now && times_before_ ? now->since(*times_before_) : now;
}

DeviceBlockCache::~DeviceBlockCache() {
  try {
    leave_outgoing();
    settle_all();
  } catch (const EnvironmentError&) {
    // The device is lost. Host memory that copies needed stays held: they may be under way still.
  }
}

std::uint64_t DeviceBlockCache::hash(const HostBlock& host) const {
  std::uint64_t h = mix_hash(0x51a1, static_cast<std::uint64_t>(host.size()));
  for_each_element(host, [&](const double& x, std::int64_t) { h = mix_hash(h, std::bit_cast<std::uint64_t>(x)); });
  return h;
}

// --- blocks

/// Whether the host's memory holds what it did when the unit was made.
bool DeviceBlockCache::current(const Unit& u) const {
  return u.content == host_.content(u.host.buffer) || (u.brought > 0 && fault_enabled(Fault::device_ahead_content));
}

/// Null when the device knows nothing of what the host's memory holds now.
DeviceBlockCache::Unit* DeviceBlockCache::find(const double* buffer, const double* first) {
  const auto found = units_.find(first);
  if (found == units_.end()) return nullptr;
  Unit& u = found->second;
  if (u.host.buffer == buffer && current(u)) return &u;
  drop(found);
  return nullptr;
}

/// Of which nothing is known yet.
DeviceBlockCache::Unit& DeviceBlockCache::make(const HostBlock& host) {
  Unit& u = units_[host.data];
  u.host = host;
  u.content = host_.content(host.buffer);
  u.made_by_host = !host.fetched;
  u.size = host.size();
  return u;
}

void DeviceBlockCache::drop(Units::iterator at) {
  ended(at->second);
  if (offline_optimum_) offline_optimum_->ended({at->first, at->second.content});
  let_go_of_block(at->second);
  units_.erase(at);
}

void DeviceBlockCache::let_go_of_block(Unit& u) {
  u.device_valid = false;
  note_no_use(u);
  if (!u.block) return;
  unlist(u);
  --u.block->units;
  give_back(std::move(u.block));
}

/// The last one who has it, as a unit or an operand, gives the memory back.
void DeviceBlockCache::give_back(std::shared_ptr<DeviceBlock> block) {
  if (block.use_count() == 1) pool_.release(block->data, block->used);
}

/// Device memory without a value. Throws DeviceFull.
void DeviceBlockCache::give_block(Unit& u) {
  auto block = std::make_shared<DeviceBlock>();
  block->data = allocate(u.size, block->used);
  block->written = block->used;
  u.block = std::move(block);
  list(u);
  u.device_valid = false;
  poison(*u.block, u.size);
}

/// What the device's memory holds counts no more.
void DeviceBlockCache::poison(DeviceBlock& block, std::int64_t n) {
  if (!device_.poisons()) return;
  order_.before(copy_in_stream, block.used);
  device_.poison(copy_in_stream, block.data, n);
  block.written.include(copy_in_stream, order_.submitted(copy_in_stream));
  block.used.include(block.written);
}

/// The unit is going to be written on the device: others that share its values keep them.
void DeviceBlockCache::own_block(Unit& u, bool keep) {
  if (u.block->units == 1) return;
  std::shared_ptr<DeviceBlock> shared = u.block;
  const bool valid = u.device_valid;
  give_block(u);
  --shared->units;
  if (!keep || !valid) return give_back(std::move(shared));
  MutableView to;
  to.rank = 1;
  to.extent[0] = u.size;
  to.stride[0] = 1;
  to.data = u.block->data;
  ConstView from;
  from.rank = 1;
  from.extent = to.extent;
  from.stride = to.stride;
  from.data = shared->data;
  Frontier needed = u.block->used;
  needed.include(shared->written);
  const ElementWork copy{ElementOp::copy, 0.0, to, from, {}};
  const kernels::FusedStep step = step_of(copy);
  const int stream = order_.compute_stream(needed, is_small(to, std::span(&step, 1), device_.small()));
  order_.before(stream, needed);
  device_.run(stream, copy);
  const std::uint64_t number = order_.submitted(stream);
  shared->used.include(stream, number);
  u.block->written.include(stream, number);
  u.block->used.include(stream, number);
  u.device_valid = true;
  give_back(std::move(shared));  // making room may have left it to us alone
}

void DeviceBlockCache::same_values(const double* buffer, const double* first, const double* copy,
                                   std::uint64_t content) {
  const Unit* u = find(buffer, first);
  if (!u || !u->device_valid || !u->host_valid || copy == first) return;
  if (const auto old = units_.find(copy); old != units_.end()) drop(old);
  Unit twin;
  twin.host = u->host;
  twin.host.buffer = twin.host.data = const_cast<double*>(copy);
  twin.host.buffer_size = twin.size = u->size;
  std::int64_t stride = 1;
  for (int d = 0; d < twin.host.rank; ++d) {
    twin.host.stride[d] = stride;
    stride *= twin.host.extent[d];
  }
  twin.content = content;
  twin.values = u->values;
  twin.block = u->block;
  ++twin.block->units;
  twin.device_valid = true;
  twin.last_operation = u->last_operation;
  twin.last_place = u->last_place;
  twin.due = u->due;
  if (offline_optimum_) offline_optimum_->shared({first, u->content}, {copy, content});
  list(units_[copy] = std::move(twin));
}

/// When its temp was used again says nothing of it any more: it is wanted when the array's blocks are that were put
/// there before.
void DeviceBlockCache::put_away(const double* buffer, const double* first) {
  Unit* u = find(buffer, first);
  if (u && u->block) expect(*u);
}

DeviceBlockCache::Where DeviceBlockCache::where(const double* buffer, const double* first) {
  const Unit* u = find(buffer, first);
  if (!u || !u->device_valid) return Where::host;
  return u->host_valid ? Where::both : Where::device;
}

bool DeviceBlockCache::work_waits() const {
  for (int stream = 0; stream < max_device_streams; ++stream)
    if (device_.waits(stream)) return true;
  return false;
}

void DeviceBlockCache::start_work() {
  ++stats_.started_at_waits;
  device_.start_waiting();
}

DeviceBlockCache::Coming DeviceBlockCache::come(const double* buffer, const double* first) {
  Unit* u = find(buffer, first);
  if (!u) return Coming::here;
  if (!u->host_valid) {
    if (!order_.started(u->block->written)) return Coming::not_started;
    write_back(*u);
  }
  return order_.done(u->host_busy) ? Coming::here : Coming::under_way;
}

bool DeviceBlockCache::started(const double* buffer, const double* first) {
  const Unit* u = find(buffer, first);
  return !u || u->host_valid || order_.started(u->block->written);
}

void DeviceBlockCache::forget(const double* buffer, std::int64_t n) {
  for (auto at = units_.lower_bound(buffer); at != units_.end() && at->first < buffer + std::max<std::int64_t>(n, 1);)
    drop(at++);
}

// --- transfers

/// `place`: whose transfer it is.
void DeviceBlockCache::copy_in(Unit& u, std::int32_t place) {
  order_.finish(u.host_busy);  // what was written back is there
  const double* from = u.host.data;
  std::vector<double> stage;
  if (!direct_ || !u.host.dense() || !host_.share(u.host.buffer)) {
    stage = staging(u.size);
    for_each_element(u.host, [&](const double& x, std::int64_t i) { stage[i] = x; });
    from = stage.data();
  }
  if (stage.empty()) pin_around(u.host.buffer);
  order_.before(copy_in_stream, u.block->used);
  device_.copy_in(u.block->data, from, u.size);
  const Frontier done = order_.behind_submitted(copy_in_stream);
  u.block->written = done;
  u.block->used.include(done);
  if (stage.empty()) u.host_busy.include(done);
  hold(u.host, done, std::move(stage));
  u.device_valid = true;
  note_copied_in(u, place);
}

void DeviceBlockCache::note_copied_in(Unit& u, std::int32_t place) {
  row(u, place).in.add(u.size);
  if (!device_.poisons()) return;
  if (u.written_back) u.made_by_host = false;
  u.values = hash(u.host);
  if (u.written_back) seen_by_device_.insert(u.values);
  if (seen_by_device_.insert(u.values).second || u.made_by_host) row(u, place).in_lower_bound.add(u.size);
  u.made_by_host = false;
}

/// Does not wait where the block is dense and its buffer can be held.
void DeviceBlockCache::copy_out(Unit& u) {
  row(u).out.add(u.size);
  order_.before(copy_out_stream, u.block->written);
  order_.before(copy_out_stream, u.host_busy);
  const bool straight = direct_ && u.host.dense() && host_.share(u.host.buffer);
  std::vector<double> stage;
  if (straight) pin_around(u.host.buffer);
  else stage = staging(u.size);
  device_.copy_out(straight ? u.host.data : stage.data(), u.block->data, u.size);
  const Frontier done = order_.behind_submitted(copy_out_stream);
  u.block->used.include(done);
  if (straight) {
    u.host_busy.include(done);
    hold(u.host, done, {});
  } else {
    order_.finish(done);
    for_each_element(u.host, [&](double& x, std::int64_t i) { x = stage[i]; });
    unused_staging_.push_back(std::move(stage));
  }
  u.host_valid = true;
  u.values = 0;
}

/// What the device alone has goes to the host, who has not asked for it.
void DeviceBlockCache::write_back(Unit& u) {
  if (u.host_valid) return;
  copy_out(u);
  u.written_back = true;
}

/// What the device wrote is in the host's memory, and the host looks at it.
void DeviceBlockCache::note_copied_out(Unit& u) {
  u.written_back = false;
  u.values = hash(u.host);
  seen_by_device_.insert(u.values);
  if (!u.out_counted) row(u).out_lower_bound.add(u.size);
}

// --- operations

void DeviceBlockCache::begin_operation() {
  ++stats_.operations;
  ++operation_;
  before_ = {};
  if (offline_optimum_ && offline_optimum_->size() > max_uses_kept) offline_optimum_.reset();
  let_go_of_what_is_done();
}

void DeviceBlockCache::end_operation() {
  while (!scratches_.empty()) release_scratch(scratches_.back());  // of one that was given up
  for (std::shared_ptr<DeviceBlock>& block : operands_) give_back(std::move(block));
  operands_.clear();
  targets_ = 0;
}

double* DeviceBlockCache::on_device(const HostBlock& host, Intent intent) {
  const std::int64_t size = host.size();
  Unit* u = find(host.buffer, host.data);
  if (u && u->size != size) {
    forget(host.data, 1);
    u = nullptr;
  }
  if (!u) {
    u = &make(host);
  } else if (intent == Intent::write) {
    ended(*u);
  } else if (u->last_operation != 0 && u->last_operation != operation_) {
    next_use_.used_again(u->last_place, u->host.array, host.data, static_cast<double>(operation_ - u->last_operation));
  }
  u->host = host;
  if (intent == Intent::write) note_no_use(*u);
  else note_use(*u);
  expect(*u);
  if (offline_optimum_) offline_optimum_->on_device({host.data, u->content}, size, operation_, intent);
  if (!u->block) give_block(*u);
  if (intent != Intent::read) own_block(*u, intent == Intent::update);
  row(*u).in_unoptimized.add(size);
  row(*u).out_unoptimized.add(size);
  if (intent != Intent::write && !u->device_valid) {
    SIAL_CHECK(u->host_valid, "a block of {} elements is valid nowhere", size);
    if (fault_enabled(Fault::device_copy_in)) u->device_valid = true;
    else copy_in(*u, place_);
  }
  if (intent == Intent::read) {
    if (u->host_valid && u->values != 0 && order_.done(u->host_busy))
      SIAL_CHECK(u->values == hash(u->host),
                 "the device's copy of a block of {} elements is taken for the host's, which has changed", size);
    before_.include(u->block->written);
    operands_.push_back(u->block);
    return u->block->data;
  }
  before_.include(u->block->used);
  operands_.push_back(u->block);
  std::swap(operands_.back(), operands_[targets_++]);
  u->device_valid = true;
  u->written_back = u->sent = u->out_counted = false;
  u->values = 0;
  if (u->host_valid && device_.poisons()) {
    order_.before(copy_in_stream, u->host_busy);
    device_.poison_host(u->host.view());
    const Frontier done = order_.behind_submitted(copy_in_stream);
    u->host_busy.include(done);
    if (host_.share(u->host.buffer)) hold(u->host, done, {});
    else order_.finish(done);
  }
  u->host_valid = false;
  return u->block->data;
}

double* DeviceBlockCache::scratch(std::int64_t n) {
  Frontier free_after;
  double* p = allocate(n, free_after);
  before_.include(free_after);
  scratches_.push_back(p);
  return p;
}

void DeviceBlockCache::release_scratch(double* p) noexcept {
  std::erase(scratches_, p);
  pool_.release(p, before_);
}

int DeviceBlockCache::begin_work(bool small) {
  const int stream = order_.compute_stream(before_, small);
  order_.before(stream, before_);
  return stream;
}

void DeviceBlockCache::end_work(int stream) {
  const std::uint64_t number = order_.submitted(stream);
  before_.include(stream, number);
  for (const std::shared_ptr<DeviceBlock>& block : operands_) block->used.include(stream, number);
  for (std::size_t i = 0; i < targets_; ++i) operands_[i]->written.include(stream, number);
}

void DeviceBlockCache::run(const BlockOp& op) {
  const auto compute = [&] {
    launch(is_small(op, device_.small()), [&](Device& device, int stream) { device.run(stream, op); });
  };
  if (self_check_ && self_check_->due()) self_check_->compare(op, compute);
  else compute();
}

void DeviceBlockCache::run(const MutableView& target, std::span<const kernels::FusedStep> steps) {
  const auto compute = [&] {
    try {
      launch(is_small(target, steps, device_.small()),
             [&](Device& device, int stream) { device.run(stream, target, steps); });
    } catch (const DeviceFull&) { run_by_host(target, steps); }
  };
  if (self_check_ && self_check_->due()) self_check_->compare(target, steps, compute);
  else compute();
}

void DeviceBlockCache::run(const ElementWork& work) {
  const kernels::FusedStep step = step_of(work);
  run(work.d, std::span(&step, 1));
}

void DeviceBlockCache::run_by_host(const MutableView& target, std::span<const kernels::FusedStep> steps) {
  ++stats_.on_host_instead;
  const std::vector<double> values =
      carry_out_on_copies(target, steps, [this](const double* p, std::int64_t n) { return fetch(p, n); });
  order_.before(copy_in_stream, before_);
  device_.copy_in(target.data, values.data(), static_cast<std::int64_t>(values.size()));
  const Frontier done = order_.behind_submitted(copy_in_stream);
  order_.finish(done);
  before_.include(done);
  for (const std::shared_ptr<DeviceBlock>& block : operands_) block->used.include(done);
  for (std::size_t i = 0; i < targets_; ++i) operands_[i]->written.include(done);
}

double DeviceBlockCache::dot(const ConstView& a, const ConstView& b) {
  double result = 0.0;
  launch(false, [&](Device& device, int stream) { device.dot(stream, a, b, &result); });
  order_.finish(before_);
  if (self_check_ && self_check_->due()) self_check_->compare(a, b, result);
  return result;
}

/// What operands of the present operation hold behind all work on them. Waits.
std::vector<double> DeviceBlockCache::fetch(const double* device, std::int64_t n) {
  std::vector<double> values(static_cast<std::size_t>(n));
  order_.before(copy_out_stream, before_);
  device_.copy_out(values.data(), device, n);
  order_.finish(order_.behind_submitted(copy_out_stream));
  return values;
}

// --- the host's side

void DeviceBlockCache::use_on_host(Unit& u, Intent intent) {
  if (intent != Intent::write && !fault_enabled(Fault::device_copy_out)) write_back(u);
  if (intent == Intent::read) {
    // Copies to the device may be under way: both read.
    if (u.host_valid && u.written_back) {
      order_.finish(u.host_busy);
      if (device_.poisons()) note_copied_out(u);
      u.written_back = false;
    }
    return;
  }
  ended(u);
  order_.finish(u.host_busy);
  if (intent == Intent::update && u.written_back && device_.poisons()) note_copied_out(u);
  u.written_back = false;
  u.made_by_host = true;
  u.host_valid = true;
  u.values = 0;
  if (u.block && u.block->units > 1) {
    let_go_of_block(u);
  } else if (u.device_valid) {
    note_no_use(u);
    poison(*u.block, u.size);
  }
  u.device_valid = false;
}

void DeviceBlockCache::on_host(const double* buffer, const double* first, Intent intent) {
  Unit* u = find(buffer, first);
  if (!u) return;
  if (offline_optimum_) offline_optimum_->on_host({first, u->content}, intent);
  if (u->came == Came::direct) note_no_use(*u);
  use_on_host(*u, intent);
}

OfflineOptimum::Moved DeviceBlockCache::offline_optimum() const {
  return offline_optimum_ ? offline_optimum_->replay(device_.memory()) : OfflineOptimum::Moved{};
}

void DeviceBlockCache::buffer_on_host(const double* buffer, std::int64_t n, Intent intent) {
  for (auto at = units_.lower_bound(buffer); at != units_.end() && at->first < buffer + std::max<std::int64_t>(n, 1);) {
    const double* first = (at++)->first;
    on_host(buffer, first, intent);
  }
}

void DeviceBlockCache::all_on_host() {
  for (auto at = units_.begin(); at != units_.end();) {
    const double* first = at->first;
    const double* buffer = (at++)->second.host.buffer;
    on_host(buffer, first, Intent::read);
  }
}

}  // namespace sial
