#pragma once
// Additions of this rank that are held back: added up here and sent once. A sum belongs to the held block until it is
// sent; all together keep to a sixteenth of the rank's memory. Used by the rank's thread.
// Why the order may change: a phase's put += to a block commute, and whatever else this rank does to the block in the
// phase sends the sum first (gets, puts, deletes). Other ranks may not look before the barrier, where the last sums
// leave.

#include <deque>

#include "runtime/core/store/remote/outgoing_puts.h"

namespace sial {

class PendingAccumulates {
 public:
  PendingAccumulates(StoreContext& context, OutgoingPuts& puts) : context_(context), puts_(puts) {}

  bool has_room(std::uint64_t bytes) const { return bytes <= budget_ && !context_.memory_is_short(bytes); }
  /// Makes room by sending the oldest.
  void make_room(std::uint64_t bytes);
  /// Takes the reference to the accumulate.
  void add(CacheEntry& h, Chunk* sum, Place place);
  void send(CacheEntry& h);
  void send_all();
  /// Sends all if memory is short.
  void relieve();
  /// Sends sums to other nodes, oldest first, and waits until their memory is free again. False when there were none.
  bool reclaim(std::uint64_t bytes);

 private:
  StoreContext& context_;
  OutgoingPuts& puts_;
  std::deque<CacheEntry*> accumulates_;  // with a sum to be sent, by age
  std::uint64_t bytes_ = 0;
  const std::uint64_t budget_ = context_.options.memory_per_rank / 16;
  bool reclaiming_ = false;
};

}  // namespace sial
