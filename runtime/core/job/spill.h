#pragma once
// The place for blocks that do not fit into memory, as users write it: the value of `--spill`, and the rules that job
// files share with it. Functions on values; whoever opens the tier says whether a folder is there and can be written.

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/core/tier/request.h"

namespace sial {

/// "DIR[:SIZE],DIR[:SIZE],...", with "nodes[:SIZE]" for the memory of other nodes, or "off" for none. Throws
/// InputError.
SpillRequest parse_spill(std::string_view text);

/// "200GB": what a tier may hold on each node. Throws InputError.
std::uint64_t parse_tier_size(std::string_view text);

/// Puts `tier` after the others. InputError: they have that folder, or the memory of other nodes, already.
void add_tier(SpillRequest& tiers, TierRequest tier);

/// The text as `--spill` takes it; "off" for none.
std::string spill_text(const SpillRequest& tiers);

}  // namespace sial
