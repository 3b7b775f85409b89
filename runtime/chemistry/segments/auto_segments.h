#pragma once
// Segment sizes where the user left them to us: from the number of elements, the ranks and the memory of a job, and
// nothing else, so that every rank finds the same.

#include <cstddef>
#include <cstdint>
#include <string>

namespace sial {

struct AutoTarget {
  std::int32_t size = 0;  // elements per segment, about
  const char* why = "";   // what decided
};

/// What ranges divide: occupied orbitals are few, and programs hold blocks with three of them beside three virtual
/// ones.
enum class AutoRange { functions, virtual_orbitals, occupied_orbitals };

/// For a range of `n` functions or orbitals.
AutoTarget automatic_target(std::int32_t n, int ranks, std::size_t memory_per_rank,
                            AutoRange range = AutoRange::functions);

}  // namespace sial
