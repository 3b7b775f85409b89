#include "runtime/core/interp/prefetch/use_forecast.h"

#include <algorithm>
#include <array>
#include <utility>

namespace sial {
namespace {

constexpr std::int64_t steps_at_begin = 200000, steps_between = 20000;  // of slices, at most
constexpr std::int64_t uses_between_looks = 256;
constexpr int max_loops_without_uses = 16;  // loops that follow one another
constexpr std::size_t max_left_out = 64;    // uses that were foreseen before the one that is made

}  // namespace

UseForecast::UseForecast(Program program, LoopSequence loops, BlockLookAhead& store)
    : p_(std::move(program)), sequence_(std::move(loops)), store_(store) {}

void UseForecast::begin(std::int32_t loop, Place place) {
  sequence_.begin(loop);
  if (running_) drop_front();
  if (store_.horizon() == 0) return drop_all();
  const bool expected = !loops_.empty() && loops_.front().loop == loop;
  if (!expected) {
    if (!loops_.empty()) reach_ = std::max(min_reach, std::min(reach_, store_.horizon()) / 2);
    drop_all();
    start(loop, &place);
  } else {
    reach_ = std::min(2 * reach_, max_reach);
  }
  running_ = true;
  set_made(loops_.front().first - 1);
  foresee(expected ? steps_between : steps_at_begin);
  tell_again();
}

void UseForecast::leave(std::int32_t loop) {
  if (is_running(loop)) drop_front();
}

void UseForecast::begin_at(std::int32_t loop, Place place) {
  drop_all();
  start(loop, &place);
  running_ = true;
  foresee(steps_at_begin);
}

void UseForecast::used(ArrayId array, const BlockIndex& block) {
  if (--until_look_ <= 0) foresee(steps_between);
  const Loop& l = loops_.front();
  const std::size_t next = made_ + 1 - l.first;
  std::uint64_t made = made_ + 1;
  const Key key{array, block};
  for (std::size_t i = next; i < std::min(next + max_left_out, l.blocks.size()); ++i) {
    if (blocks_[l.blocks[i]].key != key) continue;
    made = l.first + i;
    break;
  }
  pass_up_to(std::min(made, l.first + l.blocks.size() - 1));
}

void UseForecast::tell(ArrayId array, const BlockIndex& block, std::uint64_t told) {
  const auto found = by_key_.find({array, block});
  if (found == by_key_.end()) {
    store_.set_next_use(array, block, 0, ForeseenUse::get, told);
    return;
  }
  blocks_[found->second].told = told;
  tell(found->second);
}

/// The uses of one more loop; `place`: the loop runs already.
void UseForecast::start(std::int32_t loop, const Place* place) {
  loops_.push_back({loop, foreseen_ + 1, {}});
  const BoundSlice* slice = p_.slice(loop);
  open_ = slice && !slice->empty();
  if (!open_) return;
  cursor_ = SliceCursor(*slice);
  p_.load(cursor_);
  inside_ = false;
  if (!slice->parallel()) {
    if (place) cursor_.begin_at(static_cast<std::int32_t>(place->at));
    else cursor_.begin();
    return;
  }
  const auto pardo = p_.pardo(loop);
  open_ = pardo.has_value();
  if (!open_) return;
  share_ = LoopShare(*pardo);
  if (place) share_.resume(place->at, place->end);
}

bool UseForecast::enter_next() {
  std::array<std::int32_t, max_rank> values{};
  std::int64_t tuple = 0;
  if (cursor_.ended() || !share_.next(tuple)) return open_ = false;
  share_.space().at(tuple, [&](std::size_t d, std::int32_t value) { values[d] = value; });
  inside_ = cursor_.enter(std::span(values).first(share_.space().rank()));
  return true;
}

/// Goes as far as the store wants to know.
void UseForecast::foresee(std::int64_t steps) {
  until_look_ = uses_between_looks;
  const std::size_t horizon = std::min(store_.horizon(), reach_);
  int without_uses = 0;
  while (foreseen_ - made_ < horizon && steps > 0) {
    if (!open_) {
      if (loops_.back().blocks.empty() && ++without_uses > max_loops_without_uses) return;
      const std::int32_t before = loops_.size() > 1 ? loops_[loops_.size() - 2].loop : sequence_.before_last();
      const std::int32_t next = sequence_.after(before, loops_.back().loop);
      if (next == LoopSequence::none) return;
      start(next, nullptr);
      --steps;
      continue;
    }
    if (cursor_.slice()->parallel() && !inside_) {
      enter_next();
      --steps;
      continue;
    }
    FetchRequest request;
    switch (cursor_.next(request, steps)) {
      case SliceOutcome::fetch: add(request); break;
      case SliceOutcome::done:
      case SliceOutcome::abandoned:
        inside_ = false;
        if (!cursor_.slice()->parallel() && cursor_.ended()) open_ = false;
        --steps;
        break;
      case SliceOutcome::paused: return;
      case SliceOutcome::ended: open_ = false; break;
    }
  }
}

std::uint32_t UseForecast::new_use() {
  if (free_uses_ == none) {
    uses_.emplace_back();
    return static_cast<std::uint32_t>(uses_.size() - 1);
  }
  return std::exchange(free_uses_, uses_[free_uses_].next);
}

std::uint32_t UseForecast::block_of(const Key& key) {
  const auto [found, is_new] = by_key_.try_emplace(key, 0);
  if (!is_new) return found->second;
  if (free_blocks_.empty()) {
    free_blocks_.push_back(static_cast<std::uint32_t>(blocks_.size()));
    blocks_.emplace_back();
  }
  found->second = free_blocks_.back();
  free_blocks_.pop_back();
  Block& block = blocks_[found->second];
  block = {key, none, none, 0, false, block.listed};
  return found->second;
}

void UseForecast::add(const FetchRequest& request) {
  const std::uint32_t b = block_of({request.array, request.block}), u = new_use();
  uses_[u] = {++foreseen_, none, request.use};
  loops_.back().blocks.push_back(b);
  Block& block = blocks_[b];
  if (block.first == none) block.first = u;
  else uses_[block.last].next = u;
  block.last = u;
  if (block.first == u) tell(b);
}

void UseForecast::tell(std::uint32_t b) {
  Block& block = blocks_[b];
  const Use& use = uses_[block.first];
  const auto told = store_.set_next_use(block.key.array, block.key.block, std::max(use.number, made_ + 1) - made_,
                                        use.use, block.told);
  block.known = told.has_value();
  block.told = told.value_or(0);
  if (block.known || block.listed) return;
  block.listed = true;
  untold_.push_back(b);
}

/// By now others may have put them.
void UseForecast::tell_again() {
  for (const std::uint32_t b : std::exchange(untold_, {})) {
    blocks_[b].listed = false;
    if (blocks_[b].first != none && !blocks_[b].known) tell(b);
  }
}

void UseForecast::set_made(std::uint64_t number) {
  if (number <= made_) return;
  store_.pass_foreseen(number - made_);
  made_ = number;
}

/// Uses up to this one, of the running loop, were made, or will not be.
void UseForecast::pass_up_to(std::uint64_t number) {
  set_made(number);
  const Loop& l = loops_.front();
  for (; passed_ < l.blocks.size() && l.first + passed_ <= made_; ++passed_) {
    const std::uint32_t b = l.blocks[passed_];
    Block& block = blocks_[b];
    const std::uint32_t u = block.first;
    block.first = std::exchange(uses_[u].next, std::exchange(free_uses_, u));
    if (block.first != none) {
      tell(b);
      continue;
    }
    if (block.told != 0) store_.set_next_use(block.key.array, block.key.block, 0, ForeseenUse::get, block.told);
    by_key_.erase(block.key);
    free_blocks_.push_back(b);
  }
}

void UseForecast::drop_front() {
  const Loop& l = loops_.front();
  pass_up_to(l.first + l.blocks.size() - 1);
  passed_ = 0;
  loops_.pop_front();
  running_ = false;
  if (loops_.empty()) open_ = false;
}

void UseForecast::drop_all() {
  while (!loops_.empty()) drop_front();
}

}  // namespace sial
