#pragma once
// Saving a machine at a barrier and going on from there: each part writes and reads what is its own. Between barriers a
// rank holds nothing of the store's, and no pardo is active at one: the registers, stacks, own blocks and the blocks of
// the remote arrays are all there is. Owned by the machine.

#include <cstdint>

#include "runtime/interp/blocks/own_blocks.h"
#include "runtime/interp/blocks/regions.h"
#include "runtime/interp/blocks/statics.h"
#include "runtime/interp/control/progress_meter.h"
#include "runtime/interp/operations/persistent_marks.h"

namespace sial {

class MachineState {
 public:
  MachineState(const RunContext& context, Registers& registers, Position& position, LoopStack& loops,
               ProgressMeter& progress, OwnBlocks& own, Statics& statics, Regions& regions, PersistentMarks& marks);

  void write(RecordWriter& writer) const;
  /// The reader is at the machine's first record. Collective: ends with a barrier.
  void read(RecordReader& reader);

 private:
  void write_remote(std::int32_t array, RecordWriter& writer) const;
  void read_own(const RecordReader& reader);
  void read_blocks(RecordReader& reader);
  void read_own_block(std::uint32_t type, const RecordReader& reader);
  std::int64_t size_of_block(std::int32_t array, const BlockIndex& block) const;

  const RunContext& context_;
  Registers& registers_;
  Position& position_;
  LoopStack& loops_;
  ProgressMeter& progress_;
  OwnBlocks& own_;
  Statics& statics_;
  Regions& regions_;
  PersistentMarks& marks_;
};

}  // namespace sial
