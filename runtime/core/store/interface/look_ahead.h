#pragma once
// Blocks asked for before their get. All of it is a hint: it never waits, changes no result, does not count for the
// phase rule, and an answer that says there is no such block is forgotten. A get that comes while the block is under
// way or waiting takes it over.
// Ownership: prefetched blocks live in memory that nobody else needs: they are dropped when somebody does, when the
// rank puts to the block, and at the barrier. What foreseen() gives the caller holds until it gives it back to the
// store's buffers. Threads: the rank's interpreter thread only. Errors: none.

#include <limits>
#include <optional>

#include "runtime/core/base/foreseen_use.h"
#include "runtime/core/base/ids.h"
#include "runtime/core/base/shape.h"
#include "runtime/core/memory/incoming.h"

namespace sial {

/// The outcome of the request for a block ahead of its get.
enum class Prefetch {
  started,  // asked for
  held,     // this rank has it, or has asked for it already, or a put of its own makes it no use
  here,     // lies in this node's memory: nothing to gain
  full,     // no memory to spare, or enough under way: try again later
  too_big,  // there will never be room for it
};

class BlockLookAhead {
 public:
  virtual ~BlockLookAhead() = default;

  virtual Prefetch prefetch(ArrayId array, const BlockIndex& block, std::int64_t size, Place get) = 0;
  /// The same for a block that this rank is going to change, out of what it holds: only the home node has a use for it,
  /// which reads it from a tier.
  virtual Prefetch prefetch_to_change(ArrayId /*array*/, const BlockIndex& /*block*/) { return Prefetch::here; }
  /// The result of a get of the block by now, for whoever foresees it: it lies on this node, or was fetched and has
  /// come. The caller holds it in BlockStore::buffers() from then on and gives it back: at once (`briefly`; then
  /// nothing is done to learn whether it has come), or later, and then it gets it only where memory is enough for all
  /// who might have to make a copy for that. `under_way`: it is not here yet. Counts nothing.
  struct Foreseen {
    const double* data = nullptr;
    bool under_way = false;
  };
  virtual Foreseen foreseen(ArrayId array, const BlockIndex& block, std::int64_t size, bool briefly) = 0;
  /// The number of gets and puts ahead that it is of use to know: 0 where no block has to leave memory.
  virtual std::size_t horizon() const { return 0; }
  /// Bytes of the gets to come that may be offered for prefetching: of more, some would have to leave before their use.
  virtual std::int64_t bytes_ahead() const { return std::numeric_limits<std::int64_t>::max(); }
  /// This rank uses the block next after so many gets and puts; 0: no use is foreseen. Says which block leaves memory
  /// last. `told`: what the call before has returned for the same block, or 0: it is replaced, while a nearer use that
  /// another rank has told stays. Returns what the store keeps of it, 0 for nothing; none: this node will have the
  /// block, but has none yet.
  virtual std::optional<std::uint64_t> set_next_use(ArrayId /*array*/, const BlockIndex& /*block*/,
                                                    std::uint64_t /*uses_away*/, ForeseenUse /*use*/,
                                                    std::uint64_t /*told*/) {
    return 0;
  }
  /// So many foreseen uses of this rank were made, or will not be: all others are as much nearer.
  virtual void pass_foreseen(std::uint64_t /*uses*/) {}
  /// Whether a full iteration of the present loop has shown what it needs itself; until then prefetches take little.
  virtual void set_live_set_known(bool known) = 0;
  /// Measured, or what the network is set to: from asking for a block of this size on another node to having it. 0:
  /// unknown.
  virtual double fetch_seconds(std::int64_t bytes) const = 0;
  /// The places that blocks fetched from other nodes may come to instead of the host's memory, or go on to from there
  /// as they come; null: none, and what is under way there is waited for. What read(), at_hand() and foreseen() give of
  /// such a block is its name: its values are there after IncomingPlaces::to_host().
  virtual void set_incoming(IncomingPlaces* places) noexcept = 0;
};

}  // namespace sial
