#pragma once
// The private state of a rank at a barrier, as a checkpoint has it: registers, stacks, its own blocks and static
// arrays. A plain value.

#include <cstdint>
#include <vector>

#include "runtime/core/checkpoint/record_file.h"

namespace sial {

struct SavedRecord {
  std::uint32_t type = 0;  // own block, region or static array
  std::vector<std::byte> head;
  std::vector<double> data;
};

struct SavedMachine {
  std::vector<std::int32_t> ints;
  std::vector<double> scalars;
  std::vector<std::byte> rest;  // of the machine's record, after its registers
  std::vector<SavedRecord> records;
};

}  // namespace sial
