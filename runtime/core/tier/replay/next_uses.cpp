#include "runtime/core/tier/replay/next_uses.h"

#include <utility>

namespace sial {

std::vector<std::uint32_t> following_accesses(const AccessSequence& sequence) {
  const auto accesses = sequence.accesses();
  std::vector<std::uint32_t> following(accesses.size(), never_used), upcoming(sequence.blocks().size(), never_used);
  for (std::size_t i = accesses.size(); i-- > 0;)
    following[i] = std::exchange(upcoming[accesses[i].block], static_cast<std::uint32_t>(i));
  return following;
}

std::vector<std::uint32_t> last_uses(const AccessSequence& sequence) {
  const auto accesses = sequence.accesses();
  std::vector<std::uint32_t> last(accesses.size(), never_used), upcoming(sequence.blocks().size(), never_used);
  for (std::size_t i = accesses.size(); i-- > 0;) {
    const AccessKind kind = accesses[i].kind;
    std::uint32_t& use = upcoming[accesses[i].block];
    if (changes(kind)) last[i] = use;
    if (kind == AccessKind::update || (kind == AccessKind::read && use == never_used))
      use = static_cast<std::uint32_t>(i);
    else if (kind != AccessKind::read) use = never_used;
  }
  return last;
}

}  // namespace sial
