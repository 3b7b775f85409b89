#pragma once
// This rank's blocks of temp and local arrays: made at the first write, shared where the plan says so, freed at the end
// of the iteration that made them (temps) or by the program (locals). Memory can have several holders; whoever writes
// makes sure first that the block is the only one. Owned by the machine.

#include <cstdint>
#include <vector>

#include "runtime/interp/blocks/block_map.h"
#include "runtime/interp/operations/put_execution.h"

namespace sial {

class Packer;
class RecordReader;
class RecordWriter;
class Unpacker;

class OwnBlocks {
 public:
  OwnBlocks(const RunContext& context, const DeviceExecution& device, BlockMemory& memory, PutExecution& puts,
            Profile& profile);

  /// Null where the block does not exist. The memory is looked at only.
  double* find(std::int32_t array, std::uint64_t key) {
    const BlockMap::Entry* found = blocks_[array].find(key);
    return found ? found->data : nullptr;
  }
  const BlockMap& of(std::int32_t array) const { return blocks_[array]; }

  /// Memory that this block alone holds; null where the block does not exist. `keep`: its values matter. Memory that
  /// it shared stays as it is until the statement has ended.
  double* find_to_write(std::int32_t array, std::uint64_t key, bool keep, Statement here) {
    BlockMap::Entry* found = blocks_[array].find(key);
    return found ? unshared(array, *found, keep, here) : nullptr;
  }
  /// A block that does not exist, with values that mean nothing.
  double* make(std::int32_t array, std::uint64_t key, std::int64_t size);
  /// The block has this memory from now on, as one of its holders.
  void share(std::int32_t array, std::uint64_t key, double* data, std::int64_t size);
  /// The block must exist.
  void free(std::int32_t array, std::uint64_t key);
  void drop_retired() noexcept;

  /// Temps by the order in which they were made: loops free those that came after a mark.
  std::size_t temp_count() const { return temps_.size(); }
  void free_temps(std::size_t mark);
  /// The temp ends before its loop does; `mark`: of the present iteration.
  void free_temp(std::int32_t array, std::uint64_t key, std::size_t mark);
  /// The temp, if it came after `mark`, counts as the first behind it from now on. Returns where it was, or npos.
  static constexpr std::size_t npos = SIZE_MAX;
  std::size_t move_temp(std::int32_t array, std::uint64_t key, std::size_t mark);

  // Checkpoints: the order of temps is part of the machine's record, each block has one of its own.
  void write_temps(Packer& packer) const;
  void read_temps(Unpacker& unpacker);
  /// Every temp that is to be freed at the end of a loop is there, once.
  bool temps_fit();
  void write_blocks(std::int32_t array, RecordWriter& writer) const;
  void read_block(std::int32_t array, Unpacker& head, const RecordReader& reader);

  /// When the machine goes.
  void release_all() noexcept;

 private:
  struct TempEntry {
    std::int32_t array = 0;  // negative: freed before
    std::uint64_t key = 0;
  };
  double* unshared(std::int32_t array, BlockMap::Entry& entry, bool keep, Statement here) {
    return memory_.sole(entry.data) ? entry.data : leave_shared(array, entry, keep, here);
  }
  double* leave_shared(std::int32_t array, BlockMap::Entry& entry, bool keep, Statement here);
  void insert(std::int32_t array, std::uint64_t key, double* data, std::int64_t size);
  std::int64_t size_of_key(std::int32_t array, std::uint64_t key) const;

  const RunContext& context_;
  const DeviceExecution& device_;
  BlockMemory& memory_;
  PutExecution& puts_;
  Profile& profile_;
  std::vector<BlockMap> blocks_;  // per array
  std::vector<TempEntry> temps_;
  // What a write to shared memory left: an operand of the same statement may still be read from it.
  std::vector<BlockMap::Entry> retired_;
  std::int32_t retired_at_ = -1;
};

}  // namespace sial
