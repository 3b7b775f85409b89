// The directory of a node's blocks, their versions, and the queue of a parallel loop's iterations.

#include <array>

#include "runtime/core/base/iteration_shares.h"
#include "tests/models/protocols.h"

namespace sial::models {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto acquire = std::memory_order_acquire;
constexpr auto release = std::memory_order_release;
constexpr const char* directory_cpp = "runtime/core/store/directory/directory.cpp";
constexpr const char* directory_h = "runtime/core/store/directory/directory.h";
constexpr const char* blocks_cpp = "runtime/core/store/local/node_blocks.cpp";
constexpr const char* heap_cpp = "runtime/core/memory/node_heap.cpp";
constexpr const char* heap_h = "runtime/core/memory/node_heap.h";
constexpr const char* queue_cpp = "runtime/core/transport/work_queue.cpp";
constexpr const char* threads_cpp = "runtime/core/transport/threads.cpp";

/// Directory::find_or_create() of one block by two ranks, which add to it then as NodeBlocks::accumulate() does: the
/// block is absent, then an entry without a value, then present. A third rank looks for it with find(), and with
/// with_entry().
class FindOrCreate final : public Protocol {
 public:
  using Protocol::Protocol;
  int threads() const override { return 3; }
  Task<> run(Thread& t) const override { return t.number() < 2 ? accumulate(t) : look_for(t); }
  std::string at_end(const Memory& m) const override {
    const Value first = m.last(head);
    if (first != 2 && first != 4) return "no entry is in the chain, or its lock is held";
    const auto e = static_cast<std::size_t>(first / 2 - 1);
    if (m.value(next[e]) != 0) return "a block has two entries";
    return m.value(sum[e]) == 11 ? "" : "an addition is lost";
  }

 private:
  static constexpr Value locked = 1;
  Task<> accumulate(Thread& t) const {
    const Value e = co_await find_or_create(t);
    const auto i = static_cast<std::size_t>(e / 2 - 1);
    co_await entry_lock[i].take(t);
    const Value there = co_await t.read(value[i]);
    if (there == 0) {
      co_await t.write(value[i], 1);
      co_await t.write(sum[i], addition(t));
    } else {
      const Value before = co_await t.read(sum[i]);
      co_await t.write(sum[i], before + addition(t));
    }
    co_await entry_lock[i].leave(t);
  }
  Task<Value> find_or_create(Thread& t) const {
    Value found = 0;
    const Value seen = co_await t.load(head, look);
    if (seen != 0) {
      const Value first = co_await lock_chain(t);
      found = co_await walk(t, first);
      co_await t.store(head, first, find_leave);
    }
    if (found != 0) co_return found;
    const auto fresh = static_cast<std::size_t>(t.number());
    co_await t.write(key[fresh], 7);
    const Value first = co_await lock_chain(t);
    found = co_await walk(t, first);
    if (found != 0) {
      co_await t.store(head, first, found_leave);
      co_await t.write(key[fresh], 0);  // free_entry(): it may be any block's then
      co_return found;
    }
    co_await t.write(next[fresh], first);
    co_await t.store(head, 2 * t.number() + 2, publish);
    co_return 2 * t.number() + 2;
  }
  Task<> look_for(Thread& t) const {
    const Value seen = co_await t.load(head, look);
    if (seen != 0) {
      const Value first = co_await lock_chain(t);
      const Value e = co_await walk(t, first);
      t.require(e != 0, "a block that was there is not found");
      co_await t.store(head, first, find_leave);
    }
    const Value seen_again = co_await t.load(head, guard_look);
    if (seen_again != 0) {
      const Value first = co_await lock_chain(t);
      const Value e = co_await walk(t, first);
      t.require(e != 0, "a block that was there is not found");
      co_await t.store(head, first, guard_leave);
    }
  }
  Task<Value> lock_chain(Thread& t) const {
    while (true) {
      Value first = co_await t.await_clear(head, locked, chain_look);
      const bool replaced = co_await t.compare(head, first, first | locked, chain_lock);
      if (replaced) co_return first;
    }
  }
  Task<Value> walk(Thread& t, Value first) const {
    while (first != 0) {
      const auto e = static_cast<std::size_t>(first / 2 - 1);
      const Value there = co_await t.read(key[e]);
      if (there == 7) break;
      first = co_await t.read(next[e]);
    }
    co_return first;
  }
  static Value addition(const Thread& t) { return t.number() == 0 ? 1 : 10; }

  Atomic head = atomic("head of the chain");
  std::array<Lock, 2> entry_lock{Lock{atomic("first entry's lock")}, Lock{atomic("second entry's lock")}};
  std::array<Plain, 2> key{plain("first entry's key"), plain("second entry's key")};
  std::array<Plain, 2> next{plain("first entry's fused_next"), plain("second entry's fused_next")};
  std::array<Plain, 2> value{plain("first entry's value"), plain("second entry's value")};
  std::array<Plain, 2> sum{plain("first entry's sum"), plain("second entry's sum")};
  Orders look = site("find, look", directory_cpp, "if (head.load(std::memory_order_relaxed) == 0) return nullptr;");
  Orders chain_look = site("lock_chain, look", directory_cpp, "head.load(std::memory_order_relaxed) & ~locked");
  Orders chain_lock = site("lock_chain", directory_cpp,
                           "head.compare_exchange_strong(first, first | locked, std::memory_order_acquire, "
                           "std::memory_order_relaxed)");
  Orders find_leave =
      site("find, unlock", directory_cpp, "Entry* e = walk(first, key); head.store(first, std::memory_order_release)");
  Orders found_leave = site("find_or_create, unlock", directory_cpp,
                            "if (Entry* e = walk(first, key)) { // another rank was faster head.store(first, "
                            "std::memory_order_release)");
  Orders publish =
      site("find_or_create, publish", directory_cpp, "head.store(offset(fresh), std::memory_order_release)");
  Orders guard_look = site("with_entry, look", directory_h, "if (head.load(std::memory_order_relaxed) == 0) return;");
  Orders guard_leave = site("ChainGuard, unlock", directory_h, "head_.store(first_, std::memory_order_release)");
};

/// Directory::remove_shelf() takes an entry of an ended generation out of a chain, and gives it back, while two other
/// ranks walk the chain for other blocks: with find(), and with with_entry().
class ChainRemoval final : public Protocol {
 public:
  using Protocol::Protocol;
  int threads() const override { return 3; }
  Task<> run(Thread& t) const override {
    Value first = 0;
    while (true) {
      first = co_await t.await_clear(head, 1, relaxed);
      Value seen = first;
      const bool replaced = co_await t.compare(head, seen, first | 1, chain_lock);
      if (replaced) break;
    }
    if (t.number() == 0) {
      const Value behind = co_await t.read(next[1]);
      co_await t.write(next[0], behind);
      co_await t.store(head, first, unlink);
      co_await t.write(key[1], 0);  // free_entry(): it may be any block's then
      co_return;
    }
    for (Value at = first; at != 0;) {
      const auto e = static_cast<std::size_t>(at / 2 - 1);
      const Value k = co_await t.read(key[e]);
      t.require(k != 0, "an entry is read that was given back");
      at = co_await t.read(next[e]);
    }
    co_await t.store(head, first, t.number() == 1 ? find_leave : guard_leave);
  }

 private:
  Atomic head = atomic("head of the chain", 2);
  std::array<Plain, 2> key{plain("first entry's key", 8), plain("second entry's key", 7)};
  std::array<Plain, 2> next{plain("first entry's fused_next", 4), plain("second entry's fused_next")};
  Orders chain_lock = site("lock_chain", directory_cpp,
                           "head.compare_exchange_strong(first, first | locked, std::memory_order_acquire, "
                           "std::memory_order_relaxed)");
  Orders unlink = site("remove_shelf, unlock", directory_cpp,
                       "*link = e->fused_next; head.store(first, std::memory_order_release)");
  Orders find_leave =
      site("find, unlock", directory_cpp, "Entry* e = walk(first, key); head.store(first, std::memory_order_release)");
  Orders guard_leave = site("ChainGuard, unlock", directory_h, "head_.store(first_, std::memory_order_release)");
};

/// NodeBlocks::rank_advanced() and node_advanced(), Directory::remove_shelf(): two ranks of a node leave a generation,
/// and a helper thread hears that those of the other node have left it. Who comes last gives its entries back.
class GenerationEnds final : public Protocol {
 public:
  using Protocol::Protocol;
  int threads() const override { return 3; }
  Task<> run(Thread& t) const override {
    const Value v = co_await t.read(entry);  // which may be used without a lock by who has not left
    t.require(v == 7, "an entry is used that was given back");
    Value before = 1;
    if (t.number() < 2) before = co_await t.add(ranks, 1, ranks_advanced);
    if (before + 1 != 2) co_return;
    before = co_await t.add(nodes, 1, nodes_advanced);
    if (before + 1 != 2) co_return;
    co_await t.write(entry, 0);
    co_await t.note(returned);
  }
  std::string at_end(const Memory& m) const override {
    return m.value(returned) == 1 ? "" : "a generation is given back twice, or never";
  }

 private:
  Atomic ranks = atomic("ranks_advanced"), nodes = atomic("nodes_advanced");
  Plain entry = plain("entry", 7);
  Ghost returned = ghost("given back");
  Orders ranks_advanced =
      site("rank_advanced", blocks_cpp, "shelf->ranks_advanced.fetch_add(1, std::memory_order_acq_rel)");
  Orders nodes_advanced =
      site("node_advanced", blocks_cpp, "shelf->nodes_advanced.fetch_add(1, std::memory_order_acq_rel)");
};

/// A retained copy of another node's block and the version it is of: a helper thread serves two gets of it,
/// StoreService::answer() with NodeBlocks::lease(), while a rank of its node puts twice. The second get says which
/// version is known, and takes no data where the block is of that version still.
class Versions final : public Protocol {
 public:
  using Protocol::Protocol;
  int threads() const override { return 3; }
  Task<> run(Thread& t) const override { return t.number() == 0 ? puts(t) : t.number() == 1 ? serves(t) : gets(t); }

 private:
  /// A block of two words, each of which says the version.
  struct Words {
    Plain a, b;
  };
  Task<> puts(Thread& t) const {
    for (Value round = 1; round <= 2; ++round) {
      co_await lock.take(t);
      const Value old = co_await t.read(value);
      const auto o = static_cast<std::size_t>(old);
      Value now = old;
      const Value seen = co_await t.load(references[o], sole);
      if (seen != 1) {
        now = round;
        co_await t.store(references[static_cast<std::size_t>(now)], 1, relaxed);
      }
      const Words& words = chunk[static_cast<std::size_t>(now)];
      co_await t.write(words.a, round);
      co_await t.write(words.b, round);
      co_await t.write(version, round);
      co_await t.write(value, now);
      if (now != old) co_await drop(t, old);
      co_await lock.leave(t);
    }
  }
  Task<> serves(Thread& t) const {
    co_await get(t, -1, done[0]);
    co_await t.await_equal(asked, 1, acquire);
    const Value known = co_await t.read(known_version);
    co_await get(t, known, done[1]);
  }
  Task<> get(Thread& t, Value known, Atomic answered) const {
    co_await lock.take(t);
    const Value c = co_await t.read(value);
    co_await t.add(references[static_cast<std::size_t>(c)], 1, add);
    const Value v = co_await t.read(version);
    co_await lock.leave(t);
    co_await t.write(reply_version, v);
    if (v != known) {
      const Value a = co_await t.read(chunk[static_cast<std::size_t>(c)].a);
      const Value b = co_await t.read(chunk[static_cast<std::size_t>(c)].b);
      co_await t.write(copy.a, a);
      co_await t.write(copy.b, b);
    }
    co_await t.store(answered, 1, reply_done);
    co_await drop(t, c);
  }
  Task<> gets(Thread& t) const {
    for (std::size_t i = 0; i < 2; ++i) {
      co_await t.await_equal(done[i], 1, reply_arrived);
      const Value v = co_await t.read(reply_version);
      const Value a = co_await t.read(copy.a);
      const Value b = co_await t.read(copy.b);
      t.require(a == v && b == v, "a copy is not of the version that it is said to be of");
      if (i == 1) co_return;
      co_await t.write(known_version, v);
      co_await t.store(asked, 1, release);
    }
  }
  Task<> drop(Thread& t, Value c) const {
    const auto i = static_cast<std::size_t>(c);
    const Value before = co_await t.add(references[i], -1, fetch_sub);
    if (before != 1) co_return;
    co_await t.write(chunk[i].a, -1);
    co_await t.write(chunk[i].b, -1);
  }

  Lock lock{atomic("entry's lock")};
  std::array<Atomic, 3> references{atomic("references of the first chunk", 1), atomic("references of the second"),
                                   atomic("references of the third")};
  std::array<Atomic, 2> done{atomic("first answer"), atomic("second answer")};
  Atomic asked = atomic("second request");
  std::array<Words, 3> chunk{Words{plain("first chunk's a"), plain("first chunk's b")},
                             Words{plain("second chunk's a"), plain("second chunk's b")},
                             Words{plain("third chunk's a"), plain("third chunk's b")}};
  Words copy{plain("copy's a", -1), plain("copy's b", -1)};
  Plain value = plain("the block's chunk"), version = plain("version");
  Plain reply_version = plain("answer's version"), known_version = plain("known_version");
  Orders add = site("add_reference", heap_h, "c->references.fetch_add(1, std::memory_order_relaxed)");
  Orders sole = site("sole_reference", heap_h, "c->references.load(std::memory_order_acquire) == 1");
  Orders fetch_sub = site("drop_shared", heap_cpp, "c->references.fetch_sub(1, std::memory_order_acq_rel) != 1");
  Orders reply_done = site("reply", threads_cpp,
                           "m->state.store(ThreadMessage::State::done, std::memory_order_release); if "
                           "(reply.release) reply.release();");
  Orders reply_arrived =
      site("arrived", threads_cpp, "message_->state.load(std::memory_order_acquire) == ThreadMessage::State::done");
};

/// NodeQueue of a parallel loop of four iterations: draw() by two ranks until nothing is left, one of which has set a
/// range aside before with reserve(), and give() for a rank of another node.
class WorkQueueModel final : public Protocol {
 public:
  using Protocol::Protocol;
  int threads() const override { return 3; }
  Task<> run(Thread& t) const override {
    if (t.number() == 2) return give(t);
    return draws(t);
  }
  std::string at_end(const Memory& m) const override {
    for (const Ghost g : handed_out)
      if (m.value(g) != 1) return "an iteration is handed out twice, or never";
    return "";
  }

 private:
  struct Range {
    Value first = 0, last = 0;
  };
  static constexpr Value node_ranks = 1;  // so that chunks are of two iterations at first
  Task<> draws(Thread& t) const {
    if (t.number() == 0) {
      co_await take(t);
      const Range r = co_await cut(t);
      co_await t.write(reserved_first, r.first);
      co_await t.write(reserved_last, r.last);
      co_await leave(t);
    }
    while (true) {
      co_await take(t);
      Range r;
      r.first = co_await t.read(reserved_first);
      r.last = co_await t.read(reserved_last);
      if (t.number() == 0 && r.first < r.last) {
        co_await t.write(reserved_first, r.last);
      } else {
        r = co_await cut(t);
        if (r.first == r.last) r = co_await take_reserved(t);
      }
      co_await leave(t);
      if (r.first == r.last) co_return;
      co_await note(t, r);
    }
  }
  Task<> give(Thread& t) const {
    co_await take(t);
    Range r = co_await cut(t);
    if (r.first == r.last) r = co_await take_reserved(t);
    co_await leave(t);
    co_await note(t, r);
  }
  Task<Range> cut(Thread& t) const {
    Range r;
    r.first = co_await t.read(next);
    const Value behind = co_await t.read(end);
    r.last = r.first + guided_chunk(behind - r.first, node_ranks);
    co_await t.write(next, r.last);
    co_return r;
  }
  Task<Range> take_reserved(Thread& t) const {
    const Value first = co_await t.read(reserved_first);
    const Value last = co_await t.read(reserved_last);
    if (first >= last) co_return Range{};
    const Value now = last - (last - first + 1) / 2;
    co_await t.write(reserved_last, now);
    co_return Range{now, last};
  }
  Task<> note(Thread& t, Range r) const {
    for (Value i = r.first; i < r.last; ++i) co_await t.note(handed_out[static_cast<std::size_t>(i)]);
  }
  Thread::Access take(Thread& t) const { return t.await_change(lock, 0, 1, table_lock); }
  Thread::Access leave(Thread& t) const { return t.store(lock, 0, table_unlock); }

  Atomic lock = atomic("the table's lock");
  Plain next = plain("next"), end = plain("end", 4);
  Plain reserved_first = plain("reservation's first"), reserved_last = plain("reservation's last");
  std::array<Ghost, 4> handed_out{ghost("iteration 0"), ghost("iteration 1"), ghost("iteration 2"),
                                  ghost("iteration 3")};
  Orders table_lock = site("TableLock, lock", queue_cpp, "lock_.exchange(1, std::memory_order_acquire) != 0");
  Orders table_unlock = site("TableLock, unlock", queue_cpp, "lock_.store(0, std::memory_order_release)");
};

}  // namespace

std::vector<Listed> directory_protocols() {
  return {listed<FindOrCreate>("find or create", "a block has one entry, which all find; no addition to it is lost"),
          listed<ChainRemoval>("chain removal", "who walks a chain reads no entry that was given back"),
          listed<GenerationEnds>("generation ends", "entries are given back once, when nobody uses them any more"),
          listed<Versions>("version confirmation", "a retained copy has the values of the version it is said to be of"),
          listed<WorkQueueModel>("work queue", "each iteration is handed out once")};
}

}  // namespace sial::models
