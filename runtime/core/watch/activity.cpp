#include "runtime/core/watch/activity.h"

#include <utility>

#include <fmt/format.h>

namespace sial {

namespace {

std::string in_brackets(const std::string& place) { return place.empty() ? place : fmt::format(" ({})", place); }

}  // namespace

void RankActivity::set_wait(const WaitReason& reason, Clock::time_point began) {
  current_ = reason;
  current_began_ = began;
  wait_.publish({reason, began.time_since_epoch().count()});
}

ActivitySnapshot RankActivity::snapshot() const {
  ActivitySnapshot s;
  s.statements = statements_.load(std::memory_order_relaxed);
  s.collectives = collectives_.load(std::memory_order_relaxed);
  s.place = {program_.load(std::memory_order_relaxed), pc_.load(std::memory_order_relaxed)};
  if (const auto wait = wait_.read()) {
    s.wait = wait->reason;
    s.wait_began = Clock::time_point(Clock::duration(wait->began));
  }
  constexpr Clock::duration recently = std::chrono::milliseconds(200);
  const Clock::time_point paused{Clock::duration(paused_.load(std::memory_order_relaxed))};
  if (s.wait.kind == WaitKind::none && Clock::now() - paused < recently) {
    s.wait.kind = WaitKind::other;
    s.wait_began = Clock::time_point(Clock::duration(pause_began_.load(std::memory_order_relaxed)));
  }
  return s;
}

void RankActivity::set_namer(ActivityNamer namer) {
  const std::lock_guard lock(mutex_);
  namer_ = std::move(namer);
}

void RankActivity::set_advice(std::string advice) {
  const std::lock_guard lock(mutex_);
  advice_ = std::move(advice);
}

std::string RankActivity::advice() const {
  const std::lock_guard lock(mutex_);
  return advice_;
}

std::string RankActivity::describe(const ActivitySnapshot& s) const {
  const std::lock_guard lock(mutex_);
  const auto place = [&](Place at) { return namer_.place && at.pc >= 0 ? namer_.place(at) : std::string(); };
  const auto block = [&] {
    return namer_.block ? namer_.block(s.wait.array, s.wait.block) : fmt::format("a block of array {}", s.wait.array);
  };
  const std::string here = in_brackets(place(s.place));
  const std::string of_peer = s.wait.peer >= 0 ? fmt::format(" of rank {}", s.wait.peer) : std::string();
  switch (s.wait.kind) {
    case WaitKind::none: break;
    case WaitKind::collective: {
      const std::string at = in_brackets(place({s.wait.program, s.wait.pc}));
      return fmt::format("waits at {}{}", namer_.collective ? namer_.collective(s.wait.collective) : "a collective",
                         at.empty() ? here : at);
    }
    case WaitKind::reply: return fmt::format("waits for a reply{}{}", of_peer, here);
    case WaitKind::block: return fmt::format("waits for block {}{}{}", block(), of_peer, here);
    case WaitKind::block_in_tier: return fmt::format("waits for block {} to come back into memory{}", block(), here);
    case WaitKind::block_lock: return fmt::format("waits for block {}, which another rank works on{}", block(), here);
    case WaitKind::other: return fmt::format("waits for a lock or for memory that others use{}", here);
  }
  return s.place.pc < 0 ? "runs no statement" : fmt::format("executes a statement{}", here);
}

Waiting::Waiting(RankActivity& activity, const WaitReason& reason)
    : activity_(activity), outer_(activity.current_), outer_began_(activity.current_began_) {
  activity_.moved();
  activity_.set_wait(reason, RankActivity::Clock::now());
}

Waiting::~Waiting() {
  activity_.moved();
  activity_.set_wait(outer_, outer_began_);
}

WaitReason wait_for_collective(std::int32_t kind, Place place, std::int64_t sequence) {
  WaitReason reason;
  reason.kind = WaitKind::collective;
  reason.collective = kind;
  reason.program = place.program;
  reason.pc = place.pc;
  reason.sequence = sequence;
  return reason;
}

WaitReason wait_for_reply(int peer) {
  WaitReason reason;
  reason.kind = WaitKind::reply;
  reason.peer = peer;
  return reason;
}

WaitReason wait_for_block(WaitKind kind, std::uint64_t array, const BlockIndex& block, int peer) {
  WaitReason reason;
  reason.kind = kind;
  reason.peer = peer;
  reason.array = array;
  reason.block = block;
  return reason;
}

}  // namespace sial
