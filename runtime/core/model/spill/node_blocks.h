#pragma once
// The remote blocks that lie on one node while the programs of a job are followed, with their numbers in the sequence
// of accesses. Arrays and labels hold blocks: a block that both hold is shared until one of them changes it, and dies
// when nobody holds it. Part of an access model.

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/core/interp/blocks/located.h"
#include "runtime/core/model/memory/context.h"
#include "runtime/core/tier/replay/access_sequence.h"

namespace sial {

class PlannedNodeBlocks {
 public:
  PlannedNodeBlocks(AccessSequence& sequence, NodeId node) : sequence_(sequence), node_(node) {}

  /// Blocks of earlier jobs' results, which are there from the start.
  void load(const std::map<std::string, SavedBlocks>& labels);
  /// `first_place`: added to the positions of the program's instructions.
  void begin_program(const ModelContext& context, std::int32_t first_place);
  void at(std::int32_t pc) { place_ = first_place_ + pc; }

  void read(ArrayId array, const Located& at);
  void put(ArrayId array, const Located& at, SetOp op);
  void erase(ArrayId array);
  /// The array's values are not used again, but for what labels hold as well.
  void discard(ArrayId array);
  /// False when nothing was saved under the label.
  bool restore(ArrayId array, const std::string& label);
  void save(ArrayId array, const std::string& label);

  // --- between programs
  std::vector<std::string> labels() const;
  void drop(const std::string& label);
  /// Everything that is saved is read once: for the results file.
  void read_saved();

 private:
  struct ArrayEntry {
    std::unordered_map<std::uint64_t, std::uint32_t> blocks;  // by the array's key: number in the sequence
    std::uint64_t placement = 0;
    std::int64_t row = -1;  // array in the sequence
  };

  std::uint32_t make(ArrayEntry& array, const std::string& name, std::int64_t bytes);
  void release(std::uint32_t block);
  void release_all(ArrayEntry& held);
  bool is_here(const ArrayEntry& array, const Located& at) const;

  AccessSequence& sequence_;
  const NodeId node_;
  const ModelContext* context_ = nullptr;
  std::vector<ArrayEntry> arrays_;  // of the program
  std::map<std::string, ArrayEntry> labels_;
  std::map<std::string, std::int64_t> rows_;  // by name
  std::vector<std::uint32_t> holders_;        // per block
  std::int32_t first_place_ = 0, place_ = 0;
};

}  // namespace sial
