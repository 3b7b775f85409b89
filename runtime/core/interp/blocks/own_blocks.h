#pragma once
// This rank's blocks of temp and local arrays: made at the first write, shared where the plan says so, freed at the end
// of the iteration that made them (temps) or by the program (locals). Memory can have several holders; whoever writes
// makes sure first that the block is the only one. Owned by the machine.

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/core/bytecode/evaluate/temp_lifetimes.h"
#include "runtime/core/interp/blocks/block_map.h"
#include "runtime/core/interp/blocks/put_execution.h"

namespace sial {

class CheckpointFile;
class Packer;
class RecordSink;
class Unpacker;

class OwnBlocks {
 public:
  OwnBlocks(const RunContext& context, const DeviceExecution& device, BlockMemory& memory, PutExecution& puts,
            Profile& profile);

  /// Null where the block does not exist. The memory is looked at only.
  double* find(ArrayId array, std::uint64_t key) {
    const BlockMap::Entry* found = blocks_[array.at()].find(key);
    return found ? found->data : nullptr;
  }
  const BlockMap& of(ArrayId array) const { return blocks_[array.at()]; }

  /// Memory that this block alone holds; null where the block does not exist. `keep`: its values matter. Memory that
  /// it shared stays as it is until the statement has ended.
  double* find_to_write(ArrayId array, std::uint64_t key, bool keep, Statement here) {
    BlockMap::Entry* found = blocks_[array.at()].find(key);
    return found ? unshared(array, *found, keep, here) : nullptr;
  }
  /// A block that does not exist, with values that mean nothing.
  double* make(ArrayId array, std::uint64_t key, std::int64_t size);
  /// The block has this memory from now on, as one of its holders.
  void share(ArrayId array, std::uint64_t key, double* data, std::int64_t size);
  /// The block must exist.
  void free(ArrayId array, std::uint64_t key);
  /// Drops memory that a write to shared memory left: the statement has ended.
  void drop_retired() noexcept {
    if (!retired_.empty()) release_retired();
  }

  // When temps end: with the iteration that made them, unless the plan says otherwise.
  void enter_loop() { temps_.enter_loop(); }
  void end_iteration() {
    drop_retired();
    temps_.end_iteration([this](TempBlock t) { free(t.array, t.key); });
  }
  void leave_loop() {
    drop_retired();
    temps_.leave_loop([this](TempBlock t) { free(t.array, t.key); });
  }
  void end_temps() {
    drop_retired();
    temps_.end_all([this](TempBlock t) { free(t.array, t.key); });
  }
  /// The temp ends before its iteration does.
  void free_temp(ArrayId array, std::uint64_t key) {
    free(array, key);
    temps_.freed(array, key);
  }
  /// It lives on to the end of the loop that is `levels` loops out, 1: the innermost.
  void keep_temp(ArrayId array, std::uint64_t key, std::size_t levels) { temps_.keep(array, key, levels); }
  const std::vector<TempLifetimes::Marks>& temp_marks() const { return temps_.marks(); }

  // Checkpoints: the order of temps is part of the machine's record, each block has one of its own.
  void write_temps(Packer& packer) const;
  /// False where temps and marks do not fit each other.
  bool read_temps(Unpacker& unpacker, std::vector<TempLifetimes::Marks> marks);
  /// Every temp that is to be freed at the end of a loop is there, once.
  bool temps_fit();
  void write_blocks(ArrayId array, RecordSink& sink) const;
  void read_block(ArrayId array, Unpacker& head, std::span<const double> data, const CheckpointFile& file);

  /// When the machine goes.
  void release_all() noexcept;

 private:
  double* unshared(ArrayId array, BlockMap::Entry& entry, bool keep, Statement here) {
    return memory_.sole(entry.data) ? entry.data : leave_shared(array, entry, keep, here);
  }
  double* leave_shared(ArrayId array, BlockMap::Entry& entry, bool keep, Statement here);
  void release_retired() noexcept;
  void insert(ArrayId array, std::uint64_t key, double* data, std::int64_t size);
  std::int64_t size_of_key(ArrayId array, std::uint64_t key) const;

  const RunContext& context_;
  const DeviceExecution& device_;
  BlockMemory& memory_;
  PutExecution& puts_;
  Profile& profile_;
  std::vector<BlockMap> blocks_;  // per array
  TempLifetimes temps_;
  // Memory that a write to shared memory left: an operand of the same statement may still be read from it.
  std::vector<BlockMap::Entry> retired_;
  std::int32_t retired_at_ = -1;
};

}  // namespace sial
