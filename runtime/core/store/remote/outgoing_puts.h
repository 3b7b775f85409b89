#pragma once
// This rank's changes of blocks of other nodes, from when they are sent to when the owner has acknowledged them. Owns
// payloads until then (Outbox). What the owner answers is reported in whatever call finds the answer. Used by the
// rank's thread.

#include "runtime/core/base/ids.h"
#include "runtime/core/store/remote/outbox.h"
#include "runtime/core/store/remote/rank_cache.h"

namespace sial {

class OutgoingPuts {
 public:
  OutgoingPuts(StoreContext& context, RankCache& copies);

  /// Takes the reference to `data`, which may be null. `outgoing`: whose values are sent, from there (`in_place`) or as
  /// they come to `data`. Messages to one node may overtake each other: an operation whose order matters waits for
  /// those before it.
  void send(CacheEntry& h, NodeId node, const RequestHeader& request, Chunk* data,
            std::unique_ptr<OutgoingBlock> outgoing = nullptr, const double* in_place = nullptr);
  /// A request about a whole array.
  void send_control(NodeId node, const RequestHeader& request);

  /// Waits for those of a block, of an array, of all.
  void complete(const CacheEntry& h) { outbox_.complete(h.array, h.block); }
  void complete(ArrayId array) { outbox_.complete(array); }
  void complete_all() { outbox_.complete_all(); }
  void drop_outgoing() noexcept { outbox_.drop_outgoing(); }

 private:
  void record_answer(const Outbox::Item& item, const Outcome& outcome);

  StoreContext& context_;
  RankCache& copies_;
  Outbox outbox_;
};

}  // namespace sial
