#pragma once
// Reading blocks: get is a lease on the block where it lies, or a copy fetched from another node. A fetched value stays
// what it was until the barrier, or this rank's next get after its own put.
// Ownership: what read(), at_hand() and own_copy() give is the store's; it is read-only and valid until the next
// barrier, or get of that block after an own put. What private_copy() gives is the store's too, and this rank may write
// it. Threads: the rank's interpreter thread only. Errors: a block that does not exist, or was not fetched in this
// phase, is reported at its first use, as SialError with the statement.

#include "runtime/core/base/ids.h"
#include "runtime/core/base/shape.h"

namespace sial {

class BlockFetch {
 public:
  virtual ~BlockFetch() = default;

  /// Starts a fetch; no-op when this rank holds the block already. Absence is reported at the first use.
  virtual void get(ArrayId array, const BlockIndex& block, std::int64_t size, Place place) = 0;
  /// The block's current value for this rank: its private copy when it made one, else the lease. Waits. Throws
  /// SialError when the block was not fetched in this phase or does not exist.
  virtual const double* read(ArrayId array, const BlockIndex& block, std::int64_t size, Place place) = 0;
  /// Whether read() would find something without an error about a missing get.
  virtual bool held(ArrayId array, const BlockIndex& block) const = 0;
  /// The result of read() if it is here by now; null: it is not, or there is no such block. Never waits, changes no
  /// result, counts nothing.
  virtual const double* at_hand(ArrayId array, const BlockIndex& block, std::int64_t size) = 0;
  /// The get whose block read() gives; of a private copy, or of none: an instruction less than 0.
  virtual Place got_at(ArrayId array, const BlockIndex& block) const = 0;
  /// No pointer that the last statement was given is used any more: with tiers its blocks may leave memory, and what is
  /// under way to and from the tiers is looked at.
  virtual void end_statement() {}
  /// The private copy that this rank made of a block in this phase; null: none.
  virtual const double* own_copy(ArrayId array, const BlockIndex& block) const = 0;
  /// This rank's private writable copy (never put, dropped at the barrier). `keep`: starts with the fetched value,
  /// which must be held; otherwise starts undefined and counts as held from now on.
  virtual double* private_copy(ArrayId array, const BlockIndex& block, std::int64_t size, bool keep, Place place) = 0;
};

}  // namespace sial
