// Locks and memory of a node: runtime/core/memory.

#include <array>
#include <vector>

#include "tests/models/protocols.h"

namespace sial::models {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;
constexpr const char* heap_cpp = "runtime/core/memory/node_heap.cpp";
constexpr const char* heap_h = "runtime/core/memory/node_heap.h";
constexpr const char* lock_h = "runtime/core/memory/spin_lock.h";

/// SpinLock: SpinGuard around a counter.
class SpinLockModel final : public Protocol {
 public:
  using Protocol::Protocol;
  int threads() const override { return 3; }
  Task<> run(Thread& t) const override {
    for (Value before = 1; before != 0;) {
      co_await t.await_equal(word, 0, look);
      before = co_await t.exchange(word, 1, take);
    }
    const Value n = co_await t.read(counter);
    co_await t.write(counter, n + 1);
    co_await t.store(word, 0, leave);
  }
  std::string at_end(const Memory& m) const override {
    return m.value(counter) == threads() ? "" : "an addition under the lock is lost";
  }

 private:
  Atomic word = atomic("word");
  Plain counter = plain("counter");
  Orders look = site("look", lock_h, "word_.load(std::memory_order_relaxed) == 0");
  Orders take = site("try_lock", lock_h, "word_.exchange(1, std::memory_order_acquire) == 0");
  Orders leave = site("unlock", lock_h, "word_.store(0, std::memory_order_release)");
};

/// NodeHeap's references to the value of a block: NodeBlocks::lease() by two ranks, NodeBlocks::put() by a third, which
/// writes in place if nobody else holds the value and replaces it otherwise.
class ReferenceCounts final : public Protocol {
 public:
  using Protocol::Protocol;
  int threads() const override { return 3; }
  Task<> run(Thread& t) const override { return t.number() == 0 ? put(t) : lease(t); }
  std::string at_end(const Memory& m) const override {
    const Value now = m.value(value);
    for (const std::size_t c : {0U, 1U}) {
      const bool in_use = now == static_cast<Value>(c), taken = c == 0 || now == 1;
      if (m.value(freed[c]) != (taken && !in_use ? 1 : 0)) return "a chunk is freed twice, or lost";
    }
    return "";
  }

 private:
  Task<> put(Thread& t) const {
    co_await lock.take(t);
    const Value old = co_await t.read(value);
    const Value seen = co_await t.load(references[0], sole);
    if (seen == 1) {
      co_await t.write(data[0], 2);
    } else {
      co_await t.store(references[1], 1, relaxed);
      co_await t.write(data[1], 2);
      co_await t.write(value, 1);
      co_await drop(t, old);
    }
    co_await lock.leave(t);
  }
  Task<> lease(Thread& t) const {
    co_await lock.take(t);
    const Value c = co_await t.read(value);
    co_await t.add(references[static_cast<std::size_t>(c)], 1, add);
    co_await lock.leave(t);
    const Value v = co_await t.read(data[static_cast<std::size_t>(c)]);
    t.require(v == 1 || v == 2, "a chunk is read that was freed");
    co_await drop(t, c);
  }
  /// What others write to it once it is free stands for all that they may do with it.
  Task<> drop(Thread& t, Value chunk) const {
    const auto c = static_cast<std::size_t>(chunk);
    const Value before = co_await t.add(references[c], -1, fetch_sub);
    if (before != 1) co_return;
    co_await t.write(data[c], 0);
    co_await t.note(freed[c]);
  }

  Lock lock{atomic("entry's lock")};
  std::array<Atomic, 2> references{atomic("references of the first chunk", 1), atomic("references of the second")};
  std::array<Plain, 2> data{plain("data of the first chunk", 1), plain("data of the second")};
  Plain value = plain("the block's chunk");
  std::array<Ghost, 2> freed{ghost("first chunk freed"), ghost("second chunk freed")};
  Orders add = site("add_reference", heap_h, "c->references.fetch_add(1, std::memory_order_relaxed)");
  Orders sole = site("sole_reference", heap_h, "c->references.load(std::memory_order_acquire) == 1");
  Orders fetch_sub = site("drop_shared", heap_cpp, "c->references.fetch_sub(1, std::memory_order_acq_rel) != 1");
};

/// NodeHeap::drop_reference() by the rank of the arena and a helper thread that hold the same chunk, and by another
/// rank, then NodeHeap::take() by the first: drop_last(), drop_shared(), accept_returned().
class ReturnedChunks final : public Protocol {
 public:
  using Protocol::Protocol;
  int threads() const override { return 3; }
  Task<> run(Thread& t) const override { return t.number() == 0 ? owner(t) : other(t); }
  std::string at_end(const Memory& m) const override {
    std::array<Value, 2> count{m.value(found[0]), m.value(found[1])};
    for (Value at = m.last(returned); at != 0; at = m.value(next[static_cast<std::size_t>(at - 1)]))
      if (++count[static_cast<std::size_t>(at - 1)] > 1) break;
    return count[0] == 1 && count[1] == 1 ? "" : "a chunk is lost, or there twice";
  }

 private:
  /// Chunk 1 is shared with the helper, chunk 2 is the other rank's.
  Task<> owner(Thread& t) const {
    std::vector<std::size_t> mine;
    Value left = co_await t.load(references[0], sole);
    if (left != 1) left = co_await t.add(references[0], -1, fetch_sub);
    if (left == 1) mine.push_back(0);
    for (int i = 0; i < 2; ++i) {
      if (mine.empty()) {
        const Value seen = co_await t.load(returned, look);
        if (seen == 0) continue;
        Value at = co_await t.exchange(returned, 0, accept);
        while (at != 0) {
          mine.push_back(static_cast<std::size_t>(at - 1));
          at = co_await t.read(next[mine.back()]);
        }
        if (mine.empty()) continue;
      }
      const std::size_t c = mine.back();
      mine.pop_back();
      co_await t.write(next[c], 0);
      co_await t.write(data[c], 5);
      co_await t.note(found[c]);
    }
    for (const std::size_t c : mine) co_await t.note(found[c]);
  }
  Task<> other(Thread& t) const {
    const auto c = static_cast<std::size_t>(t.number() - 1);
    const Value v = co_await t.read(data[c]);
    t.require(v == 1, "a chunk is read that was freed");
    const Value before = co_await t.add(references[c], -1, fetch_sub);
    if (before != 1) co_return;
    co_await t.write(data[c], 1);
    Value first = co_await t.load(returned, relaxed);
    for (bool added = false; !added;) {
      co_await t.write(next[c], first);
      added = co_await t.compare(returned, first, t.number(), push);
    }
  }

  Atomic returned = atomic("returned");
  std::array<Atomic, 2> references{atomic("references of the first chunk", 2), atomic("references of the second", 1)};
  std::array<Plain, 2> data{plain("data of the first chunk", 1), plain("data of the second", 1)};
  std::array<Plain, 2> next{plain("next of the first chunk"), plain("next of the second")};
  std::array<Ghost, 2> found{ghost("first chunk found"), ghost("second chunk found")};
  Orders sole = site("sole_reference", heap_h, "c->references.load(std::memory_order_acquire) == 1");
  Orders fetch_sub = site("drop_shared", heap_cpp, "c->references.fetch_sub(1, std::memory_order_acq_rel) != 1");
  Orders look = site("look", heap_cpp, "a.returned.load(relaxed) != 0");
  Orders accept = site("accept_returned", heap_cpp, "a.returned.exchange(0, std::memory_order_acquire)");
  Orders push =
      site("push", heap_cpp, "a.returned.compare_exchange_weak(first, offset(c), std::memory_order_release, relaxed)");
};

/// NodeHeap::begin_arrival(), await_arrival(), end_arrival(), fail_arrival(): a rank begins a read from a tier, the
/// tier's thread ends it, another rank leases the block meanwhile, waits, and uses it.
class Arrivals final : public Protocol {
 public:
  explicit Arrivals(Weakening w = {}) : Protocol(std::move(w)) {
    const char* again = "arrival_error() reads the same word again with acquire before the data is used";
    keep("is_arriving", relaxed, again);
    keep("arrival_error", relaxed, "is_arriving() has read the same value with acquire, where it was waited for");
    weaken_together({{"is_arriving", relaxed}, {"arrival_error", relaxed}});
  }
  int threads() const override { return 3; }
  Task<> run(Thread& t) const override {
    return t.number() == 0 ? begin_read(t) : t.number() == 1 ? tier_thread(t) : reader(t);
  }

 private:
  static constexpr Value arriving = 0, arrived = 1, awaited = 2, failed = 3;
  Task<> begin_read(Thread& t) const {
    co_await lock.take(t);
    co_await t.store(content, arriving, begin);
    co_await t.write(value, 1);
    co_await lock.leave(t);
    co_await t.store(queued, 1, std::memory_order_release);
  }
  Task<> tier_thread(Thread& t) const {
    co_await t.await_equal(queued, 1, std::memory_order_acquire);
    const Value which = co_await t.choose(2);
    if (which == 0) {
      co_await t.write(data, 7);
      co_await t.store(content, arrived, end);
    } else {
      co_await t.write(error, 5);
      co_await t.store(content, failed, fail);
    }
  }
  Task<> reader(Thread& t) const {
    co_await lock.take(t);
    const Value there = co_await t.read(value);
    co_await lock.leave(t);
    if (there == 0) co_return;
    const Value v = co_await t.load(content, is_not_there);
    if (v == arriving || v >= awaited) {
      Value expected = arriving;
      co_await t.compare(content, expected, awaited, await);
      // The loop ends by either of these.
      const Value which = co_await t.choose(2);
      if (which == 0) co_await t.perhaps_equal(content, arrived, is_arriving);
      else co_await t.perhaps_equal(content, failed, is_arriving);
      const Value seen = co_await t.load(content, arrival_error);
      if (seen == failed) {
        const Value e = co_await t.read(error);
        t.require(e == 5, "the error is there");
        co_return;
      }
    }
    const Value d = co_await t.read(data);
    t.require(d == 7, "a value that has arrived is there");
  }

  Lock lock{atomic("entry's lock")};
  Atomic content = atomic("content", 9), queued = atomic("the tier's queue");
  Plain value = plain("the block's chunk"), data = plain("data"), error = plain("sequence (the error)");
  Orders begin = site("begin_arrival", heap_h, "{ c->content.store(0, std::memory_order_relaxed); }");
  Orders await = site("await_arrival", heap_h,
                      "c->content.compare_exchange_strong(arriving, awaited_content, std::memory_order_relaxed)");
  Orders end = site("end_arrival", heap_h,
                    "set_content(c, arena(c->arena).changes.fetch_add(1, std::memory_order_relaxed) + 1, 1, "
                    "std::memory_order_release)");
  Orders fail = site("fail_arrival", heap_h, "c->content.store(failed_content, std::memory_order_release)");
  Orders is_arriving = site("is_arriving", heap_h,
                            "const std::uint64_t content = c->content.load(std::memory_order_acquire); return content "
                            "== 0 || content == awaited_content");
  Orders is_not_there = site("is_not_there", heap_h,
                             "const std::uint64_t content = c->content.load(std::memory_order_acquire); return content "
                             "== 0 || content >= awaited_content");
  Orders arrival_error =
      site("arrival_error", heap_h, "return c->content.load(std::memory_order_acquire) == failed_content");
};

/// NodeHeap::wait_for_spare(): who needs memory gives up when no rank has spare chunks or reclaimable copies any more,
/// no passing reference is left, and none is found behind that. Others give back what they have: drop_shared() of spare
/// chunks, RankCache::give(), which drops and says after it that it has none left, and drop_passing().
class GivingBack : public Protocol {
 public:
  using Protocol::Protocol;
  int threads() const override { return 4; }
  Task<> run(Thread& t) const override {
    switch (t.number()) {
      case 0: return waits(t);
      case 1: return drops_spare(t);
      case 2: return clears_reclaimable(t);
      default: return drops_passing(t);
    }
  }

 private:
  /// The last look: none() holds.
  Task<> waits(Thread& t) const {
    co_await t.await_equal(spare_in_use, 0, none);
    co_await t.await_equal(reclaimable, 0, any_reclaimable);
    co_await t.await_equal(passing, 0, has_passing);
    Value chunks = 0;
    for (const Atomic list : {returned, returned_elsewhere, returned_by_writer}) {
      Value first = co_await t.load(list, relaxed);
      if (first != 0) first = co_await t.exchange(list, 0, std::memory_order_acquire);
      if (first != 0) ++chunks;
    }
    t.require(chunks == 3, "memory that was given back is not found");
  }
  virtual bool count_first() const { return false; }
  Task<> drops_spare(Thread& t) const {
    if (count_first()) co_await t.add(spare_in_use, -1, count);
    Value first = co_await t.load(returned, relaxed);
    co_await t.compare(returned, first, 1, std::memory_order_release);
    if (!count_first()) co_await t.add(spare_in_use, -1, count);
  }
  Task<> clears_reclaimable(Thread& t) const {
    Value first = co_await t.load(returned_elsewhere, relaxed);
    co_await t.compare(returned_elsewhere, first, 2, std::memory_order_release);
    co_await t.store(reclaimable, 0, set_reclaimable);
  }
  Task<> drops_passing(Thread& t) const {
    Value first = co_await t.load(returned_by_writer, relaxed);
    co_await t.compare(returned_by_writer, first, 3, std::memory_order_release);
    co_await t.add(passing, -1, passed);
  }

  Atomic returned = atomic("returned"), returned_elsewhere = atomic("returned of another arena"),
         returned_by_writer = atomic("returned of a third arena");
  Atomic spare_in_use = atomic("spare_in_use", 1), reclaimable = atomic("reclaimable", 1),
         passing = atomic("passing", 1);
  Orders none = site("none", heap_cpp, "node.spare_in_use.load(std::memory_order_acquire) == 0");
  Orders any_reclaimable = site("any_reclaimable", heap_cpp, "arena(a).reclaimable.load(std::memory_order_acquire)");
  Orders count = site("count", heap_cpp, "arena(0).spare_in_use.fetch_sub(bytes, std::memory_order_release)");
  Orders set_reclaimable =
      site("set_reclaimable", heap_h, "arena(a).reclaimable.store(reclaimable, std::memory_order_release)");
  Orders has_passing = site("has_passing", heap_h, "arena(a).passing.load(std::memory_order_acquire) > 0");
  Orders passed = site("drop_passing", heap_h, "arena(a).passing.fetch_sub(1, std::memory_order_release)");
};

/// A spare chunk that is not counted any more before a list has it, as drop_shared() had it once: who waits for memory
/// finds neither.
class CountedTooEarly final : public GivingBack {
 public:
  using GivingBack::GivingBack;

 private:
  bool count_first() const override { return true; }
};

}  // namespace

std::vector<Listed> broken_protocols() {
  return {listed<CountedTooEarly>("counted too early", "as above; has to fail")};
}

std::vector<Listed> heap_protocols() {
  return {listed<SpinLockModel>("spin lock", "one holder at a time, who sees what the one before has written"),
          listed<ReferenceCounts>("reference counts",
                                  "no value is written or freed while somebody reads it; each "
                                  "chunk is freed once"),
          listed<ReturnedChunks>("returned chunks", "no chunk is lost or there twice; who takes one has it alone"),
          listed<Arrivals>("arrivals", "who finds a value there, or waits for it, reads all of it, or its error"),
          listed<GivingBack>("giving back", "who sees that nobody has memory to give back finds what was given")};
}

}  // namespace sial::models
