#pragma once
// Saving a machine at a barrier and going on from there: each part writes and reads what is its own. Between barriers a
// rank holds nothing of the store's, and no pardo is active at one: the registers, stacks, own blocks and the blocks of
// the remote arrays are all there is. On another number of ranks the files are shared out
// (runtime/core/interp/run/redistribution.h). Owned by the machine.

#include <cstdint>

#include "runtime/core/interp/blocks/own_blocks.h"
#include "runtime/core/interp/blocks/persistent_marks.h"
#include "runtime/core/interp/blocks/regions.h"
#include "runtime/core/interp/blocks/statics.h"
#include "runtime/core/interp/context/saved_machine.h"
#include "runtime/core/interp/control/progress_meter.h"

namespace sial {

class CheckpointFiles;

class MachineState {
 public:
  MachineState(const RunContext& context, Registers& registers, Position& position, LoopStack& loops,
               ProgressMeter& progress, OwnBlocks& own, Statics& statics, Regions& regions, PersistentMarks& marks);

  /// Writes the rank's private state, then its share of the blocks.
  void write_own(RecordSink& sink) const;
  void write_blocks(RecordSink& sink) const;
  /// Collective: ends with a barrier.
  void read(const CheckpointFiles& files);

 private:
  void write_remote(ArrayId array, RecordSink& sink) const;
  SavedMachine read_file(RecordReader& reader) const;
  SavedMachine share_of(const CheckpointFiles& files);
  void take_own(const SavedMachine& saved, const CheckpointFile& file);
  void take_record(const SavedRecord& record, const CheckpointFile& file);
  void read_blocks(RecordReader& reader);
  std::int64_t size_of_block(ArrayId array, const BlockIndex& block) const;

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
