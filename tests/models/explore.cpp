#include <array>
#include <unordered_set>

#include <fmt/format.h>

#include "tests/models/protocol.h"

namespace sial::models {

Atomic Protocol::atomic(std::string name, Value first) {
  atomic_names_.push_back(std::move(name));
  atomics_.push_back(first);
  return {static_cast<int>(atomics_.size()) - 1};
}

Plain Protocol::plain(std::string name, Value first) {
  plain_names_.push_back(std::move(name));
  plain_.push_back(first);
  return {static_cast<int>(plain_.size()) - 1};
}

Ghost Protocol::ghost(std::string name) {
  ghosts_.push_back(std::move(name));
  return {static_cast<int>(ghosts_.size()) - 1};
}

Orders Protocol::site(std::string name, std::string file, std::string text) {
  Site s{std::move(name), std::move(file), std::move(text)};
  s.orders = orders_in(s.text);
  Orders used = s.orders;
  if (const auto found = weakening_.find(s.name); found != weakening_.end()) used.order = found->second;
  sites_.push_back(std::move(s));
  return used;
}

std::string Protocol::describe(const Op& op) const {
  using Kind = Op::Kind;
  const auto& names = op.kind == Kind::note ? ghosts_ : op.is_plain() ? plain_names_ : atomic_names_;
  const std::string what = op.location < names.size() ? names[op.location] : "";
  switch (op.kind) {
    case Kind::load: return fmt::format("load {} ({})", what, order_name(op.order));
    case Kind::store: return fmt::format("store {} to {} ({})", op.operand, what, order_name(op.order));
    case Kind::exchange: return fmt::format("exchange {} for {} ({})", what, op.operand, order_name(op.order));
    case Kind::add: return fmt::format("add {} to {} ({})", op.operand, what, order_name(op.order));
    case Kind::compare:
      return fmt::format("replace {} by {} in {} ({})", op.expected, op.operand, what, order_name(op.order));
    case Kind::await:
      return fmt::format("wait until {} is {}{} ({})", what, op.differs ? "not " : "", op.expected,
                         order_name(op.order));
    case Kind::await_clear: return fmt::format("wait for {} without {} ({})", what, op.expected, order_name(op.order));
    case Kind::await_change:
      return fmt::format("wait to replace {} by {} in {} ({})", op.expected, op.operand, what, order_name(op.order));
    case Kind::fence: return fmt::format("fence ({})", order_name(op.order));
    case Kind::choose: return fmt::format("choose of {}", op.operand);
    case Kind::read: return fmt::format("read {}", what);
    case Kind::write: return fmt::format("write {} to {}", op.operand, what);
    case Kind::note: return fmt::format("note {} in {}", op.operand, what);
    case Kind::none: break;
  }
  return "end";
}

namespace {

struct ThreadState {
  std::vector<Value> results;
  Op pending;
  std::string failure;
};

struct State {
  Memory memory;
  std::vector<ThreadState> threads;
};

/// Two independent hashes of a state: that two states agree in both is not to be expected.
using Key = std::array<std::uint64_t, 2>;
struct KeyHash {
  std::size_t operator()(const Key& k) const { return k[0]; }
};

Key hash_of(const std::string& bytes) {
  Key k{0xcbf29ce484222325, 0x9e3779b97f4a7c15};
  for (const char c : bytes) {
    const auto b = static_cast<unsigned char>(c);
    k[0] = (k[0] ^ b) * 0x100000001b3;
    k[1] = (k[1] + b) * 0xff51afd7ed558ccd;
    k[1] ^= k[1] >> 29;
  }
  return k;
}

class Explorer {
 public:
  Explorer(const Protocol& protocol, const std::function<void(const Memory&)>& end, std::int64_t max_states)
      : protocol_(protocol), end_(end), max_states_(max_states) {}

  Exploration run() {
    State first{protocol_.memory(), std::vector<ThreadState>(static_cast<std::size_t>(protocol_.threads()))};
    bool fine = true;
    for (int t = 0; fine && t < protocol_.threads(); ++t) fine = run_plain(first, t);
    if (fine) visit(first);
    return std::move(found_);
  }

 private:
  /// Runs a thread again, up to its next access.
  void find_pending(ThreadState& state, int number) const {
    Thread thread(number);
    const Task<> task = protocol_.run(thread);
    thread.begin(task.handle());
    thread.go_on(0);
    for (const Value v : state.results) thread.go_on(v);
    state.pending = thread.pending();
    state.failure = thread.failure();
  }

  /// The thread's plain accesses up to its next atomic one. False: a property is broken.
  bool run_plain(State& s, int number) {
    ThreadState& thread = s.threads[static_cast<std::size_t>(number)];
    while (true) {
      find_pending(thread, number);
      if (!thread.failure.empty()) return fails(fmt::format("thread {}: {}", number, thread.failure));
      if (!thread.pending.is_plain()) return true;
      const Value v = s.memory.apply(number, thread.pending, 0);
      trace(number, thread.pending, v);
      if (!s.memory.race().empty())
        return fails(fmt::format("thread {}: {} {}", number, protocol_.describe(thread.pending), s.memory.race()));
      thread.results.push_back(v);
    }
  }

  /// False: a property is broken, and the search ends.
  bool visit(const State& s) {
    std::string key;
    s.memory.append_to(key);
    for (const ThreadState& t : s.threads) {
      key.push_back(static_cast<char>(t.results.size()));
      key.append(reinterpret_cast<const char*>(t.results.data()), t.results.size() * sizeof(Value));
    }
    if (!seen_.insert(hash_of(key)).second) return true;
    if (++found_.states > max_states_) return fails("more states than are looked at");
    bool any = false, ended = true, optional = false;
    std::string waits;
    for (int t = 0; t < protocol_.threads(); ++t) {
      const Op& op = s.threads[static_cast<std::size_t>(t)].pending;
      if (op.kind == Op::Kind::none) continue;
      ended = false;
      const std::vector<int> choices = s.memory.choices(t, op);
      if (choices.empty()) {
        optional = optional || op.optional;
        waits += fmt::format("{}thread {}: {}", waits.empty() ? "" : ", ", t, protocol_.describe(op));
      }
      for (const int choice : choices) {
        any = true;
        State next = s;
        const std::size_t depth = trace_.size();
        const Value v = next.memory.apply(t, op, choice);
        trace(t, op, v);
        next.threads[static_cast<std::size_t>(t)].results.push_back(v);
        if (!run_plain(next, t) || !visit(next)) return false;
        trace_.resize(depth);
      }
    }
    if (any) return true;
    if (!ended) return optional || fails("waits for ever: " + waits);
    ++found_.ends;
    if (end_) end_(s.memory);
    const std::string broken = protocol_.at_end(s.memory);
    return broken.empty() || fails("at the end: " + broken);
  }

  void trace(int thread, const Op& op, Value v) { trace_.push_back({thread, op, v}); }

  bool fails(std::string what) {
    found_.failure = std::move(what);
    for (const Step& s : trace_)
      found_.trace.push_back(fmt::format("thread {}: {} -> {}", s.thread, protocol_.describe(s.op), s.result));
    return false;
  }

  struct Step {
    int thread;
    Op op;
    Value result;
  };
  const Protocol& protocol_;
  const std::function<void(const Memory&)>& end_;
  const std::int64_t max_states_;
  std::unordered_set<Key, KeyHash> seen_;
  std::vector<Step> trace_;
  Exploration found_;
};

}  // namespace

Exploration explore(const Protocol& protocol, const std::function<void(const Memory&)>& end, std::int64_t max_states) {
  return Explorer(protocol, end, max_states).run();
}

}  // namespace sial::models
