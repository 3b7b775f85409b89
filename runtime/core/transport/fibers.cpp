#include "runtime/core/transport/fibers.h"

#include <cxxabi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <utility>

#include <boost/context/detail/fcontext.hpp>

#include "runtime/core/base/check.h"
#include "runtime/core/base/error.h"

// Sanitizers have to hear of every switch. Only programs that are built with one have its functions.
// NOLINTBEGIN(bugprone-reserved-identifier): the sanitizers' names
extern "C" {
[[gnu::weak]] void __sanitizer_start_switch_fiber(void** fake_stack, const void* stack, std::size_t bytes);
[[gnu::weak]] void __sanitizer_finish_switch_fiber(void* fake_stack, const void** old_stack, std::size_t* old_bytes);
[[gnu::weak]] void __asan_unpoison_memory_region(const volatile void* begin, std::size_t bytes);
[[gnu::weak]] void* __tsan_get_current_fiber();
[[gnu::weak]] void* __tsan_create_fiber(unsigned flags);
[[gnu::weak]] void __tsan_destroy_fiber(void* fiber);
[[gnu::weak]] void __tsan_switch_to_fiber(void* fiber, unsigned flags);
}
// NOLINTEND(bugprone-reserved-identifier)

namespace sial {

struct Fibers::Context {
  void* stopped_at = nullptr;  // null: it runs
  bool ended = false;
  // The exceptions that are being handled, and how many are unwinding: what the C++ runtime keeps per thread
  // (`__cxa_eh_globals` of the Itanium ABI).
  struct Exceptions {
    void* caught;
    unsigned int uncaught;
  } exceptions{};
  // For sanitizers.
  const void* stack = nullptr;
  std::size_t bytes = 0;
  void* fake_stack = nullptr;
  void* thread = nullptr;
};

/// In one range of addresses, each above a page that faults.
class Fibers::Stacks {
 public:
  explicit Stacks(int count)
      : guard_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))),
        bytes_(static_cast<std::size_t>(count) * (guard_ + stack_bytes)) {
    void* const range =
        mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (range == MAP_FAILED) throw no_room(count);
    base_ = static_cast<std::byte*>(range);
    for (int i = 0; i < count; ++i)
      if (mprotect(lowest(i), stack_bytes, PROT_READ | PROT_WRITE) != 0) {
        munmap(base_, bytes_);
        throw no_room(count);
      }
  }
  ~Stacks() {
    // The last frames of each fiber have not returned: ASan would take them for frames of whoever gets this range next.
    if (__asan_unpoison_memory_region) __asan_unpoison_memory_region(base_, bytes_);
    munmap(base_, bytes_);
  }
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;

  std::byte* lowest(int i) const { return base_ + static_cast<std::size_t>(i) * (guard_ + stack_bytes) + guard_; }

 private:
  static EnvironmentError no_room(int count) {
    return {fmt::format("the system has no room for {} stacks of {} bytes", count, stack_bytes),
            "simulate fewer ranks, or raise `ulimit -v`"};
  }

  const std::size_t guard_, bytes_;
  std::byte* base_ = nullptr;
};

Fibers::Fibers(int count, Body body)
    : count_(count),
      body_(std::move(body)),
      stacks_(std::make_unique<Stacks>(count)),
      contexts_(std::make_unique<Context[]>(static_cast<std::size_t>(count) + 1)) {
  const auto entry = [](boost::context::detail::transfer_t from) {
    Fibers& set = *static_cast<Fibers*>(from.data);
    set.arrive(from.fctx);
    set.live(static_cast<int>(set.running_ - &set.context(0)));
  };
  for (int i = 0; i < count; ++i) {
    Context& c = context(i);
    c.stack = stacks_->lowest(i);
    c.bytes = stack_bytes;
    c.stopped_at = boost::context::detail::make_fcontext(stacks_->lowest(i) + stack_bytes, stack_bytes, entry);
    if (__tsan_create_fiber) c.thread = __tsan_create_fiber(0);
  }
}

Fibers::~Fibers() {
  for (int i = 0; i < count_; ++i)
    if (__tsan_destroy_fiber) __tsan_destroy_fiber(context(i).thread);
}

Fibers::Context& Fibers::context(int i) const { return contexts_[static_cast<std::size_t>(i + 1)]; }

void Fibers::run(int first) {
  running_ = &context(caller);
  if (__tsan_get_current_fiber) running_->thread = __tsan_get_current_fiber();
  switch_to(context(first));
}

void Fibers::switch_to(int next) { switch_to(context(next)); }

// The call of __tsan_switch_to_fiber stands in the function that switches: TSan counts calls and returns per fiber.
void Fibers::switch_to(Context& next) {
  SIAL_CHECK(next.stopped_at && !next.ended, "a switch to a fiber that {}", next.ended ? "has ended" : "runs");
  leave(next, &running_->fake_stack);
  if (__tsan_switch_to_fiber) __tsan_switch_to_fiber(next.thread, 0);
  arrive(boost::context::detail::jump_fcontext(std::exchange(next.stopped_at, nullptr), this).fctx);
}

void Fibers::live(int i) {
  Context& next = context(body_(i));
  running_->ended = true;
  leave(next, nullptr);
  if (__tsan_switch_to_fiber) __tsan_switch_to_fiber(next.thread, 0);
  boost::context::detail::jump_fcontext(std::exchange(next.stopped_at, nullptr), this);
  SIAL_CHECK(false, "fiber {} goes on after its end", i);
  std::abort();
}

/// Before the stack is left. A null `fake_stack`: for ever.
void Fibers::leave(Context& next, void** fake_stack) {
  std::memcpy(&running_->exceptions, abi::__cxa_get_globals(), sizeof running_->exceptions);
  next_ = &next;
  if (__sanitizer_start_switch_fiber) __sanitizer_start_switch_fiber(fake_stack, next.stack, next.bytes);
}

/// On the stack that was switched to.
void Fibers::arrive(void* before) {
  running_->stopped_at = before;
  if (__sanitizer_finish_switch_fiber)
    __sanitizer_finish_switch_fiber(next_->fake_stack, &running_->stack, &running_->bytes);
  running_ = next_;
  std::memcpy(static_cast<void*>(abi::__cxa_get_globals()), &running_->exceptions, sizeof running_->exceptions);
}

}  // namespace sial
