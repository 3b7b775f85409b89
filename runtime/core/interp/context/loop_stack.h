#pragma once
// The place of a program: the instruction it carries out and the next one, the loops that are open and the procedures
// that run. Owned by the machine.

#include <cstdint>
#include <vector>

#include "runtime/core/bytecode/evaluate/control_flow.h"
#include "runtime/core/bytecode/evaluate/temp_lifetimes.h"
#include "runtime/core/device/cache/statement.h"

namespace sial {

struct RunContext;
class Packer;
class Registers;
class Unpacker;

/// The program counter.
class Position {
 public:
  Statement current() const { return {at_}; }
  std::int32_t next_pc() const { return next_; }
  /// The next instruction is the current one now.
  Statement advance() { return {at_ = next_++}; }
  void jump(std::int32_t pc) { next_ = pc; }
  /// Stands at an instruction, with `next` after it.
  void set(std::int32_t at, std::int32_t next) {
    at_ = at;
    next_ = next;
  }
  bool halted() const { return halted_; }
  void halt(bool on = true) { halted_ = on; }

 private:
  std::int32_t next_ = 0, at_ = 0;
  bool halted_ = false;
};

struct LoopFrame {
  std::int32_t loop = 0;
  IndexId index;  // of do and sub; pardos keep their state elsewhere
  std::int32_t value = 0, hi = 0;
};

class LoopStack {
 public:
  LoopStack() { loops_.reserve(64); }

  const std::vector<LoopFrame>& loops() const { return loops_; }
  std::size_t depth() const { return loops_.size(); }
  LoopFrame& innermost() { return loops_.back(); }
  void push(const LoopFrame& frame) { loops_.push_back(frame); }
  void pop() { loops_.pop_back(); }

  const std::vector<CallFrame>& calls() const { return calls_; }
  void push_call(const CallFrame& frame) { calls_.push_back(frame); }
  CallFrame pop_call() {
    const CallFrame frame = calls_.back();
    calls_.pop_back();
    return frame;
  }
  /// The call instructions of the open procedures.
  std::vector<std::int32_t> call_places() const;

  /// With each loop are the marks of its temps; read() returns them.
  void write(Packer& packer, const std::vector<TempLifetimes::Marks>& marks) const;
  std::vector<TempLifetimes::Marks> read(Unpacker& unpacker);
  /// Whether the stacks are those of a program that goes on at the instruction, with the indices at values of its
  /// loops: nothing checks them later.
  bool fits(const RunContext& context, const Registers& registers, std::int32_t pc) const;

 private:
  bool loops_fit(const RunContext& context, const Registers& registers,
                 const std::vector<std::int32_t>& expected) const;

  std::vector<LoopFrame> loops_;
  std::vector<CallFrame> calls_;
};

}  // namespace sial
