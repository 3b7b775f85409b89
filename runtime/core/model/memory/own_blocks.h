#pragma once
// Temps, locals, statics and regions of the rank in the memory model, with the memory that they would have. Part of a
// model.

#include <optional>

#include "runtime/core/bytecode/evaluate/temp_lifetimes.h"
#include "runtime/core/model/memory/context.h"
#include "runtime/core/model/memory/iteration_share.h"
#include "runtime/core/model/memory/registers.h"

namespace sial {

class ModelOwnBlocks {
 public:
  ModelOwnBlocks(ModelContext& context, const IterationShare& share);

  // --- temps and locals
  /// Memory of a block that is to be written: made where there is none, and of its own where it was shared.
  double* to_write(const ResolvedReference& ref, const Located& at);
  /// Null where there is none.
  const ModelMemory* find(ArrayId array, std::uint64_t key) const;
  void free(ArrayId array, std::uint64_t key);
  /// The same as the plan's free_block and keep_block.
  void free_early(ArrayId array, std::uint64_t key);
  void keep(ArrayId array, std::uint64_t key, std::size_t levels) { temps_.keep(array, key, levels); }
  /// The block lies at an address of another one, at no cost until it is written.
  void share(const ResolvedReference& ref, const Located& at, double* address, bool of_store);
  /// The store has taken over the block's memory.
  void give_to_store(ArrayId array, std::uint64_t key);

  void enter_loop() { temps_.enter_loop(); }
  void end_iteration();
  void leave_loop();
  /// Locals that an iteration of a pardo has made: another rank's are not this rank's.
  void end_pardo_iteration();

  // --- statics
  double* static_memory(ArrayId array);

  // --- regions
  void allocate(const RegionRow& row, const PlannedRegisters& registers);
  void deallocate(const RegionRow& row, const PlannedRegisters& registers);
  /// Nothing where no region around it is allocated.
  std::optional<MutableView> region_part(ArrayId array, const RegionBounds& part) const;
  /// Bounds that are not known are taken as wide as the array. Nothing where they do not fit the array.
  std::optional<RegionBounds> bounds(const RegionRow& row, const PlannedRegisters& registers) const;

  /// The program is over.
  void end_temps();
  void free_all();

 private:
  struct Region {
    RegionBounds bounds;
    ModelMemory memory;
  };

  void record_made(const ResolvedReference& ref, std::uint64_t key);
  void leave(ArrayId array, const ModelMemory& memory);

  ModelContext& context_;
  const IterationShare& share_;
  TempLifetimes temps_;
  std::vector<TempBlock> created_locals_;                               // in this iteration of a pardo
  std::vector<std::unordered_map<std::uint64_t, ModelMemory>> blocks_;  // per array: temps and locals
  std::unordered_map<double*, std::vector<TempBlock>>
      sharers_;  // of memory, by its address: blocks that lie there at no cost of their own
  std::vector<std::vector<Region>> regions_;  // per array
  std::vector<ModelMemory> statics_;          // per array
};

}  // namespace sial
