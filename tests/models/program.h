#pragma once
// Threads of a model, written as coroutines: each access to the model's memory is awaited, and the explorer decides
// what it yields. A coroutine may depend on nothing but what its accesses have yielded, since the explorer runs it
// again from its start, with the same results, for each way in which it may go on.

#include <coroutine>
#include <cstdlib>
#include <exception>
#include <string>
#include <utility>

#include "tests/models/memory.h"

namespace sial::models {

/// A coroutine that yields a value to the one that awaits it.
template <class T>
class Task;

namespace detail {

struct PromiseBase {
  std::coroutine_handle<> caller;
  std::suspend_always initial_suspend() noexcept { return {}; }
  struct Final {
    bool await_ready() noexcept { return false; }
    template <class P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) noexcept {
      return h.promise().caller ? h.promise().caller : std::noop_coroutine();
    }
    void await_resume() noexcept {}
  };
  Final final_suspend() noexcept { return {}; }
  [[noreturn]] void unhandled_exception() { std::abort(); }
};

template <class T>
struct Promise : PromiseBase {
  T value{};
  Task<T> get_return_object();
  void return_value(T v) { value = v; }
  T result() { return value; }
};
template <>
struct Promise<void> : PromiseBase {
  Task<void> get_return_object();
  void return_void() {}
  void result() {}
};

}  // namespace detail

template <class T = void>
class [[nodiscard]] Task {
 public:
  using promise_type = detail::Promise<T>;
  using Handle = std::coroutine_handle<promise_type>;
  Task() = default;
  explicit Task(Handle handle) : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Task() {
    if (handle_) handle_.destroy();
  }
  Handle handle() const { return handle_; }

  bool await_ready() const { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> caller) {
    handle_.promise().caller = caller;
    return handle_;
  }
  T await_resume() { return handle_.promise().result(); }

 private:
  Handle handle_;
};

template <class T>
Task<T> detail::Promise<T>::get_return_object() {
  return Task<T>(std::coroutine_handle<Promise<T>>::from_promise(*this));
}
inline Task<void> detail::Promise<void>::get_return_object() {
  return Task<void>(std::coroutine_handle<Promise<void>>::from_promise(*this));
}

/// Orders of a place in the program; `failure` of a compare_exchange that fails.
struct Orders {
  std::memory_order order = std::memory_order_relaxed, failure = std::memory_order_relaxed;
  Orders(std::memory_order o) : order(o) {}
  Orders(std::memory_order o, std::memory_order f) : order(o), failure(f) {}
};

/// What a thread of a model does. Everything but require() and number() is to be awaited.
class Thread {
 public:
  explicit Thread(int number) : number_(number) {}
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;

  struct Access {
    Thread& thread;
    Op op;
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> leaf) {
      thread.pending_ = op;
      thread.leaf_ = leaf;
    }
    Value await_resume() const { return thread.result_; }
  };
  /// Yields whether it has replaced the value; `seen`: what it has read.
  struct Comparison : Access {
    Value& seen;
    bool await_resume() const { return (seen = thread.result_) == op.expected; }
  };
  using Kind = Op::Kind;

  Access load(Atomic a, Orders o) { return {*this, make(Kind::load, a.index, o)}; }
  Access store(Atomic a, Value v, Orders o) { return {*this, make(Kind::store, a.index, o, v)}; }
  Access exchange(Atomic a, Value v, Orders o) { return {*this, make(Kind::exchange, a.index, o, v)}; }
  Access add(Atomic a, Value v, Orders o) { return {*this, make(Kind::add, a.index, o, v)}; }
  Comparison compare(Atomic a, Value& expected, Value v, Orders o) {
    return {{*this, make(Kind::compare, a.index, o, v, expected)}, expected};
  }
  Access fence(std::memory_order o) { return {*this, make(Kind::fence, 0, o)}; }
  /// The last load of a loop of loads, which reads `v`; what is read without effect before is left out.
  Access await_equal(Atomic a, Value v, Orders o) { return {*this, make(Kind::await, a.index, o, 0, v)}; }
  Access await_other(Atomic a, Value v, Orders o, bool optional = false) {
    Op op = make(Kind::await, a.index, o, 0, v);
    op.differs = true;
    op.optional = optional;
    return {*this, op};
  }
  /// As await_equal(), where the loop may also end by something else: what the executions do that never get here is not
  /// looked at.
  Access perhaps_equal(Atomic a, Value v, Orders o) {
    Op op = make(Kind::await, a.index, o, 0, v);
    op.optional = true;
    return {*this, op};
  }
  Access await_clear(Atomic a, Value bits, Orders o) { return {*this, make(Kind::await_clear, a.index, o, 0, bits)}; }
  /// The last exchange of a loop of exchanges, which reads `v` and writes `to`.
  Access await_change(Atomic a, Value v, Value to, Orders o) {
    return {*this, make(Kind::await_change, a.index, o, to, v)};
  }
  /// Any of the numbers from 0 to n - 1.
  Access choose(Value n) { return {*this, make(Kind::choose, 0, std::memory_order_relaxed, n)}; }
  Access read(Plain p) { return {*this, make(Kind::read, p.index, std::memory_order_relaxed)}; }
  Access write(Plain p, Value v) { return {*this, make(Kind::write, p.index, std::memory_order_relaxed, v)}; }
  Access note(Ghost g, Value v = 1) { return {*this, make(Kind::note, g.index, std::memory_order_relaxed, v)}; }

  void require(bool holds, const char* property) {
    if (!holds && failure_.empty()) failure_ = property;
  }
  int number() const { return number_; }

  // --- for the explorer
  void begin(std::coroutine_handle<> h) { leaf_ = h; }
  /// Up to the next access, which pending() is then; its kind is none when there is no more.
  void go_on(Value result) {
    result_ = result;
    pending_ = {};
    leaf_.resume();
  }
  const Op& pending() const { return pending_; }
  const std::string& failure() const { return failure_; }

 private:
  static Op make(Kind kind, int location, Orders o, Value operand = 0, Value expected = 0) {
    Op op;
    op.kind = kind;
    op.location = static_cast<std::uint8_t>(location);
    op.order = o.order;
    op.failure = o.failure;
    op.operand = operand;
    op.expected = expected;
    return op;
  }
  const int number_;
  std::coroutine_handle<> leaf_;
  Op pending_;
  Value result_ = 0;
  std::string failure_;
};

}  // namespace sial::models
