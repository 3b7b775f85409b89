#pragma once
// Programs and phases as this rank goes through them with all others. Owns the peaks of memory per phase. Used by the
// rank's thread.

#include "runtime/core/base/ids.h"
#include "runtime/core/store/interface/synchronization.h"
#include "runtime/core/store/phases/copy_retention.h"
#include "runtime/core/store/phases/deletions.h"
#include "runtime/core/store/phases/rank_snapshots.h"

namespace sial {

class RankPhases final : public StoreSynchronization {
 public:
  RankPhases(StoreContext& context, CopyRetention& retention, ArrayRequests& requests, Deletions& deletions,
             RankSnapshots& snapshots)
      : context_(context), retention_(retention), requests_(requests), deletions_(deletions), snapshots_(snapshots) {}

  void begin_program(std::int32_t program, std::vector<RemoteArrayInfo> arrays, PlaceNamer namer) override;
  void end_program(Place place) override;
  bool barrier(Place place, bool wants_attention) override;
  void erase(ArrayId array, Place place) override { deletions_.erase(array, place); }
  void keep_copies(ArrayId array, KeepCopies which) override { retention_.keep(array, which); }
  void discard_values(ArrayId array) override {
    context_.arrays.discard(array, context_.phase);
    if (context_.spilled) context_.spilled->look_anew();
  }

  const std::vector<PhasePeak>& peaks() const { return peaks_; }

 private:
  /// Waits for all ranks with their puts done and leases dropped; checks that they deleted the same arrays. True when
  /// one of them wants attention.
  bool synchronize(CollectiveKind kind, Place place, bool wants_attention = false);
  /// --deterministic: each home applies what was added to its blocks, in order.
  void apply_contributions(CollectiveKind kind, Place place);
  void count_barrier(double start, Place place);

  StoreContext& context_;
  CopyRetention& retention_;
  ArrayRequests& requests_;
  Deletions& deletions_;
  RankSnapshots& snapshots_;
  std::vector<PhasePeak> peaks_;
};

}  // namespace sial
