#include "runtime/core/interp/prefetch/lookahead.h"

#include <algorithm>
#include <cmath>

#include "runtime/core/base/iteration_shares.h"
#include "runtime/core/interp/prefetch/look_ahead_depth.h"

namespace sial {
namespace {

constexpr int first_depth = 8, max_depth = 128;
constexpr std::int64_t steps_per_call = 2000;  // of the slice
constexpr std::size_t max_foreseen = 512;      // gets foreseen; many of them need no prefetch
constexpr std::size_t max_searched = 64;
constexpr std::size_t min_offered = 4;           // gets ahead, whatever their blocks take
constexpr int max_on_their_way = 2;              // that are looked at before those after them
constexpr std::int64_t gets_between_looks = 16;  // at how it goes

}  // namespace

LookAhead::LookAhead(Program program, BlockLookAhead& store, const StoreMonitor& monitor, LookAheadDepth depth)
    : p_(std::move(program)),
      store_(store),
      monitor_(monitor),
      automatic_(depth.blocks == LookAheadDepth::automatic),
      depth_(automatic_ ? first_depth : depth.blocks),
      max_foreseen_(p_.remote ? max_foreseen : static_cast<std::size_t>(depth_)),
      slice_of_loop_(p_.module.loops.size(), -1),
      slices_(p_.module.slices.size()) {
  for (std::size_t s = 0; s < slices_.size(); ++s)
    slice_of_loop_[static_cast<std::size_t>(p_.module.slices[s].loop)] = static_cast<std::int32_t>(s);
  if (!p_.tiers) return;
  std::vector<bool> counts;
  for (const std::int32_t slice : slice_of_loop_) counts.push_back(slice >= 0);
  forecast_.emplace(
      UseForecast::Program{[this](std::int32_t loop) { return &bound(loop); },
                           [this](SliceCursor& cursor) { cursor.load(p_.ints, p_.scalars, p_.index_values); },
                           p_.upcoming_pardo},
      LoopSequence(p_.module, std::move(counts)), store);
}

const BoundSlice& LookAhead::bound(std::int32_t loop) {
  const std::int32_t slice = slice_of_loop_[static_cast<std::size_t>(loop)];
  std::optional<BoundSlice>& bound = slices_[static_cast<std::size_t>(slice)];
  if (!bound)
    bound.emplace(p_.module, slice, p_.ranges, p_.statics, in_tiers_ ? SliceUses::gets_and_puts : SliceUses::gets);
  return *bound;
}

/// Blocks have begun to leave memory: puts are foreseen as well from now on.
void LookAhead::record_tiers() {
  stop();
  forecast_->end();  // another rank may have begun a moment ago: it may have foreseen uses of the slices as they were
  in_tiers_ = true;
  slices_.assign(slices_.size(), std::nullopt);
  cursor_ = {};
  max_foreseen_ = max_foreseen;
}

void LookAhead::start(std::int32_t loop) {
  const BoundSlice& slice = bound(loop);
  loop_ = -1;
  if (slice.empty()) return;
  loop_ = loop;
  if (cursor_.slice() != &slice) cursor_ = SliceCursor(slice);
  iterations_ = 0;
  if (forecast_) forecast_->begin(loop, place());
  tells_ = in_tiers_ && parallel() && p_.pardo().workers > 1;
  store_.set_live_set_known(false);
  begin_here();
}

/// From the iteration that the program is in.
void LookAhead::begin_here() {
  while (!foreseen_.empty()) drop_first(1);
  turns_.clear();
  asked_ = next_ = 0;
  offered_bytes_ = 0;
  drained_ = false;
  cursor_.load(p_.ints, p_.scalars, p_.index_values);
  if (!parallel()) {
    cursor_.begin_at(static_cast<std::int32_t>(present_tuple()));
    return;
  }
  const PardoPosition at = p_.pardo();
  at_ = at.at;
  end_ = at.end;
  counter_ = at.counter;
  std::array<std::int32_t, max_rank> values{};
  const std::vector<IndexId>& indices = p_.module.loops[static_cast<std::size_t>(loop_)].indices;
  for (std::size_t d = 0; d < indices.size(); ++d) values[d] = p_.index_values[indices[d].at()];
  present_turn_ = ++turn_;
  inside_ = cursor_.enter(std::span(values).first(indices.size()));
}

std::int64_t LookAhead::present_tuple() const {
  if (parallel()) return p_.pardo().at - 1;
  return p_.index_values[p_.module.loops[static_cast<std::size_t>(loop_)].indices[0].at()];
}

UseForecast::Place LookAhead::place() const {
  if (!parallel()) return {present_tuple(), 0};
  const PardoPosition at = p_.pardo();
  return {at.at - 1, at.end};
}

void LookAhead::iteration(std::int32_t loop) {
  if (p_.tiers && !in_tiers_ && store_.horizon() > 0) record_tiers();
  if (loop_ < 0 || (loop_ != loop && cursor_.ended() && foreseen_.empty())) {
    start(loop);
    return;
  }
  if (loop != loop_) return;
  if (++iterations_ == 1) store_.set_live_set_known(true);  // one is complete
  const std::int64_t tuple = present_tuple();
  if (!parallel()) {
    drop_before(tuple);
    if (foreseen_.empty() && (cursor_.ended() || cursor_.iteration() < tuple)) begin_here();
  } else {
    while (!turns_.empty() && turns_.front().tuple != tuple) turns_.pop_front();
    if (turns_.empty()) {
      begin_here();
    } else {
      present_turn_ = turns_.front().number;
      drop_before(present_turn_);
      turns_.pop_front();
    }
  }
  drained_ = false;
  advance();
}

void LookAhead::leave(std::int32_t loop) {
  if (loop != loop_) return;
  stop();
  if (forecast_) forecast_->leave(loop);
}

void LookAhead::drop_before(std::int64_t turn) {
  while (!foreseen_.empty() && foreseen_.front().turn < turn) drop_first(1);
}

void LookAhead::drop_first(std::size_t n) {
  for (; n > 0; --n) {
    const Foreseen& first = foreseen_.front();
    asked_ -= first.asked ? 1 : 0;
    if (next_ > 0) {
      --next_;
      offered_bytes_ -= first.offered;
    }
    if (first.told != 0) forecast_->tell(first.request.array, first.request.block, first.told);
    if (!replaces_.empty() && replaces_.front() == &first) replaces_.pop_front();
    foreseen_.pop_front();
  }
}

void LookAhead::get(std::int32_t pc, ArrayId array, const BlockIndex& block) {
  if (p_.to_device) p_.to_device->get();
  used(pc, array, block);
}

void LookAhead::used(std::int32_t pc, ArrayId array, const BlockIndex& block) {
  if (loop_ < 0) return;
  std::int64_t steps = steps_per_call;
  const std::int64_t turn = parallel() ? present_turn_ : present_tuple();
  const auto& fetches = cursor_.slice()->fetches();
  const bool foreseen = std::any_of(fetches.begin(), fetches.end(), [pc](const SliceFetch& f) { return f.pc == pc; });
  // One that is not found is one that the slice leaves out here.
  for (std::size_t i = 0; foreseen && i < max_searched; ++i) {
    if (i == foreseen_.size() && ((i > 0 && foreseen_.back().turn > turn) || !produce(steps))) break;
    const FetchRequest& request = foreseen_[i].request;
    if (request.pc != pc || request.array != array || request.block != block) continue;
    const bool counts = needs_value(request.use);
    drop_first(i + 1);
    if (in_tiers_) pass(array, block);
    if (counts && ++gets_ % gets_between_looks == 0) adapt();
    break;
  }
  advance();
}

void LookAhead::pass(ArrayId array, const BlockIndex& block) {
  if (forecast_->is_running(loop_)) forecast_->used(array, block);
  else if (forecast_->is_wanted()) forecast_->begin_at(loop_, place());
}

/// Foresees one more get or put.
bool LookAhead::produce(std::int64_t& steps) {
  while (steps > 0) {
    if (parallel() && !inside_ && !enter_next()) return false;
    FetchRequest request;
    switch (cursor_.next(request, steps)) {
      case SliceOutcome::fetch:
        foreseen_.push_back({request, p_.elements(request.array, request.block),
                             parallel() ? turn_ : cursor_.iteration(), ++n_foreseen_});
        if (request.use == ForeseenUse::replace) replaces_.push_back(&foreseen_.back());
        return true;
      case SliceOutcome::done:
      case SliceOutcome::abandoned:
        if (!parallel() && cursor_.ended()) return false;
        inside_ = false;
        --steps;
        break;
      case SliceOutcome::paused:
      case SliceOutcome::ended: return false;
    }
  }
  return false;
}

/// The next iteration of a pardo that this rank will run.
bool LookAhead::enter_next() {
  std::array<std::int32_t, max_rank> values{};
  const PardoPosition here = p_.pardo();
  for (int filtered = 0; filtered < 1000; ++filtered) {
    std::int64_t tuple = 0;
    if (cursor_.ended() || !next_tuple(tuple)) return false;
    const auto mine = [&] { return cyclic_owner(counter_, here.workers) == here.worker; };
    if (here.mode == PardoMode::cyclic_raw && !mine()) continue;
    here.space.at(tuple, [&](std::size_t d, std::int32_t value) { values[d] = value; });
    if (!cursor_.enter(std::span(values).first(here.space.rank()))) continue;
    if (here.mode == PardoMode::cyclic && !mine()) continue;
    turns_.push_back({++turn_, tuple});
    return inside_ = true;
  }
  return false;
}

bool LookAhead::next_tuple(std::int64_t& tuple) {
  if (at_ == end_) {
    const PardoPosition here = p_.pardo();
    // Iterations that were set aside have to be drawn before more can be.
    if (here.mode != PardoMode::dynamic || drained_ || here.end != end_) return false;
    const auto range = p_.reserve(gets_in_a_fetch_);
    if (!range) {
      drained_ = true;
      return false;
    }
    at_ = range->first;
    end_ = range->last;
  }
  tuple = at_++;
  return true;
}

/// A block that is replaced before its use is not read.
bool LookAhead::is_replaced_before(const Foreseen& use) const {
  for (const Foreseen* c : replaces_) {
    if (c->number >= use.number) return false;
    if (c->request.array == use.request.array && c->request.block == use.request.block) return true;
  }
  return false;
}

Prefetch LookAhead::request(const Foreseen& foreseen) {
  const auto& [pc, array, block, use] = foreseen.request;
  if (!in_tiers_ && !p_.remote) return Prefetch::here;
  if (in_tiers_ && (use == ForeseenUse::replace || is_replaced_before(foreseen))) return Prefetch::here;
  return use == ForeseenUse::get ? store_.prefetch(array, block, foreseen.elements, {p_.sequence, pc})
                                 : store_.prefetch_to_change(array, block);
}

bool LookAhead::ask(Foreseen& foreseen) {
  const Prefetch answer = request(foreseen);
  if (answer == Prefetch::full) return false;
  if (answer == Prefetch::started) {
    foreseen.asked = true;
    ++asked_;
    block_bytes_ = foreseen.elements * 8;
  }
  if (tells_ && store_.horizon() > 0)
    foreseen.told =
        store_.set_next_use(foreseen.request.array, foreseen.request.block, next_ + 1, foreseen.request.use, 0)
            .value_or(0);
  if (foreseen.request.use == ForeseenUse::get || foreseen.asked) foreseen.offered = foreseen.elements * 8;
  return true;
}

void LookAhead::advance() {
  std::int64_t steps = steps_per_call;
  const std::int64_t max_bytes = store_.bytes_ahead();
  while (asked_ < static_cast<std::size_t>(depth_)) {
    if (next_ == foreseen_.size() && (foreseen_.size() >= max_foreseen_ || !produce(steps))) break;
    if (next_ >= min_offered && offered_bytes_ > max_bytes) break;
    if (!ask(foreseen_[next_])) break;
    offered_bytes_ += foreseen_[next_].offered;
    ++next_;
  }
  if (p_.to_device) prefetch_to_device();
  if (p_.to_cache) prefetch_to_cache();
}

/// Into the cache, the nearest first, for as much as it holds beside what is computed.
void LookAhead::prefetch_to_cache() {
  const std::size_t n = std::min(foreseen_.size(), CachePrefetcher::max_blocks);
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < n; ++i) {
    Foreseen& foreseen = foreseen_[i];
    if (foreseen.request.use != ForeseenUse::get) continue;
    bytes += foreseen.elements * 8;
    if (bytes > CachePrefetcher::max_bytes) return;
    if (!foreseen.done) foreseen.done = p_.to_cache->offer(foreseen.request, foreseen.elements);
  }
}

/// To the device, the nearest first.
void LookAhead::prefetch_to_device() {
  const std::size_t n = std::min(foreseen_.size(), static_cast<std::size_t>(depth_));
  int on_their_way = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (foreseen_[i].done || foreseen_[i].request.use != ForeseenUse::get) continue;
    switch (p_.to_device->offer(foreseen_[i].request, static_cast<std::int64_t>(i) + 1)) {
      case DevicePrefetch::Outcome::done: foreseen_[i].done = true; break;
      case DevicePrefetch::Outcome::unwanted: break;
      case DevicePrefetch::Outcome::under_way:
        if (++on_their_way == max_on_their_way) return;
        break;
      case DevicePrefetch::Outcome::full: return;
    }
  }
}

/// Keeps as many blocks ahead as are used up while one is fetched, and more when that turns out to be too late: the
/// owner has others to serve. Fewer when blocks have to be given up unused.
void LookAhead::adapt() {
  const StoreStats now = monitor_.stats();
  const double time = p_.now();
  const std::int64_t all_late = now.prefetches_late + now.tier.prefetches_late;
  const std::int64_t all_useless = now.prefetches_useless + now.tier.prefetches_useless;
  const std::int64_t late = all_late - late_, useless = all_useless - useless_;
  const double busy = (time - since_) - (now.fetch_wait_seconds - waited_);
  const bool first = since_ == 0;
  late_ = all_late;
  useless_ = all_useless;
  since_ = time;
  waited_ = now.fetch_wait_seconds;
  if (!automatic_ || first || block_bytes_ == 0) return;
  const double per_get = std::max(busy, 1e-9) / static_cast<double>(gets_between_looks);
  gets_in_a_fetch_ =
      static_cast<std::int64_t>(std::min<double>(max_depth, std::ceil(store_.fetch_seconds(block_bytes_) / per_get)));
  const double needed = std::min<double>(max_depth, static_cast<double>(gets_in_a_fetch_) + 2);
  depth_ = std::max(depth_, static_cast<int>(needed));
  if (late > 0) depth_ *= 2;
  else if (useless > gets_between_looks / 8) depth_ = std::max(static_cast<int>(needed), depth_ / 2);
  depth_ = std::clamp(depth_, 2, max_depth);
}

}  // namespace sial
