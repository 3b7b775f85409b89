#pragma once
// Labels, under which arrays outlive their program, and bulk access between phases for results, checkpoints and initial
// data (not counted, not phase-checked).
// Ownership: a snapshot shares its blocks with the array until one is written; its blocks are the store's until no
// later program of the job names the label. Values are given and taken as copies, or held: then a block of this node's
// memory is not copied before somebody changes it, and its memory counts as in use until the holder goes. Threads: the
// rank's interpreter thread, between phases; restore() and drop_labels_except() are collective. Errors: SialError for a
// label that was not saved, or an array that is marked twice; asking for a label or block that does not exist is a
// fault of the caller.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/base/ids.h"
#include "runtime/core/base/leased_values.h"
#include "runtime/core/base/shape.h"

namespace sial {

class StoreSnapshots {
 public:
  virtual ~StoreSnapshots() = default;

  // --- labels
  /// set_persistent. Setting a label anew replaces what it held.
  virtual void save_at_end(ArrayId array, const std::string& label, Place place) = 0;
  /// Collective.
  virtual void restore(ArrayId array, const std::string& label, Place place) = 0;
  virtual bool has_label(const std::string& label) const = 0;
  virtual std::vector<std::string> labels() const = 0;
  /// Collective. Snapshots no later program of the job names are freed.
  virtual void drop_labels_except(const std::vector<std::string>& needed) = 0;

  // --- bulk access
  /// Blocks of a saved label whose home is this rank's node, each listed by exactly one rank of the node.
  virtual std::vector<BlockIndex> saved_blocks(const std::string& label) const = 0;
  virtual std::vector<double> saved_block(const std::string& label, const BlockIndex& block) const = 0;
  /// The same as it is now, for a thread that gives it up in time. Blocks of other nodes, and where blocks may leave
  /// memory (`--spill`) all blocks, are copied.
  virtual LeasedValues hold_saved_block(const std::string& label, const BlockIndex& block) const = 0;
  /// Likewise of any block of the array, wherever its home is; nothing where it does not exist.
  virtual std::optional<LeasedValues> find_saved_block(const std::string& label, const BlockIndex& block) const = 0;
  /// Collective in effect: every rank may add blocks; call barrier afterwards.
  virtual void load_saved_block(const std::string& label, const BlockIndex& block, std::span<const double> data) = 0;
  /// The label will exist even when it gets no blocks; also collective in effect.
  virtual void load_label(const std::string& label) = 0;
  /// The same for an array of the running program.
  virtual std::vector<BlockIndex> array_blocks(ArrayId array) = 0;
  /// Nothing where its values were given up (discard_values) and are gone by now.
  virtual std::optional<std::vector<double>> array_block(ArrayId array, const BlockIndex& block) = 0;
  /// The same as hold_saved_block().
  virtual std::optional<LeasedValues> hold_array_block(ArrayId array, const BlockIndex& block) = 0;
  virtual void load_array_block(ArrayId array, const BlockIndex& block, std::span<const double> data) = 0;
  /// The label an array was last restored from; empty when it was not, or is deleted since.
  virtual const std::string& restored_from(ArrayId array) = 0;
  /// Whether a block of such an array is still that of the label.
  virtual bool is_as_restored(ArrayId array, const BlockIndex& block) = 0;
};

}  // namespace sial
