#pragma once
// What is asked of an allocator: a list of requests, made by rule. The same list for all.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace heapbench {

struct Operation {
  std::uint64_t bytes = 0;  // as asked for, also where the block is given back
  std::uint32_t block = 0;  // numbered from 0; a number is used again once its block was given back
  std::int16_t rank = 0;    // who takes it or gives it back
  bool takes = false;
};

struct Workload {
  std::vector<Operation> operations;
  std::uint32_t blocks = 0;  // numbers in use
  int ranks = 1;
  std::size_t capacity = 0;  // bytes of all ranks
};

/// `requests` of three kinds, in equal parts: small (16 to 511 B), normal (512 B to 2 MB) and large (2 to 50 MB), the
/// last two evenly distributed by the logarithm of their size. Before a request blocks are given back, chosen at
/// random, until what is in use and the request are together at most `load` of the capacity: an allocator that wastes
/// nothing satisfies all of them while `load` <= 1.
Workload random_mix(int requests, std::size_t capacity, double load, std::uint64_t seed, int ranks);

/// A job's phase with blocks of 72 sizes that take 93 % of the capacity; all but one in 64 of them are given back, in
/// random order; the last request is one block of 90 % of the capacity.
Workload large_phase(std::size_t capacity);

/// Sizes in bytes of a few kinds of blocks, 1 kB to 2 MB, as programs with segments of several lengths have them.
std::vector<std::size_t> block_sizes(int number);

}  // namespace heapbench
