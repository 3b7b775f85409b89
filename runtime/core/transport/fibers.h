#pragma once
// Functions that take turns on one thread. Each has a stack of its own, so that it can stop anywhere, also in a
// destructor or in a handler of an exception. A switch makes no system call. All fibers must have ended before their
// set is destroyed.

#include <cstddef>
#include <functional>
#include <memory>

namespace sial {

class Fibers {
 public:
  /// Stands for whoever called run().
  static constexpr int caller = -1;
  /// The code of fiber `i`. It returns the fiber that goes on afterwards, and throws nothing.
  using Body = std::function<int(int i)>;

  /// The stack of a thread, and reserved as there: memory is taken when it is used.
  static constexpr std::size_t stack_bytes = std::size_t{8} << 20;

  Fibers(int count, Body body);
  ~Fibers();
  Fibers(const Fibers&) = delete;
  Fibers& operator=(const Fibers&) = delete;

  /// Starts with fiber `first`. Returns when a fiber has ended and named the caller.
  void run(int first);
  /// For the fiber that runs: lets `next` go on, which is another one and has not ended. Returns when somebody switches
  /// back.
  void switch_to(int next);

 private:
  struct Context;
  class Stacks;
  Context& context(int i) const;
  void switch_to(Context& next);
  [[noreturn]] void live(int i);
  void leave(Context& next, void** fake_stack);
  void arrive(void* before);

  const int count_;
  const Body body_;
  std::unique_ptr<Stacks> stacks_;
  std::unique_ptr<Context[]> contexts_;  // the caller's, then those of the fibers
  Context* running_ = nullptr;           // while they switch: who ran
  Context* next_ = nullptr;              // who is switched to
};

}  // namespace sial
