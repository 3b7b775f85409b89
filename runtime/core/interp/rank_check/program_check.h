#pragma once
// --check on several ranks: what the comparison of the ranks' values (rank_check.h) sees of the machine, and when it is
// told of the program's steps. Does nothing where it was not asked for. Owned by the machine.

#include <memory>

#include "runtime/core/interp/blocks/operands.h"
#include "runtime/core/interp/blocks/persistent_marks.h"
#include "runtime/core/interp/control/pardo_run.h"
#include "runtime/core/interp/rank_check/rank_check.h"

namespace sial {

class ProgramCheck {
 public:
  ProgramCheck(const RunContext& context, const Registers& registers, const Position& position, const LoopStack& loops,
               const PardoRun& pardo, Operands& operands, const OwnBlocks& own, Statics& statics,
               const Regions& regions, const DeviceExecution& device);

  bool on() const { return check_ != nullptr; }
  /// Before an instruction.
  void step(Statement here) { check_->step(here.pc, loops_.calls().size(), pardo_.divided()); }
  /// Before the ranks synchronise.
  void synchronise(CollectiveKind kind, Statement here) {
    if (check_) check_->synchronise(kind, here.pc, pardo_.divided());
  }
  /// At the end of the program, of which the marks tell what is saved.
  void end(const PersistentMarks& marks, Statement here);

 private:
  using EachBlock = std::function<void(std::uint64_t block, const RankCheck::Content&)>;
  RankCheck::Content content(const FlowOperand& operand) const;
  RankCheck::Content content_of_array(ArrayId array) const;
  void each_block(ArrayId array, const EachBlock& f) const;
  void each_block_of_static(ArrayId array, const EachBlock& f) const;
  std::string name_of_block(ArrayId array, std::uint64_t key) const;

  const RunContext& context_;
  const Position& position_;
  const LoopStack& loops_;
  const PardoRun& pardo_;
  Operands& operands_;
  const OwnBlocks& own_;
  Statics& statics_;
  const Regions& regions_;
  const DeviceExecution& device_;
  std::unique_ptr<RankCheck> check_;
};

}  // namespace sial
