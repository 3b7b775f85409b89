#pragma once
// Remote arrays in the memory model: where puts place blocks, and what fetches, private copies and sums leave behind
// until the barrier. Part of a model.

#include <optional>
#include <utility>

#include "runtime/core/model/memory/context.h"
#include "runtime/core/model/memory/iteration_share.h"

namespace sial {

class ModelRemoteBlocks {
 public:
  ModelRemoteBlocks(ModelContext& context, const IterationShare& share);

  void get(ArrayId array, const Located& at);
  /// `of_block`: not of a number. Returns the bytes of messages that are under way then.
  std::int64_t put(ArrayId array, const Located& at, SetOp op, bool of_block);
  /// The job gives all blocks of the array.
  void give(ArrayId array);
  /// Contributions to the block are added up on the rank first.
  void hold_sum(ArrayId array, const Located& at);
  /// The block's memory is that of another remote block, at no cost until one of the two is written.
  void put_alias(ArrayId array, const Located& at);
  bool is_home(ArrayId array, const Located& at) const;

  /// The rank's private copy, made where there is none; null: the iteration is another rank's.
  double* private_copy(ArrayId array, const Located& at);
  /// Address of a private copy; null where there is none.
  double* copy_at(ArrayId array, std::uint64_t key) const;

  /// Copies of the array stay over the next barrier.
  void keep_copies(ArrayId array, KeepCopies how);
  void barrier();
  void erase(ArrayId array);

  // --- labels
  void begin_program();
  /// False when nothing was saved under the label.
  bool restore(ArrayId array, const std::string& label);
  /// The blocks become the label's; what the label held is dropped, unless the array still shares it.
  void save(ArrayId array, const std::string& label);

 private:
  struct ArrayFootprint {
    ModelMemory own;
    std::int64_t fetched = 0, retained = 0, put = 0;
    bool summed = false;
  };
  struct Extra {
    int item = -1;
    NodeId node;
    std::int64_t bytes = 0;
    bool lasts = true;
  };

  void put_block(ArrayId array, const Located& at, bool adds, bool scales);
  void retain_put(ArrayId array, const Located& at);
  void drop_held(ArrayId array);
  int label_item(const std::string& label, SavedBlocks& saved);
  void take_until_barrier(ArrayId array, const RemoteBlocks::Block& block);
  NodeId home(ArrayId array, const Located& at) const {
    return context_.ledger.home(remote_[array.at()].placement, at.block);
  }

  ModelContext& context_;
  const IterationShare& share_;
  std::vector<RemoteBlocks> remote_;                                     // per array
  std::vector<std::unordered_map<std::uint64_t, ArrayFootprint>> held_;  // per array
  std::vector<Extra> until_barrier_;                                     // replaced values that readers still hold,
                                                                         // contributions to be added
  std::vector<std::pair<ArrayId, std::uint64_t>> read_blocks_;           // in this phase
  std::vector<std::optional<KeepCopies>> keep_copies_;                   // per array: over the next barrier
  std::vector<char> retain_puts_;                                        // per array
  int copies_item_ = -1;
};

}  // namespace sial
