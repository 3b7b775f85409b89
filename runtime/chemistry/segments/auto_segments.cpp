#include "runtime/chemistry/segments/auto_segments.h"

#include <algorithm>
#include <cmath>

namespace sial {

namespace {

// A block of four indices takes 8 s^4 bytes: 4 MB at 27 elements, where kernels and transfers are fast, 50 MB at 50.
constexpr std::int32_t usual = 27, largest = 50, smallest = 4;
// Three virtual and three occupied indices: 20 MB, and the symmetry of triples between segments of occupied orbitals is
// used.
constexpr std::int32_t usual_occupied = 5;
constexpr std::int32_t max_pieces = 40;  // then segments grow: 40 pieces are 2.6 million blocks of four indices
constexpr double blocks_at_once = 12;    // that a loop body works on, in a quarter of the rank's memory
constexpr double pairs_per_rank = 4;     // iterations of a loop over pairs of segments

}  // namespace

AutoTarget automatic_target(std::int32_t n, int ranks, std::size_t memory_per_rank, AutoRange range) {
  AutoTarget target{std::clamp(n / max_pieces, range == AutoRange::occupied_orbitals ? usual_occupied : usual, largest),
                    "for the size of blocks"};
  const auto at_most = [&](double size, const char* why) {
    const std::int32_t whole = std::max(smallest, static_cast<std::int32_t>(std::min(size, 1e6)));
    if (whole < std::min(target.size, n)) target = {whole, why};
  };
  at_most(std::pow(static_cast<double>(memory_per_rank) / 4 / (8 * blocks_at_once), 0.25), "for the memory");
  // n (n + 1) / 2 pairs of n pieces
  if (ranks > 1) at_most(std::ceil(n / std::ceil(std::sqrt(2 * pairs_per_rank * ranks))), "to share the work");
  return target;
}

}  // namespace sial
