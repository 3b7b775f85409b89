#pragma once
// Labels of the job as this rank knows them, the arrays that are to be saved under them at the end of the program, and
// bulk access. Owns the table of labels; blocks lie in the directories. Used by the rank's thread.

#include <map>

#include "runtime/core/base/ids.h"
#include "runtime/core/store/interface/labels.h"
#include "runtime/core/store/interface/snapshots.h"
#include "runtime/core/store/phases/deletions.h"

namespace sial {

class RankSnapshots final : public StoreSnapshots {
 public:
  RankSnapshots(StoreContext& context, OutgoingPuts& puts, ArrayRequests& requests, Deletions& deletions)
      : context_(context), puts_(puts), requests_(requests), deletions_(deletions) {}

  void save_at_end(ArrayId array, const std::string& label, Place place) override;
  void restore(ArrayId array, const std::string& label, Place place) override;
  bool has_label(const std::string& label) const override { return labels_.find(label) != nullptr; }
  std::vector<std::string> labels() const override { return labels_.names(); }
  void drop_labels_except(const std::vector<std::string>& needed) override;
  std::vector<BlockIndex> saved_blocks(const std::string& label) const override;
  std::vector<double> saved_block(const std::string& label, const BlockIndex& block) const override;
  LeasedValues hold_saved_block(const std::string& label, const BlockIndex& block) const override;
  std::optional<LeasedValues> find_saved_block(const std::string& label, const BlockIndex& block) const override;
  void load_saved_block(const std::string& label, const BlockIndex& block, std::span<const double> data) override;
  void load_label(const std::string& label) override;
  std::vector<BlockIndex> array_blocks(ArrayId array) override;
  std::optional<std::vector<double>> array_block(ArrayId array, const BlockIndex& block) override;
  std::optional<LeasedValues> hold_array_block(ArrayId array, const BlockIndex& block) override;
  void load_array_block(ArrayId array, const BlockIndex& block, std::span<const double> data) override;
  const std::string& restored_from(ArrayId id) override { return context_.arrays.at(id).restored_from; }
  bool is_as_restored(ArrayId array, const BlockIndex& block) override;

  const LabelTable& table() const { return labels_; }
  /// Whether this rank has loaded labels since the last barrier.
  bool has_new() const { return !new_labels_.empty(); }
  /// Collective. From now on all ranks know what any has loaded.
  void exchange_new(Place place);
  void begin_program();
  /// At the end of the program: marked arrays become snapshots.
  void take_marked();

 private:
  StoreContext& context_;
  OutgoingPuts& puts_;
  ArrayRequests& requests_;
  Deletions& deletions_;
  LabelTable labels_;
  std::map<ArrayId, std::string> marked_;  // labels, for the end of the program
  std::vector<ArrayId> mark_order_;
  std::vector<std::string> new_labels_;  // loaded since the last barrier
};

}  // namespace sial
