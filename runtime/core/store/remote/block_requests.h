#pragma once
// Blocks on their way from other nodes to this rank, each into the buffer that the held block has for it, or elsewhere
// where somebody takes them (IncomingPlaces). A request and its place belong to the held block until end(). Measures
// how long fetches take. Used by the rank's thread; nothing here waits.

#include "runtime/core/base/ids.h"
#include "runtime/core/memory/incoming.h"
#include "runtime/core/store/remote/context.h"
#include "runtime/core/store/remote/rank_cache.h"

namespace sial {

class BlockRequests {
 public:
  BlockRequests(StoreContext& context, const RankCache& copies) : context_(context), copies_(copies) {}

  /// Asks the block's home for it, into `shared_copy`. `get`: the statement for which; with `known_version` only if it
  /// is another one.
  void request(CacheEntry& h, NodeId node, std::int64_t size, const Access& access, Priority priority, std::int32_t get,
               std::uint64_t known_version = 0);
  /// Asks the owner whether a retained copy is the block's value still, or joins the question of a prefetch. False: it
  /// cannot be asked.
  bool compare(CacheEntry& h, Priority priority);
  /// --check: tells the owner of a get that a prefetch has served. Waits.
  void record_get(CacheEntry& h, std::int64_t size);
  /// The part of a block that has come by now goes on to where it is wanted.
  void forward(CacheEntry& h);
  /// The answer is here, or is not wanted any more: `fetch` is over.
  void end(CacheEntry& h, bool has_come);

  void time_fetch(const CacheEntry& h);
  double seconds(std::int64_t bytes) const;

  void set_places(IncomingPlaces* places) noexcept { places_ = places; }
  void to_host(const double* buffer, std::int32_t pc) { places_->to_host(buffer, pc); }

 private:
  StoreContext& context_;
  const RankCache& copies_;
  IncomingPlaces* places_ = nullptr;
  struct FetchTimes {
    double n = 0, x = 0, y = 0, xx = 0, xy = 0;
  } fetch_times_;  // bytes and seconds, older ones fading
};

}  // namespace sial
