#pragma once
// Replays a workload through an allocator. All functions are for a fresh allocator.

#include <cstdint>
#include <string>
#include <vector>

#include "allocators.h"
#include "workload.h"

namespace heapbench {

/// Nanoseconds per call while each of `threads` ranks gives back a block that it chose at random and takes another;
/// after every 64 blocks' worth of calls ranks hand the half of their blocks to the next one. Mean over all.
double time_threads(Allocator& allocator, int threads, int rounds);

struct Sample {
  std::size_t operation = 0;                                    // after so many
  std::size_t live = 0, taken = 0, committed = 0, largest = 0;  // bytes
};
struct Memory {
  std::size_t requests = 0, satisfied = 0;
  std::size_t peak_live = 0, peak_committed = 0;
  std::size_t first_refused = 0;  // requests before the first that was not satisfied; `requests`: all were
  std::vector<Sample> samples;
  bool last_satisfied = false;
  std::size_t largest_at_first = 0, largest_at_end = 0, largest_when_empty = 0;
};
/// Writes to every page of every block. `samples`: how often the largest request that could be satisfied is found out,
/// in a copy of the process.
Memory measure_memory(Allocator& allocator, const Workload& workload, int samples);

/// Fills blocks with marks and sees that they are there when blocks are given back, and that blocks are aligned. What
/// is wrong, or nothing.
std::string check_blocks(Allocator& allocator, const Workload& workload);

}  // namespace heapbench
