#pragma once
// The settings of a rank's store, as the job's options say. A value; read once, when the store is made.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/core/numa/page_calls.h"
#include "runtime/core/numa/request.h"
#include "runtime/core/numa/topology.h"
#include "runtime/core/tier/request.h"
#include "runtime/core/tier/tier.h"
#include "runtime/core/transport/transport.h"

namespace sial {

using TierList = std::vector<std::shared_ptr<Tier>>;

struct StoreOptions {
  std::size_t memory_per_rank = std::size_t{2} << 30;  // bytes, block data of this rank's share of the node heap
  std::size_t memory_of_server = 0;                    // the same of a rank that only serves; 0: as much
  SpillRequest spill;                                  // where blocks go that do not fit into it; empty: nowhere
  NumaRequest numa;                                    // on which memory nodes of the machine blocks lie
  std::shared_ptr<const NumaTopology> machine;         // null: nothing is decided about them
  bool large_pages = true;  // memory in pages of 2 MB, where the system has them and blocks stay in memory
  std::shared_ptr<PageCalls> page_calls;  // with `machine`
  std::size_t copy_budget = 0;  // bytes of fetched copies a rank keeps for use until the barrier; 0: half of its memory
  std::uint64_t min_copies = 64;  // those it got or read last are kept in any case
  bool copy = false;              // --store=copy: gets and puts always copy (the oracle)
  bool check = false;             // --check: phase rule enforced at run time, NaN/Inf put into arrays reported
  bool values = true;             // false: blocks have sizes only, and their memory is not touched
  bool deterministic = false;     // accumulates applied in (rank, sequence) order at the barrier
  /// Other tiers than those of `spill`, for tests: collective over the ranks of a node, which get tiers over the same
  /// space.
  std::function<TierList(Transport&)> make_tiers;
  int spill_every = 0;  // for tests: what may leave memory leaves it after so many statements; 0: where it is short
};

}  // namespace sial
