#pragma once
// fused: the element-wise statements after it are looked at one after the other, as if each ran, and what they would
// do to their block waits until the last one, or one that does not fit, and is then done in one pass. Whatever is
// unusual about a statement makes it run alone, after what waits. An error ends the run where it would have ended it
// otherwise: what waits is done first, and may fail itself. On a device the run is one operation of it, but for
// statements that the device cannot do, or has no room for beside the others.
//
// Owned by the machine, and kept from one `fused` instruction to the next for its memory; nothing waits between two.

#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "runtime/core/interp/operations/block_arithmetic.h"
#include "runtime/core/interp/operations/super_calls.h"
#include "runtime/core/kernels/elementwise/fused.h"

namespace sial {

struct Handlers;

class FusedGroup {
 public:
  FusedGroup(const RunContext& context, const Registers& registers, Position& position, DeviceExecution& device,
             Operands& operands, BlockArithmetic& arithmetic, SuperArguments& arguments, SuperCalls& calls,
             Profile& profile, Handlers& handlers);

  /// The instructions from the next one up to `end`.
  void run(std::int32_t end);
  /// An execute statement by itself; false: nothing is done, it is not element-wise, or the host has its block.
  bool run_on_device(const Instruction& in, Statement here);
  /// The members of the last run.
  std::span<const GroupMember> members() const { return members_; }

 private:
  void step(const Instruction& in, Statement here);
  void step_on_device(const Instruction& in, Statement here);
  void beside_elements(const Instruction& in, Statement here);
  template <class F>
  void alone(F&& statement);
  void own(std::int32_t target, Intent intent, Statement here);
  ConstView read(std::int32_t source, Statement here);
  void look_at_remote(std::int32_t ref);
  void change(kernels::FusedOp op, double value, std::int32_t target, Intent intent, Statement here);
  void copy(const Instruction& in, double alpha, double beta, Intent intent, Statement here);
  void sum(const Instruction& in, Statement here);
  void execute(const Instruction& in, Statement here);
  bool takes_energies(const Instruction& in) const;
  bool add_energies(const Instruction& in, SuperArg& target, Statement here);
  void add_step(const kernels::FusedStep& step);
  void begin_with(const MutableView& target, bool keep_last_energies);
  void carry_out();
  std::optional<SialError> pass_over_block(Statement first);
  void clear();

  const RunContext& context_;
  const Registers& registers_;
  Position& position_;
  DeviceExecution& device_;
  Operands& operands_;
  BlockArithmetic& arithmetic_;
  SuperArguments& arguments_;
  SuperCalls& calls_;
  Profile& profile_;
  Handlers& handlers_;

  // The work that waits to be done to one block:
  std::optional<kernels::FusedRunner> runner_;  // from the first group on
  MutableView target_;
  WrittenBlock written_;  // the target, with a device
  std::vector<kernels::FusedStep> steps_;
  std::vector<std::int32_t> pcs_;           // by step
  std::deque<EnergyDifferences> energies_;  // of steps of super instructions
  std::vector<SuperArg> blocks_;            // their targets
  std::vector<GroupMember> members_;        // of the whole run
  int remote_ = 0;                          // looks at remote blocks since the last pass
};

}  // namespace sial
