#include "runtime/core/interp/control/slice_check.h"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/core/base/check.h"

namespace sial {

SliceCheck::SliceCheck(Program program)
    : p_(std::move(program)), slice_of_loop_(p_.module.loops.size(), -1), slices_(p_.module.slices.size()) {
  for (std::size_t s = 0; s < slices_.size(); ++s)
    slice_of_loop_[static_cast<std::size_t>(p_.module.slices[s].loop)] = static_cast<std::int32_t>(s);
}

void SliceCheck::open(std::int32_t loop, std::size_t calls) {
  const std::int32_t slice = slice_of_loop_[static_cast<std::size_t>(loop)];
  if (loop_ >= 0 || slice < 0) return;
  std::optional<BoundSlice>& bound = slices_[static_cast<std::size_t>(slice)];
  if (!bound) bound.emplace(p_.module, slice, p_.ranges, p_.statics, SliceUses::gets_and_puts);
  loop_ = loop;
  calls_ = calls;
  cursor_ = SliceCursor(*bound);
  cursor_.load(p_.ints, p_.scalars, p_.index_values);
  abandoned_ = in_iteration_ = false;
  put_.clear();
  if (!bound->parallel()) cursor_.begin();
}

void SliceCheck::iteration(std::int32_t loop) {
  if (loop != loop_) return;
  abandoned_ = false;
  in_iteration_ = true;
  if (!cursor_.slice()->parallel() || cursor_.ended()) return;
  std::vector<std::int32_t> tuple;
  for (const IndexId i : p_.module.loops[static_cast<std::size_t>(loop)].indices)
    tuple.push_back(p_.index_values[i.at()]);
  const bool entered = cursor_.enter(tuple);
  SIAL_CHECK(entered || cursor_.ended(),
             "the slice of loop {} leaves out the iteration ({}), which the program carries out", loop,
             fmt::join(tuple, ","));
}

void SliceCheck::filtered(std::int32_t loop) {
  if (loop != loop_ || !cursor_.slice()->parallel() || cursor_.ended()) return;
  std::vector<std::int32_t> tuple;
  for (const IndexId i : p_.module.loops[static_cast<std::size_t>(loop)].indices)
    tuple.push_back(p_.index_values[i.at()]);
  SIAL_CHECK(!cursor_.enter(tuple), "the slice of loop {} carries out the iteration ({}), which the program leaves out",
             loop, fmt::join(tuple, ","));
}

bool SliceCheck::follows(std::int32_t pc, const std::vector<std::int32_t>& calls) const {
  if (loop_ < 0 || !in_iteration_ || abandoned_ || cursor_.ended()) return false;
  // A procedure may be called where the slice goes, and elsewhere where it does not.
  const auto& steps = p_.module.slices[static_cast<std::size_t>(slice_of_loop_[static_cast<std::size_t>(loop_)])].steps;
  for (std::size_t k = calls_; k < calls.size(); ++k) {
    const auto it = std::lower_bound(steps.begin(), steps.end(), calls[k],
                                     [](const SliceStep& s, std::int32_t p) { return s.pc < p; });
    if (it == steps.end() || it->pc != calls[k] || it->action != SliceAction::run) return false;
  }
  const auto& fetches = cursor_.slice()->fetches();
  return std::any_of(fetches.begin(), fetches.end(), [&](const SliceFetch& f) { return f.pc == pc && f.range > 1; });
}

SliceOutcome SliceCheck::pull(FetchRequest& request) {
  for (;;) {
    std::int64_t budget = 7;  // small: pauses are tested as well
    const SliceOutcome outcome = cursor_.next(request, budget);
    if (outcome != SliceOutcome::paused) return outcome;
  }
}

std::string SliceCheck::text(ArrayId array, const BlockIndex& block) const {
  return fmt::format("{}[{}]", p_.module.arrays[array.at()].name,
                     fmt::join(block.segment.begin(), block.segment.begin() + block.rank, ","));
}

void SliceCheck::use(std::int32_t pc, ArrayId array, const BlockIndex& block) {
  FetchRequest request;
  for (;;) {
    switch (pull(request)) {
      case SliceOutcome::fetch:
        SIAL_CHECK(request.pc == pc && request.array == array && request.block == block,
                   "the slice of loop {} asks for {} of instruction {}, and the program uses {} at instruction {}",
                   loop_, text(request.array, request.block), request.pc, text(array, block), pc);
        SIAL_CHECK(request.use != ForeseenUse::get || !put_.contains({array, block}),
                   "the slice of loop {} asks for {} at instruction {} ahead of the program, which puts it first",
                   loop_, text(array, block), pc);
        ++compared_;
        return;
      case SliceOutcome::abandoned: {
        // A serial loop may have abandoned an earlier iteration after its last get.
        const std::int32_t now = p_.index_values[p_.module.loops[static_cast<std::size_t>(loop_)].indices[0].at()];
        if (!cursor_.slice()->parallel() && cursor_.iteration() != now) continue;
        abandoned_ = true;
        return;
      }
      case SliceOutcome::ended: return;
      case SliceOutcome::done:
        SIAL_CHECK(false, "the slice of loop {} is done, and the program uses {} at instruction {}", loop_,
                   text(array, block), pc);
      case SliceOutcome::paused: break;
    }
  }
}

void SliceCheck::put(ArrayId array, const BlockIndex& block) {
  if (loop_ >= 0) put_.emplace(array, block);
}

void SliceCheck::expect_nothing(const char* when) {
  FetchRequest request;
  const SliceOutcome outcome = pull(request);
  SIAL_CHECK(outcome != SliceOutcome::fetch, "the slice of loop {} asks for {} of instruction {} {}", loop_,
             text(request.array, request.block), request.pc, when);
}

void SliceCheck::iteration_over(std::int32_t loop) {
  if (loop != loop_ || !cursor_.slice()->parallel() || !in_iteration_) return;
  in_iteration_ = false;
  if (!abandoned_) expect_nothing("at the end of an iteration");
}

void SliceCheck::leave(std::int32_t loop) {
  if (loop != loop_) return;
  if (cursor_.slice()->parallel()) {
    if (in_iteration_ && !abandoned_) expect_nothing("when the loop is left");
  } else {
    // The rest of a serial loop's iterations were abandoned; one that leaves the loop ends its slice.
    while (!cursor_.ended()) expect_nothing("when the loop is left");
  }
  loop_ = -1;
}

}  // namespace sial
