#pragma once
// Types of the records in a rank's checkpoint file, in the order in which they come: first what a rank keeps to itself,
// then its share of the remote blocks. Numbers are part of the file format.

#include <cstdint>

namespace sial {

// Records of the job, by JobRunner:
inline constexpr std::uint32_t record_rank = 1;            // rank, ranks
inline constexpr std::uint32_t record_job = 2;             // saved scalars, layouts of saved arrays, statistics
inline constexpr std::uint32_t record_saved_static = 3;    // one each
inline constexpr std::uint32_t record_outcome = 4;         // one per program that has ended (rank 0)
inline constexpr std::uint32_t record_outcome_static = 5;  // its static arrays follow
// Records of the running program, by MachineState:
inline constexpr std::uint32_t record_machine = 16;    // registers, stacks, marks, labels of restored arrays
inline constexpr std::uint32_t record_own_block = 17;  // temp or local
inline constexpr std::uint32_t record_region = 18;
inline constexpr std::uint32_t record_static = 19;
// Blocks:
inline constexpr std::uint32_t record_label = 32;        // its blocks follow
inline constexpr std::uint32_t record_label_block = 33;  // of the last label
inline constexpr std::uint32_t record_array = 34;  // remote; those of its blocks follow that differ from the label
inline constexpr std::uint32_t record_array_block = 35;  // it was restored from

}  // namespace sial
