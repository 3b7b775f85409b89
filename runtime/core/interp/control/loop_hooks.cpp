#include "runtime/core/interp/control/loop_hooks.h"

namespace sial {

LoopHooks::LoopHooks(const RunContext& context, const Registers& registers, const Position& position,
                     const LoopStack& loops, PardoRun& pardo, const Statics& statics)
    : context_(context), registers_(registers), loops_(loops), pardo_(pardo), statics_(statics) {
  if (!context.options.check_slices || context.module.slices.empty()) return;
  check_ = std::make_unique<SliceCheck>(SliceCheck::Program{
      context.module, registers.ints(), registers.scalars(), registers.index_values(), index_ranges(context.bound),
      [&statics, &position](ArrayId array) { return statics.table(array, position.current()); }});
}

/// Whether blocks are to go into the cache before their use: where all of them together do not fit there, or look-ahead
/// is asked for by a number.
bool LoopHooks::cache_prefetch_pays() const {
  if (context_.options.look_ahead.blocks != LookAheadDepth::automatic) return true;
  double bytes = 0;
  for (const BoundArray& array : context_.bound.arrays)
    if (is_remote(array.kind) && array.problem.empty()) bytes += 8.0 * static_cast<double>(array.whole.size());
  return bytes > static_cast<double>(kernels::last_level_cache_bytes());
}

/// Statics that a slice reads are not written in its loop, and stay where they are.
void LoopHooks::begin_look_ahead(DevicePrefetch* to_device) {
  const Environment& env = context_.env;
  const BoundProgram& bound = context_.bound;
  if (context_.module.slices.empty() || context_.options.look_ahead.blocks == 0) return;
  if (!to_device && cache_prefetch_pays())
    cache_prefetch_ = std::make_unique<CachePrefetcher>(env.store.look_ahead(), env.store.buffers(), env.kernels);
  const bool several_nodes = env.transport.node_count() > 1;
  const bool has_tiers = env.store.monitor().spill_capacity() > 0;
  if (!several_nodes && !has_tiers && !to_device && !cache_prefetch_) return;
  const auto elements = [&bound](ArrayId array, const BlockIndex& block) {
    std::int64_t n = 1;
    for (int d = 0; d < block.rank; ++d) n *= bound.arrays[array.at()].dim[d].extent_of(block.segment[d]);
    return n;
  };
  look_ahead_ = std::make_unique<LookAhead>(
      LookAhead::Program{
          context_.module, registers_.ints(), registers_.scalars(), registers_.index_values(), index_ranges(bound),
          [this](ArrayId array) -> const double* { return statics_.find(array); }, elements,
          [this] { return pardo_.position(); }, [this](std::int32_t loop) { return pardo_.upcoming(loop); },
          [this](std::int64_t least) { return pardo_.reserve(least); }, [this] { return context_.now(); },
          context_.sequence, several_nodes, has_tiers, to_device, cache_prefetch_.get()},
      env.store.look_ahead(), env.store.monitor(), context_.options.look_ahead);
}

void LoopHooks::check_use(Statement here, ArrayId array, const BlockIndex& block) {
  if (check_->follows(here.pc, loops_.call_places())) check_->use(here.pc, array, block);
}

void LoopHooks::add_to(Stats& stats) const {
  if (cache_prefetch_) stats[Counter::cache_prefetches] += static_cast<double>(cache_prefetch_->blocks());
}

}  // namespace sial
