#pragma once
// Arrays that were saved, written into the results file: each rank writes a contiguous share of the array straight into
// the place that rank 0 has reserved for its values, and takes the blocks for it from their homes. Memory: a part of
// 4 MiB, or one block.

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/base/host_name.h"
#include "runtime/core/interp/context/bind.h"
#include "runtime/core/interp/context/environment.h"
#include "runtime/core/job/results.h"

namespace sial {

class SavedOutput {
 public:
  SavedOutput(const Environment& environment, CollectiveTag tag) : env_(environment), tag_(tag) {}

  /// Collective; `writer` on rank 0. The array becomes one plain dataset, or, where it is large and more than three
  /// quarters of it have no blocks, a dataset per block. `plain`: the former in any case. Throws EnvironmentError on
  /// all ranks.
  void write(const std::string& label, const SavedLayout& layout, bool plain, ResultsWriter* writer) const;

 private:
  struct Place;
  using BlockSink = std::function<void(const BlockIndex&, std::span<const double>)>;
  /// Brings the blocks to rank 0, a limited amount at a time; `values`: with their elements.
  void gather(const std::string& label, bool values, const BlockSink& on_rank_0) const;
  /// Opens the file: the ranks that can write into it, rank 0 among them; alone unless `together`.
  std::vector<int> writers(const Place& place, bool together) const;
  void write_share(const std::string& label, const BoundArray& array, const Place& place, std::int64_t share,
                   std::int64_t shares) const;

  const Environment& env_;
  CollectiveTag tag_;
  std::string host_ = printable_host_name();
};

}  // namespace sial
