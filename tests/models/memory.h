#pragma once
// The memory of a model under the C11 memory model, as an operational semantics with views. An atomic location is the
// list of the values stored to it, in modification order; a thread's view says which of them it cannot read behind any
// more. A load may read any value at or after the view; a read-modify-write reads a value and stands directly after it.
// A release store passes the storing thread's view on to whoever reads it with acquire, also through the
// read-modify-writes that follow it. Fences and sequentially consistent operations are those of C++20, the latter
// slightly weaker than the standard has them: what holds here holds there. Plain locations have one value, and a vector
// clock in the views tells whether two accesses race. What is left out: a load never reads a store of its own future
// (load buffering), which neither compilers for, nor the machines of, this project produce with the orders used here.

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace sial::models {

using Value = std::int64_t;
inline constexpr int max_locations = 14;  // of either kind
inline constexpr int max_threads = 4;

struct Atomic {
  int index = -1;
};
struct Plain {
  int index = -1;
};
/// Not part of the protocol: what the model notes to check at the end. Never races.
struct Ghost {
  int index = -1;
};

struct Op {
  enum class Kind : std::uint8_t {
    none,
    load,
    store,
    exchange,
    add,           // fetch_add
    compare,       // compare_exchange: `operand` replaces `expected`; succeeds when it has read `expected`
    await,         // a load, of a loop: the one that ends it, which reads `expected` (`differs`: anything else)
    await_clear,   // the same: a value that has none of the bits of `expected`
    await_change,  // an exchange that ends a loop of exchanges: reads `expected`, writes `operand`
    fence,
    choose,  // one of `operand` numbers from 0
    read,
    write,
    note  // adds to a ghost
  };
  Kind kind = Kind::none;
  bool differs = false;
  bool optional = false;  // of a loop with several ends: executions in which this one never comes are left out
  std::uint8_t location = 0;
  std::memory_order order = std::memory_order_relaxed, failure = std::memory_order_relaxed;
  Value operand = 0, expected = 0;

  /// Takes effect at once: who else moves in between makes no difference.
  bool is_plain() const { return kind == Kind::read || kind == Kind::write || kind == Kind::note; }
};

class Memory {
 public:
  /// Of the atomic and plain locations at first.
  Memory(const std::vector<Value>& atomics, const std::vector<Value>& plain, int ghosts, int threads);

  /// Ways in which the thread's operation may go on: a place in modification order each. None: it has to wait.
  std::vector<int> choices(int thread, const Op& op) const;
  /// Takes one of them. Returns what the operation has read.
  Value apply(int thread, const Op& op, int choice);

  /// Names two accesses to a plain location that race; empty: none did.
  const std::string& race() const { return race_; }
  Value last(Atomic a) const { return atomics_[static_cast<std::size_t>(a.index)].back().value; }
  Value value(Plain p) const { return plain_[static_cast<std::size_t>(p.index)].value; }
  Value value(Ghost g) const { return ghosts_[static_cast<std::size_t>(g.index)]; }

  /// Appends all that decides what can still happen.
  void append_to(std::string& key) const;

 private:
  struct View {
    std::array<std::uint8_t, max_locations> at{};   // by atomic location: place in modification order
    std::array<std::uint8_t, max_threads> clock{};  // by thread: of its steps that happened before
    void join(const View& other);
    void join_places(const View& other);
  };
  struct Message {
    Value value = 0;
    View view;              // what an acquire operation that reads it gets to know
    bool attached = false;  // of a read-modify-write: nothing comes between it and the one before
  };
  struct Thread {
    View now;
    View fenced;   // at the last release fence
    View relaxed;  // of messages read without acquire: an acquire fence adds it
  };
  struct Cell {
    Value value = 0;
    int writer = -1;
    std::uint8_t written = 0;
    std::array<std::uint8_t, max_threads> reads{};
  };

  std::vector<Message>& messages(const Op& op) { return atomics_[op.location]; }
  Value load(int thread, const Op& op, int at, std::memory_order order);
  void store(int thread, const Op& op, int at, Value value, const Message* read);
  void fence(int thread, std::memory_order order);
  void insert(std::size_t location, int at, const Message& message);
  Value access(int thread, const Op& op);

  std::vector<std::vector<Message>> atomics_;
  std::vector<Thread> threads_;
  std::vector<Cell> plain_;
  std::vector<Value> ghosts_;
  View fences_;                                           // of sequentially consistent fences so far
  std::array<std::uint8_t, max_locations> consistent_{};  // place of the last sequentially consistent store
  std::string race_;
};

}  // namespace sial::models
