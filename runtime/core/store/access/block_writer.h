#pragma once
// Puts, additions and fills: carried out at once on blocks of this node, sent to the homes of others, or held back as
// sums. What a plan elides (sums, puts that share or are retained) is not used with --check, which records every
// statement at the owner, and with --store=copy, the oracle; sums neither with --deterministic, which orders every
// single contribution. Used by the rank's thread.

#include "runtime/core/base/ids.h"
#include "runtime/core/store/access/fetched_blocks.h"
#include "runtime/core/store/interface/update.h"

namespace sial {

class BlockWriter final : public BlockUpdate {
 public:
  BlockWriter(StoreContext& context, RankCache& copies, PrefetchPool& prefetches, FetchedBlocks& fetched,
              OutgoingPuts& puts, PendingAccumulates& accumulates)
      : context_(context),
        copies_(copies),
        prefetches_(prefetches),
        fetched_(fetched),
        puts_(puts),
        accumulates_(accumulates) {}

  void put(ArrayId array, const BlockIndex& block, std::int64_t size, const double* data, Place place) override;
  void accumulate(ArrayId array, const BlockIndex& block, std::int64_t size, const double* data, Place place) override;
  void fill(ArrayId array, const BlockIndex& block, std::int64_t size, double value, Place place) override;
  void increment(ArrayId array, const BlockIndex& block, std::int64_t size, double value, Place place) override;
  void scale(ArrayId array, const BlockIndex& block, std::int64_t size, double value, Place place) override;
  Stored stored() const override { return stored_; }
  void put_alias(ArrayId array, const BlockIndex& block, std::int64_t size, const double* data, Place place) override;
  bool put_held(ArrayId array, const BlockIndex& block, std::int64_t size, ArrayId from, const BlockIndex& from_block,
                Place place) override;
  void accumulate_later(ArrayId array, const BlockIndex& block, std::int64_t size, const double* data,
                        Place place) override;
  void relieve_sums() override { accumulates_.relieve(); }
  bool leaves_node(ArrayId array, const BlockIndex& block) override;
  bool memory_is_short(std::uint64_t more) const override { return context_.memory_is_short(more); }
  void put_from(std::unique_ptr<OutgoingBlock> values, bool add, ArrayId array, const BlockIndex& block,
                std::int64_t size, Place place) override;
  void drop_outgoing() noexcept override { puts_.drop_outgoing(); }

 private:
  /// All puts. `data` null: `value` is used. `shared`: `data` is a whole chunk that may be kept instead of copied.
  void modify(RequestKind kind, ArrayId array, const BlockIndex& block, std::int64_t size, const double* data,
              double value, Place place, bool shared = false);
  void modify_remote(CacheEntry& h, NodeId node, const RequestHeader& request, const double* data, bool shared);
  /// The effect of any put of this rank on what it holds of the block; null when it holds nothing.
  CacheEntry* before_own_put(ArrayId array, const BlockIndex& block, std::int64_t size);
  /// Holds on to what this rank has put, for the phases to come.
  bool retain_put(CacheEntry& h, Chunk* payload);
  void record_stored() {
    const Chunk* c = context_.node.stored();
    stored_ = c ? Stored{c->data(), context_.node.stored_content()} : Stored{};
  }

  StoreContext& context_;
  RankCache& copies_;
  PrefetchPool& prefetches_;
  FetchedBlocks& fetched_;
  OutgoingPuts& puts_;
  PendingAccumulates& accumulates_;
  Stored stored_;
};

}  // namespace sial
