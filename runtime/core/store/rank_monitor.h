#pragma once
// The counts of this rank's store, put together from its parts. Keeps nothing. Used by the rank's thread.

#include <functional>

#include "runtime/core/store/interface/monitor.h"
#include "runtime/core/store/local/node_storage.h"
#include "runtime/core/store/phases/rank_phases.h"

namespace sial {

class RankMonitor final : public StoreMonitor {
 public:
  /// `service` may be null: there are no other nodes.
  RankMonitor(StoreContext& context, const RankCache& copies, const RankSnapshots& snapshots, const RankPhases& phases,
              const StoreService* service, const SpilledBlocks* spilled_for_others, const NodeStorage& storage)
      : context_(context),
        copies_(copies),
        snapshots_(snapshots),
        phases_(phases),
        service_(service),
        spilled_for_others_(spilled_for_others),
        storage_(storage) {}

  StoreStats stats() const override;
  std::int64_t spill_capacity() const override {
    return context_.spilled ? static_cast<std::int64_t>(context_.heap.budget()) : 0;
  }
  std::vector<AccessStats> access_stats() const override { return context_.log.all(); }
  const std::vector<PhasePeak>& phase_peaks() const override { return phases_.peaks(); }
  TierStats take_server_tiers() override;
  std::int64_t server_peak() override;
  std::vector<std::pair<std::string, std::int64_t>> memory_held() const override;
  NumaReport numa() const override { return storage_.numa(); }
  void set_trace(Trace* trace) override { context_.trace = trace; }

 private:
  void ask_servers(RequestKind kind, std::span<std::byte> payload, const std::function<void(const ReplyHeader&)>& use);
  StoreContext& context_;
  const RankCache& copies_;
  const RankSnapshots& snapshots_;
  const RankPhases& phases_;
  const StoreService* service_;
  const SpilledBlocks* spilled_for_others_;
  const NodeStorage& storage_;
};

}  // namespace sial
