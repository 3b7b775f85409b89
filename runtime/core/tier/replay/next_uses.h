#pragma once
// The next use after each access of a sequence. Part of the replay of a sequence.

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "runtime/core/tier/replay/access_sequence.h"

namespace sial {

constexpr std::uint32_t never_used = std::numeric_limits<std::uint32_t>::max();

/// Per access: the number of the next one of the same block, whatever it does; never_used where there is none.
std::vector<std::uint32_t> following_accesses(const AccessSequence& sequence);

/// Per access that changes its block: the last one that wants what the block holds after it, a change of it included;
/// never_used where none does, and for reads.
std::vector<std::uint32_t> last_uses(const AccessSequence& sequence);

inline bool changes(AccessKind kind) { return kind == AccessKind::write || kind == AccessKind::update; }
inline bool wants_content(AccessKind kind) { return kind == AccessKind::read || kind == AccessKind::update; }
/// Whether an access, of those of a sequence, wants what its block holds.
inline bool wants_content(std::span<const BlockAccess> accesses, std::uint32_t access) {
  return access != never_used && wants_content(accesses[access].kind);
}

}  // namespace sial
