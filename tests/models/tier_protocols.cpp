// Blocks that leave memory for a tier: runtime/core/store/spill.

#include <array>

#include "tests/models/protocols.h"

namespace sial::models {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto acquire = std::memory_order_acquire;
constexpr auto release = std::memory_order_release;
constexpr const char* spilled_cpp = "runtime/core/store/spill/spilled_blocks.cpp";
constexpr const char* area_cpp = "runtime/core/store/spill/spill_area.cpp";
constexpr const char* area_h = "runtime/core/store/spill/spill_area.h";
constexpr const char* heap_cpp = "runtime/core/memory/node_heap.cpp";

constexpr Value empty = 0, writing = 1, written = 2, failed = 3;

/// TierCopy of a value that two blocks share, whose ranks both begin to write it (begin_write), which the tier's thread
/// ends, or fails (Transfer::completed). One rank changes its block's value then (discard_tier_copy); the other lets it
/// leave memory if it is written (send_away), and reads it back (begin_read).
class TierCopies final : public Protocol {
 public:
  explicit TierCopies(Weakening w = {}) : Protocol(std::move(w)) {
    const char* hint = "only chooses what to do: drop_user() and the entry's lock bring the order";
    keep("begin_write, failed", relaxed, hint);
    keep("may_leave", relaxed, "only chooses what leaves: drop_reference() brings the order");
    keep("send_away", relaxed, "begin_read() reads the state again with acquire");
    keep("begin_read", relaxed, "who let the value go has read the state with acquire, under the entry's lock");
    keep("begin_write", acquire, "nothing is read behind the state `writing`");
    weaken_together({{"send_away", relaxed}, {"begin_read", relaxed}});
  }
  int threads() const override { return 3; }
  Task<> run(Thread& t) const override {
    return t.number() == 0 ? changes(t) : t.number() == 1 ? leaves(t) : tier_thread(t);
  }
  std::string at_end(const Memory& m) const override {
    if (m.value(chunk_freed) != 1) return "the value's chunk is freed twice, or never";
    return m.value(copy_freed) == 1 ? "" : "the copy is given back twice, or never";
  }

 private:
  Task<> changes(Thread& t) const {
    Value expected = empty;
    const bool writes = co_await t.compare(state, expected, writing, begin_write);
    if (writes) co_await write(t);
    co_await drop_chunk(t);
    co_await drop_copy(t);
  }
  Task<> leaves(Thread& t) const {
    const Value before = co_await t.load(state, begin_failed);
    if (before != failed) {
      Value expected = empty;
      const bool writes = co_await t.compare(state, expected, writing, begin_write);
      if (writes) co_await write(t);
    }
    const Value held = co_await t.load(references, may_leave);
    const Value sharers = co_await t.load(users, relaxed);
    const Value now = co_await t.load(state, send_away);
    co_await drop_chunk(t);
    if (held <= sharers && now == written) {
      const Value again = co_await t.load(state, begin_read);
      t.require(again == written, "a value has left memory that was not written");
      const Value p = co_await t.read(place);
      t.require(p == 5, "the copy's place is known");
      const Value v = co_await t.read(disk);
      t.require(v == 7, "the value is in the tier");
    }
    co_await drop_copy(t);
  }
  Task<> write(Thread& t) const {
    const Value space = co_await t.read(bytes);
    t.require(space == 0, "a copy has a part of a tier already");
    const Value which = co_await t.choose(3);
    if (which == 0) {  // no room
      co_await t.store(state, empty, no_room);
      co_return;
    }
    if (which == 1) {  // the tier cannot reserve what it has promised
      co_await t.store(state, empty, no_reserve);
      co_return;
    }
    co_await t.write(place, 5);
    co_await t.write(bytes, 1);
    co_await t.add(references, 1, relaxed);
    co_await t.add(users, 1, add_user);
    co_await t.store(queued, 1, release);
  }
  Task<> tier_thread(Thread& t) const {
    co_await t.perhaps_equal(queued, 1, acquire);  // where somebody has begun to write
    const Value p = co_await t.read(place);
    t.require(p == 5, "a copy is written whose place was given back");
    const Value v = co_await t.read(data);
    t.require(v == 7, "a value is written that was freed");
    const Value fails = co_await t.choose(2);
    if (fails == 0) co_await t.write(disk, v);
    co_await t.store(state, fails == 0 ? written : failed, completed);
    co_await drop_chunk(t);
    co_await drop_copy(t);
  }
  Task<> drop_chunk(Thread& t) const {
    const Value before = co_await t.add(references, -1, std::memory_order_acq_rel);
    if (before != 1) co_return;
    co_await t.write(data, 0);
    co_await t.note(chunk_freed);
  }
  Task<> drop_copy(Thread& t) const {
    const Value before = co_await t.add(users, -1, drop_user);
    if (before != 1) co_return;
    co_await t.write(place, 0);
    co_await t.write(bytes, 0);
    co_await t.write(disk, 0);
    co_await t.note(copy_freed);
  }

  Atomic state = atomic("state"), users = atomic("users", 2), references = atomic("references", 2);
  Atomic queued = atomic("the tier's queue");
  Plain place = plain("at"), bytes = plain("bytes"), data = plain("data", 7), disk = plain("the tier's memory");
  Ghost chunk_freed = ghost("chunk freed"), copy_freed = ghost("copy given back");
  Orders begin_failed =
      site("begin_write, failed", spilled_cpp,
           "area_.copy(e.tier_handle).state.load(std::memory_order_acquire) == TierCopyState::failed");
  Orders begin_write =
      site("begin_write", spilled_cpp,
           "copy.state.compare_exchange_strong(expected, TierCopyState::writing, std::memory_order_acq_rel)");
  Orders no_room = site("no room", spilled_cpp,
                        "if (!has_space) { copy.state.store(TierCopyState::empty, std::memory_order_release)");
  Orders completed = site(
      "completed", spilled_cpp,
      "copy->state.store(result == 0 ? TierCopyState::written : TierCopyState::failed, std::memory_order_release)");
  Orders no_reserve = site("nothing reserved", spilled_cpp,
                           "} catch (const EnvironmentError& e) { copy.state.store(TierCopyState::empty, "
                           "std::memory_order_release)");
  Orders may_leave = site("may_leave", spilled_cpp, "c->references.load(std::memory_order_acquire) <= users");
  Orders send_away = site(
      "send_away", spilled_cpp,
      "e.tier_handle == 0 ? TierCopyState::empty : area_.copy(e.tier_handle).state.load(std::memory_order_acquire)");
  Orders begin_read = site("begin_read", spilled_cpp,
                           "copy.state.load(std::memory_order_acquire) == TierCopyState::written && chunk->doubles");
  Orders add_user = site("add_user", area_h, "copy.users.fetch_add(1, std::memory_order_relaxed)");
  Orders drop_user = site("drop_user", area_cpp, "c.users.fetch_sub(1, std::memory_order_acq_rel) != 1");
};

/// SpilledBlocks::spill() and take_back(): a rank gives a value of its own to a tier, and waits for it later.
class SpillValue final : public Protocol {
 public:
  explicit SpillValue(Weakening w = {}) : Protocol(std::move(w)) {
    keep("take_back, wait", relaxed, "the state is read again with acquire");
    keep("take_back", relaxed, "who waits has read the state with acquire");
    weaken_together({{"take_back, wait", relaxed}, {"take_back", relaxed}});
  }
  int threads() const override { return 2; }
  Task<> run(Thread& t) const override { return t.number() == 0 ? rank(t) : tier_thread(t); }

 private:
  Task<> rank(Thread& t) const {
    co_await t.store(state, writing, begin);
    co_await t.write(data, 7);
    co_await t.store(queued, 1, release);
    co_await t.await_other(state, writing, wait);
    const Value seen = co_await t.load(state, look);
    if (seen != written) co_return;
    const Value v = co_await t.read(disk);
    t.require(v == 7, "the value is in the tier");
  }
  Task<> tier_thread(Thread& t) const {
    co_await t.await_equal(queued, 1, acquire);
    const Value v = co_await t.read(data);
    const Value which = co_await t.choose(2);
    if (which == 0) co_await t.write(disk, v);
    const Value result = co_await t.read(disk);
    co_await t.store(state, result == 7 ? written : failed, completed);
  }

  Atomic state = atomic("state"), queued = atomic("the tier's queue");
  Plain data = plain("data"), disk = plain("the tier's memory");
  Orders begin = site("spill", spilled_cpp, "copy.state.store(TierCopyState::writing, std::memory_order_relaxed)");
  Orders completed = site(
      "completed", spilled_cpp,
      "copy->state.store(result == 0 ? TierCopyState::written : TierCopyState::failed, std::memory_order_release)");
  Orders wait = site("take_back, wait", spilled_cpp,
                     "while (copy.state.load(std::memory_order_acquire) == TierCopyState::writing)");
  Orders look =
      site("take_back", spilled_cpp, "if (copy.state.load(std::memory_order_acquire) != TierCopyState::written)");
};

/// A list to which two threads add and which others take as a whole, one after the other or at the same time.
class TakenList : public Protocol {
 public:
  TakenList(Weakening w, int takers, const std::string& file, const std::string& take_text,
            const std::string& push_text)
      : Protocol(std::move(w)),
        takers_(takers),
        take(site("take", file, take_text)),
        push(site("push", file, push_text)) {}
  int threads() const override { return 2 + takers_; }
  Task<> run(Thread& t) const override { return t.number() < 2 ? adds(t) : takes(t); }
  std::string at_end(const Memory& m) const override {
    std::array<Value, 2> count{m.value(found[0]), m.value(found[1])};
    for (Value at = m.last(list); at != 0; at = m.value(next[static_cast<std::size_t>(at - 1)]))
      if (++count[static_cast<std::size_t>(at - 1)] > 1) break;
    return count[0] == 1 && count[1] == 1 ? "" : "one is lost, or there twice";
  }

 private:
  Task<> adds(Thread& t) const {
    const auto i = static_cast<std::size_t>(t.number());
    co_await t.write(content[i], 1);
    Value first = co_await t.load(list, relaxed);
    for (bool added = false; !added;) {
      co_await t.write(next[i], first);
      added = co_await t.compare(list, first, t.number() + 1, push);
    }
  }
  Task<> takes(Thread& t) const {
    for (int round = 0; round < 2; ++round) {
      Value at = co_await t.exchange(list, 0, take);
      while (at != 0) {
        const auto i = static_cast<std::size_t>(at - 1);
        at = co_await t.read(next[i]);
        const Value v = co_await t.read(content[i]);
        t.require(v == 1, "what was written before is there");
        co_await t.write(content[i], 2);
        co_await t.note(found[i]);
      }
    }
  }

  const int takers_;
  Atomic list = atomic("list");
  std::array<Plain, 2> next{plain("next of the first"), plain("next of the second")};
  std::array<Plain, 2> content{plain("content of the first"), plain("content of the second")};
  std::array<Ghost, 2> found{ghost("first found"), ghost("second found")};
  Orders take, push;
};

/// SpillArea::drop_user() and accept_returned(), which any rank of the node may do.
class ReturnedCopies final : public TakenList {
 public:
  explicit ReturnedCopies(Weakening w = {})
      : TakenList(std::move(w), 2, area_cpp, "header().returned.exchange(0, std::memory_order_acquire)",
                  "returned.compare_exchange_weak(first, offset(c), std::memory_order_release, relaxed_order)") {}
};

/// Transfers that have ended: Transfer::completed() on two threads, SpilledBlocks::complete_transfers().
class DoneTransfers final : public TakenList {
 public:
  explicit DoneTransfers(Weakening w = {})
      : TakenList(std::move(w), 1, spilled_cpp, "done_.exchange(nullptr, std::memory_order_acquire)",
                  "owner->done_.compare_exchange_weak(first, this, std::memory_order_release, "
                  "std::memory_order_relaxed)") {}
};

/// SpillArea::begin_hold(), end_hold(), SpilledBlocks::make_room(): two transfers hold a block in memory; a rank that
/// needs memory looks for what may leave, waits for holds that end, and looks again. It gives up only when none is
/// left, and what the last one held was looked at behind its end.
class Holds final : public Protocol {
 public:
  using Protocol::Protocol;
  int threads() const override { return 3; }
  Task<> run(Thread& t) const override { return t.number() == 0 ? make_room(t) : transfer(t); }

 private:
  Task<> make_room(Thread& t) const {
    while (true) {
      const Value ended = co_await t.load(holds_ended, ended_before);
      const Value seen = co_await t.load(references, acquire);
      if (seen <= 1) co_return;  // relieve(): it may leave
      // The loop that waits ends by either of two loads.
      const Value which = co_await t.choose(2);
      if (which == 0) {
        co_await t.perhaps_equal(holding, 0, is_holding);
      } else {
        co_await t.await_other(holding, 0, is_holding, true);
        co_await t.await_other(holds_ended, ended, ended_before, true);
      }
      const Value now = co_await t.load(holds_ended, ended_before);
      t.require(now != ended, "no room is found, though a block may leave");
      if (now == ended) co_return;
    }
  }
  Task<> transfer(Thread& t) const {
    co_await t.add(references, -1, std::memory_order_acq_rel);
    co_await t.add(holds_ended, 1, end_hold);
    co_await t.add(holding, -1, end_holding);
  }

  Atomic references = atomic("references", 3), holding = atomic("holding", 2), holds_ended = atomic("holds_ended");
  Orders ended_before = site("holds_ended", area_h, "return header().holds_ended.load(std::memory_order_acquire)");
  Orders end_hold = site("end_hold, ended", area_h, "header().holds_ended.fetch_add(1, std::memory_order_release)");
  Orders end_holding = site("end_hold, holding", area_h, "header().holding.fetch_sub(1, std::memory_order_release)");
  Orders is_holding = site("is_holding", area_h, "header().holding.load(std::memory_order_acquire) > 0");
};

}  // namespace

std::vector<Listed> tier_protocols() {
  return {listed<TierCopies>("copies in a tier",
                             "who reads a copy back reads what was written; chunk and copy are "
                             "given back once, when nobody uses them"),
          listed<SpillValue>("values spilled", "who waits for a write reads what was written"),
          listed<ReturnedCopies>("returned copies", "no copy is lost or there twice; who takes one has it alone"),
          listed<DoneTransfers>("done transfers", "no transfer is lost or there twice; its result is there"),
          listed<Holds>("holds", "who needs memory does not give up before it has looked behind the last hold")};
}

}  // namespace sial::models
