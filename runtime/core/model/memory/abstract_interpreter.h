#pragma once
// The abstract interpreter: follows a program's instructions with numbers of ints and indices, but no data, and keeps
// the books of its memory. A condition that depends on data is taken both ways, one after the other; what is assigned
// on such a path is unknown afterwards. Built, run once, destroyed. Its parts have a file each:
//
//   context.h        the program bound to the job, and the books
//   indices.h        values of indices; which blocks a reference means
//   own_blocks.h     temps, locals, statics and regions
//   remote_blocks.h  remote arrays
//   operands.h       views of operands, and workspace of block operations
//   control.h        loops, calls, conditions, division of pardos

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/core/model/memory/control.h"
#include "runtime/core/model/memory/operands.h"

namespace sial {

class AbstractInterpreter {
 public:
  AbstractInterpreter(const Module& module, std::int32_t sequence, JobMemory& memory)
      : context_(module, sequence, memory) {}
  ProgramNeed run();

 private:
  void step();
  bool control_memory(const Instruction& in);
  bool communicate(const Instruction& in);
  bool persist(const Instruction& in);
  void alias(const Instruction& in);
  void put(std::int32_t ref, std::optional<std::int32_t> source, SetOp op);
  void put_move(const Instruction& in);
  void execute(const Instruction& in);
  std::optional<MutableView> argument(const ArgRow& arg, char letter);
  void barrier();
  void finish();
  template <class F>
  void each_block(std::int32_t ref, F&& f);

  ModelContext context_;
  IterationShare share_;
  PlannedRegisters registers_{context_.module, context_.memory.job};
  ModelIndices indices_{context_};
  ModelOwnBlocks own_{context_, share_};
  ModelRemoteBlocks remote_{context_, share_};
  ModelOperands operands_{context_, indices_, own_, remote_};
  ModelWork work_{context_, operands_};
  ModelControl control_{context_, registers_, indices_, own_, share_};
  std::set<std::int32_t> executed_;                      // specials of the module
  std::vector<std::pair<ArrayId, std::string>> marked_;  // by set_persistent
};

}  // namespace sial
