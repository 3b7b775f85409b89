#pragma once
// Counts and times while a program runs: instructions and block operations, computation and waiting, block copies made
// and spared, the kernels of block operations, and the time of every instruction where that is wanted.
// Counters and costs by line come out of it when the program ends. Owned by the machine.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/core/interp/context/run_context.h"
#include "runtime/core/stats/counter_field.h"

namespace sial {

/// Rough costs on this machine, for the simulator's clock: of an element moved, and of a floating operation.
inline constexpr double seconds_per_element = 1e-9, seconds_per_flop = 1e-10;

/// An instruction of a fused group, and what it has of the group's time: its waiting, and its share of the rest.
struct GroupMember {
  std::int32_t pc = 0;
  double waited = 0.0, weight = 0.0;
};

class Profile {
 public:
  class Computing;

  explicit Profile(const RunContext& context);

  bool by_instruction() const { return context_.options.profile; }

  void count_instructions(std::int64_t n) { instructions_ += n; }
  void count_iteration() { ++iterations_; }
  void count_block_operation() { ++block_operations_; }
  /// Leaves a fused statement that does not fit its group and runs by itself out of the count.
  void take_back_block_operation() { --block_operations_; }
  void count_super_instruction() { ++super_instructions_; }
  void add_flops(double flops) { flops_ += flops; }

  /// A block of the array was copied by the statement, or would have been but for the plan.
  void count_copied(Statement here, ArrayId array, std::int64_t elements) { count(copied_, here, array, elements); }
  void count_elided(Statement here, ArrayId array, std::int64_t elements) { count(elided_, here, array, elements); }

  /// Counts an operation of the statement. The text to fill when it is the largest so far, else null.
  std::string* record_kernel(Statement here, const char* method, double flops, double bytes, double seconds);
  /// A collective operation that began at `begin` has ended.
  void end_collective(Statement here, double begin);

  /// When computation was last found to end.
  double clock() const { return clock_; }
  /// More work came after what was timed.
  void clock_is_behind() { clock_ = 0; }

  double compute_seconds() const { return compute_seconds_; }
  double flops() const { return flops_; }
  void begin_program(double now) { begin_ = now; }
  double begun() const { return begin_; }
  void add_light_time(double seconds) { light_seconds_ += seconds; }
  void count_execution(std::int32_t pc) { ++instruction_costs_[pc].executions; }
  void add_cost(std::int32_t pc, double seconds, double compute, double flops) {
    InstructionCost& cost = instruction_costs_[pc];
    ++cost.executions;
    cost.seconds += seconds;
    cost.compute += compute;
    cost.flops += flops;
  }
  /// Gives the time of a `fused` instruction to the statements that ran in it.
  void share_cost(std::span<const GroupMember> members, double seconds, double compute);

  /// Adds what was counted so far, costs by line included.
  void add_to(Stats& stats) const;
  std::vector<LineCost> line_costs() const;

 private:
  struct InstructionCost {
    std::int64_t executions = 0;
    double seconds = 0, compute = 0, flops = 0;
  };
  struct Copies {
    std::int64_t blocks = 0, bytes = 0;
  };
  using CopyCounts = std::map<std::pair<std::int32_t, ArrayId>, Copies>;  // by instruction and array
  struct KernelUse {
    std::int64_t calls = 0;
    double flops = 0, bytes = 0, seconds = 0, largest = -1;
    std::string why;
  };

  static void count(CopyCounts& what, Statement here, ArrayId array, std::int64_t elements) {
    Copies& at = what[{here.pc, array}];
    ++at.blocks;
    at.bytes += elements * 8;
  }
  std::vector<CopyCost> copy_costs() const;
  std::vector<KernelCost> kernel_costs() const;

  const RunContext& context_;
  std::vector<InstructionCost> instruction_costs_;
  double light_seconds_ = 0;  // of instructions too short to be timed one by one
  double begin_ = 0;          // of the program, where time is measured
  double clock_ = 0;
  double compute_seconds_ = 0, collective_seconds_ = 0, flops_ = 0;
#define COUNTED_machine(field) field
#define COUNTER(number, name, unit, combine, by, meaning) COUNTER_FIELD(unit, COUNTED_##by)
#include "runtime/core/stats/counters.def"
  CopyCounts copied_, elided_;
  std::map<std::pair<std::int32_t, const char*>, KernelUse> kernel_uses_;  // by instruction and method
};

/// The time of computation: what a scope takes counts as such, on the counter, in the trace, and as the end of the
/// instruction for the profile, which then need not read the clock again. One scope at a time, on the stack.
class Profile::Computing {
 public:
  Computing(Profile& profile, Statement here) : profile_(profile), here_(here), begin_(profile.context_.now()) {}
  ~Computing() {
    const RunContext& context = profile_.context_;
    const double end = context.now();
    profile_.compute_seconds_ += end - begin_;
    profile_.clock_ = end;
    if (context.env.trace) context.env.trace->add(TraceKind::compute, context.place(here_), begin_, end);
  }
  double begin() const { return begin_; }
  Computing(const Computing&) = delete;
  Computing& operator=(const Computing&) = delete;

 private:
  Profile& profile_;
  const Statement here_;
  const double begin_;
};

}  // namespace sial
