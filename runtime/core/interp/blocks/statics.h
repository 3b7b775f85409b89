#pragma once
// This rank's static arrays, each dense in one piece of memory: zeros or the job's data at first, there from the first
// use to the end of the program. Owned by the machine.

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/core/interp/blocks/block_memory.h"
#include "runtime/core/job/results.h"

namespace sial {

class CheckpointFile;
class RecordSink;

class Statics {
 public:
  Statics(const RunContext& context, const DeviceExecution& device, BlockMemory& memory);

  /// Makes all arrays that the program uses.
  void make_used(Statement here);
  /// The array; it is made where it is not there yet.
  double* data(ArrayId array, Statement here) { return data_[array.at()] ? data_[array.at()] : make(array, here); }
  /// Null where the program has not used it.
  double* find(ArrayId array) const { return data_[array.at()]; }
  /// The host is going to use all of it.
  double* whole(ArrayId array, Intent intent, Statement here);
  /// The array as a slice reads it; null where the program has not used it.
  const double* table(ArrayId array, Statement here) const;
  /// The program ends: its arrays are the job's results.
  void all_on_host(Statement here) const;
  /// Current contents; empty data where the program has not used it.
  DataArray contents(ArrayId array) const;

  void write(ArrayId array, RecordSink& sink) const;
  void read(ArrayId array, std::span<const double> saved, const CheckpointFile& file, Statement here);

  /// When the machine goes.
  void release_all() noexcept;

 private:
  double* make(ArrayId array, Statement here);
  void require_same_extents(const BoundArray& array, const DataArray& input, Statement here) const;
  std::int64_t size(ArrayId array) const { return context_.bound.arrays[array.at()].whole.size(); }

  const RunContext& context_;
  const DeviceExecution& device_;
  BlockMemory& memory_;
  std::vector<double*> data_;  // per array
};

}  // namespace sial
