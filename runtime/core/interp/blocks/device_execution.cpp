#include "runtime/core/interp/blocks/device_execution.h"

namespace sial {

HostBlock fetched_block(const BoundProgram& bound, ArrayId array, const BlockIndex& block) {
  HostBlock host;
  host.array = array;
  host.rank = block.rank;
  host.fetched = true;
  std::int64_t stride = 1;
  for (int d = 0; d < block.rank; ++d) {
    host.extent[d] = bound.arrays[array.at()].dim[d].extent_of(block.segment[d]);
    host.stride[d] = stride;
    stride *= host.extent[d];
  }
  host.buffer_size = stride;
  return host;
}

DeviceExecution::DeviceExecution(const RunContext& context) : context_(context) {
  const Environment& env = context.env;
  if (env.device && largest_block(context.bound) >= static_cast<double>(env.device_from))
    cache_ = std::make_unique<DeviceBlockCache>(*env.device, env.store.buffers(), env.device_direct,
                                                context.options.self_check);
}

void DeviceExecution::begin_prefetch() {
  if (!cache_) return;
  prefetch_ = std::make_unique<DevicePrefetch>(
      context_.env.store, *cache_, context_.env.device_messages_direct, context_.module.code.size(),
      [&bound = context_.bound](ArrayId array, const BlockIndex& block) { return fetched_block(bound, array, block); });
  context_.env.store.look_ahead().set_incoming(prefetch_.get());
}

void DeviceExecution::end() {
  if (!cache_) return;
  if (cache_->outgoing().sends())
    context_.env.store.update().drop_outgoing();  // only when an error unwinds: the program's end waits for its puts
  // Waits for what is on its way to the device, if an error unwinds.
  context_.env.store.look_ahead().set_incoming(nullptr);
  cache_.reset();  // waits for copies from and to what is released
}

void DeviceExecution::enter() {
  if (!cache_) return;
  cache_->operations().begin();
  active_ = true;
}

void DeviceExecution::leave() noexcept {
  if (!active_) return;
  active_ = false;
  cache_->operations().end();
}

void DeviceExecution::fail_check(const WrittenBlock& target, const WrongResult& wrong) const {
  const std::string block =
      target.array == no_array
          ? ""
          : fmt::format("block {}, ", block_name(context_.bound.arrays[target.array.at()], target.block));
  throw EnvironmentError(
      fmt::format("--self-check, rank {}: {}{}", context_.worker(), block, wrong.text),
      "results of this device cannot be trusted: check the GPU (memory errors, clocks, driver), or run with `--device host`");
}

void DeviceExecution::too_large(std::int64_t bytes, Statement here) {
  cache_->operations().record_on_host_instead();
  if (told_of_full_device_) return;
  told_of_full_device_ = true;
  context_.warn(fmt::format(
      "{}: the device has no room for the operands of this statement ({} bytes more are wanted); it runs on the host, as others may",
      context_.place_name(here), bytes));
}

void DeviceExecution::tell_if_full(Statement here) {
  const std::int64_t on_host = cache_ ? cache_->statistics().batched().on_host : 0;
  if (on_host == 0 || told_of_full_device_) return;
  told_of_full_device_ = true;
  context_.warn(fmt::format(
      "{}: the device had no room for the workspace of {} small operation{} up to here, which the host did, as it may others",
      context_.place_name(here), on_host, on_host == 1 ? "" : "s"));
}

void DeviceExecution::add_to(Stats& stats) const {
  const DeviceStats& s = cache_->stats();
  const BatchCount small = cache_->statistics().batched();
  const ResourceStats memory = cache_->device_memory();
  const PinnedCount pinned = context_.env.device->pinned();
  const TransferRow total = s.total();
  const std::optional<DeviceTimes> times = cache_->statistics().times();
  const DeviceTimes timed = times.value_or(DeviceTimes{});
  const auto take = [&](Counter counter, Combine how, double value) {
    stats[counter] = how == Combine::sum ? stats[counter] + value : std::max(stats[counter], value);
  };
#define TAKE(counter, how, ...) __VA_OPT__(take(Counter::counter, Combine::how, static_cast<double>(__VA_ARGS__));)
#define COUNTED_device(field) s.field
#define COUNTED_moved(field) s.field.transfers
#define COUNTED_moved_bytes(field) s.field.bytes
#define COUNTED_total(field) total.field.transfers
#define COUNTED_total_bytes(field) total.field.bytes
#define COUNTED_batch(field) small.field
#define COUNTED_timed(field) timed.field
#define COUNTED_memory(field) memory.field
#define COUNTER(number, name, unit, combine, by, meaning) TAKE(name, combine, COUNTED_##by)
#include "runtime/core/stats/counters.def"
  // These count from the beginning of the run.
#define COUNTED_pinned(field) pinned.field
#define COUNTER(number, name, unit, combine, by, meaning) TAKE(name, max, COUNTED_##by)
#include "runtime/core/stats/counters.def"
#undef TAKE
  stats[Counter::device_self_checks] += static_cast<double>(cache_->operations().self_checks());
  stats[Counter::device_on_host_instead] += static_cast<double>(s.on_host_instead + small.on_host);
  stats[Counter::device_starts] += static_cast<double>(cache_->statistics().starts());
  for (const auto& [key, row] : s.rows) {
    const SourcePlace& p = context_.module.places[static_cast<std::size_t>(key.first)];
    TransferCost& cost = stats.transfers.emplace_back();
    cost.program = context_.module.program;
    cost.file = context_.module.files.at(p.file);
    cost.array = context_.module.arrays.at(key.second.at()).name;
    cost.line = p.line;
#define TRANSFER_COST(field) cost.field = {row.field.transfers, row.field.bytes};
#include "runtime/core/stats/costs.def"
  }
}

}  // namespace sial
