#include "compiler/sema/near.h"

#include <algorithm>
#include <cstddef>

#include "compiler/diag/table.h"

namespace sial::sema {

std::string nearest(std::string_view name, const std::vector<std::string>& candidates) {
  // One slip per three letters; single letters are never a slip of one another.
  const std::size_t allowed = name.size() < 3 ? (name.size() == 2 ? 1 : 0) : std::max<std::size_t>(1, name.size() / 3);
  std::string best;
  std::size_t best_distance = allowed + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t longer = std::max(candidate.size(), name.size()),
                      shorter = std::min(candidate.size(), name.size());
    if (longer - shorter >= best_distance) continue;
    if (const auto d = static_cast<std::size_t>(edit_distance(name, candidate)); d > 0 && d < best_distance) {
      best_distance = d;
      best = candidate;
    }
  }
  return best;
}

}  // namespace sial::sema
