#pragma once
// This rank's static arrays, each dense in one piece of memory: zeros or the job's data at first, there from the first
// use to the end of the program. Owned by the machine.

#include <cstdint>
#include <vector>

#include "runtime/interp/blocks/block_memory.h"
#include "runtime/job/results.h"

namespace sial {

class RecordReader;
class RecordWriter;

class Statics {
 public:
  Statics(const RunContext& context, const DeviceExecution& device, BlockMemory& memory);

  /// Makes all arrays that the program uses.
  void make_used(Statement here);
  /// The array; it is made where it is not there yet.
  double* data(std::int32_t array, Statement here) { return data_[array] ? data_[array] : make(array, here); }
  /// Null where the program has not used it.
  double* find(std::int32_t array) const { return data_[array]; }
  /// The host is going to use all of it.
  double* whole(std::int32_t array, Intent intent, Statement here);
  /// As a slice reads it; null where the program has not used it.
  const double* table(std::int32_t array, Statement here) const;
  /// The program ends: its arrays are the job's results.
  void all_on_host(Statement here) const;
  /// Current contents; empty data where the program has not used it.
  DataArray contents(std::int32_t array) const;

  void write(std::int32_t array, RecordWriter& writer) const;
  void read(std::int32_t array, const RecordReader& reader, Statement here);

  /// When the machine goes.
  void release_all() noexcept;

 private:
  double* make(std::int32_t array, Statement here);
  void require_same_extents(const BoundArray& array, const DataArray& given, Statement here) const;
  std::int64_t size(std::size_t array) const { return context_.bound.arrays[array].whole.size(); }

  const RunContext& context_;
  const DeviceExecution& device_;
  BlockMemory& memory_;
  std::vector<double*> data_;  // per array
};

}  // namespace sial
