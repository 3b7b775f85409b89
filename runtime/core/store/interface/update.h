#pragma once
// Changing blocks: puts, additions and fills, and the forms that a plan uses in place of them with the same results but
// for rounding. Complete (visible to others) at the latest at the barrier.
// Ownership: `data` is the caller's, who may reuse it at once; with put_alias() and put_held() the block shares it, and
// nobody writes it from then on unless BlockStore::buffers().sole() says so. put_from() takes its values over.
// Threads: the rank's interpreter thread only. Errors: SialError with the statement, here or in any later call up to
// the barrier for blocks of other nodes.

#include <memory>

#include "runtime/core/base/ids.h"
#include "runtime/core/base/shape.h"
#include "runtime/core/transport/transport.h"

namespace sial {

class BlockUpdate {
 public:
  virtual ~BlockUpdate() = default;

  virtual void put(ArrayId array, const BlockIndex& block, std::int64_t size, const double* data, Place place) = 0;
  virtual void accumulate(ArrayId array, const BlockIndex& block, std::int64_t size, const double* data,
                          Place place) = 0;
  virtual void fill(ArrayId array, const BlockIndex& block, std::int64_t size, double value, Place place) = 0;
  virtual void increment(ArrayId array, const BlockIndex& block, std::int64_t size, double value, Place place) = 0;
  /// A block that does not exist: SialError.
  virtual void scale(ArrayId array, const BlockIndex& block, std::int64_t size, double value, Place place) = 0;

  /// The place on this node of the block that this rank's last put, accumulate or accumulate_later has left with just
  /// the values it was given, and the number of that content (BufferResource::content); data null: not known.
  struct Stored {
    const double* data = nullptr;
    std::uint64_t content = 0;
  };
  virtual Stored stored() const = 0;

  // --- without a copy
  /// put of a whole buffer of buffers() or of a block that read() gave: the block shares the memory.
  virtual void put_alias(ArrayId array, const BlockIndex& block, std::int64_t size, const double* data,
                         Place place) = 0;
  /// put of a fetched block as it is, held by this rank: the two share the data when both lie on this node. False:
  /// nothing done, the caller has to put().
  virtual bool put_held(ArrayId array, const BlockIndex& block, std::int64_t size, ArrayId from,
                        const BlockIndex& from_block, Place place) = 0;

  // --- sums held back
  /// The same as accumulate, but what goes to another node, or to a block that somebody else has under its lock, is
  /// added up here first and sent once: before this rank does anything else with the block, at a delete, at the
  /// barrier, when there is too much of it.
  virtual void accumulate_later(ArrayId array, const BlockIndex& block, std::int64_t size, const double* data,
                                Place place) = 0;
  /// Sends what accumulate_later holds back if memory is short.
  virtual void relieve_sums() = 0;

  // --- values that are not in the host's memory
  /// Whether a put to the block goes to another node as it is given, so that put_from() may stand for it.
  virtual bool leaves_node(ArrayId array, const BlockIndex& block) = 0;
  /// Whether so many bytes more would leave less than a quarter of the node's memory.
  virtual bool memory_is_short(std::uint64_t more) const = 0;
  /// put, or with `add` accumulate, of a block of this size whose values are not in the host's memory.
  virtual void put_from(std::unique_ptr<OutgoingBlock> values, bool add, ArrayId array, const BlockIndex& block,
                        std::int64_t size, Place place) = 0;
  /// Drops what put_from() was given, before its time: an error is ending the job.
  virtual void drop_outgoing() noexcept = 0;
};

}  // namespace sial
