#pragma once
// Follows one program as the memory model does, but through every iteration that accesses remote blocks, and notes
// what the ranks of a node access: iterations in their order, dealt to the node's ranks in turn, as the static schedule
// does. Where data decide, both ways are followed, exits are not taken, and a loop that they would end takes twelve
// trips. Built, run once, destroyed.

#include <string>
#include <utility>
#include <vector>

#include "runtime/core/model/memory/control.h"
#include "runtime/core/model/spill/node_blocks.h"

namespace sial {

class AccessModel {
 public:
  /// `memory`: seen from a rank that draws every iteration and follows every access.
  AccessModel(const Module& module, std::int32_t sequence_number, std::int32_t first_place, JobMemory& memory,
              AccessSequence& sequence, PlannedNodeBlocks& blocks);
  /// Whether a run accesses these blocks in this order, whatever its data.
  bool run();
  const std::map<std::int32_t, PardoOrder>& orders() const { return control_.orders(); }

 private:
  void give();
  void step();
  void follow_groups(const Instruction& in);
  bool remote(const Instruction& in);
  bool persist(const Instruction& in);
  void operands(const Instruction& in);
  void execute(const Instruction& in);
  void read(std::int32_t ref);
  void put(std::int32_t ref, SetOp op);
  void barrier();
  void finish();

  ModelContext context_;
  AccessSequence& sequence_;
  PlannedNodeBlocks& blocks_;
  IterationShare share_;
  PlannedRegisters registers_{context_.module, context_.memory.job};
  ModelIndices indices_{context_};
  ModelOwnBlocks own_{context_, share_};
  ModelControl control_{context_, registers_, indices_, own_, share_};
  std::vector<std::pair<ArrayId, std::string>> marked_;  // by set_persistent
  std::uint16_t rank_ = 0;
  std::int64_t iterations_ = 0;  // of pardos since the barrier
  const std::int64_t ranks_;     // of the node
};

}  // namespace sial
