#pragma once
// The blocks of remote arrays that each iteration of a pardo gets and puts, in the order of the program: found by
// following its body with index values, but without data. What depends on data is taken to happen; loops around the
// pardo stand at their first value. A pardo with many accesses is followed on a coarser grid: consecutive segments of
// an index are joined to cells, and the blocks of the cells are as large as all of theirs. A plain value, the same on
// all ranks.

#include <cstdint>
#include <vector>

#include "runtime/core/bytecode/evaluate/tuple_order.h"
#include "runtime/core/interp/context/bind.h"

namespace sial {

/// The use of the block: it is read, replaced without being read, or added to.
enum class PardoAccessKind : std::uint8_t { read, replace, add };

struct PardoAccess {
  std::int32_t block = 0;  // numbered from 0
  PardoAccessKind kind = PardoAccessKind::read;
};

struct RecordedPardo {
  std::int32_t cell = 1;            // segments of long indices that are joined; 1: every block is followed
  TupleOrder::Counts counts{};      // cells of the pardo's indices
  std::vector<std::int32_t> first;  // tuple t, as written, has accesses [first[t], first[t + 1])
  std::vector<PardoAccess> accesses;
  std::vector<std::int64_t> bytes;  // of the blocks

  std::int32_t tuples() const { return static_cast<std::int32_t>(first.size()) - 1; }
  std::int64_t all_bytes() const;
};

/// Follows pardo `loop`, with at most about `most` accesses; no tuples where following it takes too long. Its indices
/// have values. `ints`: the registers at the program's beginning.
RecordedPardo record_pardo(const BoundProgram& bound, const std::vector<std::int32_t>& ints, std::int32_t loop,
                           std::int64_t most);

}  // namespace sial
