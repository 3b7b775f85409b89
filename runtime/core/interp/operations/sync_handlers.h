#pragma once
// Barriers and collectives.

#include "runtime/core/interp/operations/barrier.h"

namespace sial {

class SyncHandlers {
 public:
  SyncHandlers(const RunContext& context, Registers& registers, Statics& statics, const PardoRun& pardo,
               ProgramCheck& check, Barrier& barrier, Profile& profile)
      : context_(context),
        registers_(registers),
        statics_(statics),
        pardo_(pardo),
        check_(check),
        barrier_(barrier),
        profile_(profile) {}

  void op_barrier(const Instruction&, Statement here) { barrier_.pass(here); }
  void op_collective_sum(const Instruction& in, Statement here);
  void op_assert_same(const Instruction& in, Statement here);
  void op_broadcast(const Instruction& in, Statement here);

 private:
  void charge_broadcast(double bytes) const;
  void require_same_root(std::int32_t root, const std::string& array, Statement here) const;

  const RunContext& context_;
  Registers& registers_;
  Statics& statics_;
  const PardoRun& pardo_;
  ProgramCheck& check_;
  Barrier& barrier_;
  Profile& profile_;
};

}  // namespace sial
