#pragma once
// Types of the records in a rank's checkpoint file, in the order in which they come. Numbers are part of the file
// format.

#include <cstdint>

namespace sial {

// Of the job, by JobRunner:
inline constexpr std::uint32_t record_rank = 1;            // rank, ranks
inline constexpr std::uint32_t record_job = 2;             // saved scalars, layouts of saved arrays, statistics
inline constexpr std::uint32_t record_saved_static = 3;    // one each
inline constexpr std::uint32_t record_outcome = 4;         // one per program that has ended (rank 0)
inline constexpr std::uint32_t record_outcome_static = 5;  // its static arrays follow
inline constexpr std::uint32_t record_label = 6;           // its blocks follow
inline constexpr std::uint32_t record_block = 7;           // of the last label or array
// Of the running program, by MachineState:
inline constexpr std::uint32_t record_machine = 16;    // registers, stacks, marks
inline constexpr std::uint32_t record_own_block = 17;  // temp or local
inline constexpr std::uint32_t record_region = 18;
inline constexpr std::uint32_t record_static = 19;
inline constexpr std::uint32_t record_array =
    20;  // remote; the blocks follow that differ from the label it was restored from

}  // namespace sial
