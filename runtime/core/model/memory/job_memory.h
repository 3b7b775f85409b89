#pragma once
// Shared by the planned programs of a job: the books, the remote blocks saved under labels, and how kernels take
// workspace.

#include <map>
#include <string>
#include <unordered_map>

#include "runtime/core/base/ids.h"
#include "runtime/core/kernels/interface/block_op.h"
#include "runtime/core/memory/host_pool.h"
#include "runtime/core/model/memory/ledger.h"

namespace sial {

/// The blocks of one remote array or label, by the array's block keys.
struct RemoteBlocks {
  struct Block {
    std::int64_t bytes = 0;
    NodeId node;
    bool shared = false;  // still the block of the label it was restored from
    bool read = false;    // read in this phase: a put now takes new memory
  };
  std::unordered_map<std::uint64_t, Block> blocks;
  std::uint64_t placement = 0;
  std::string restored_from;
};

struct SavedBlocks {
  RemoteBlocks content;
  int item = -1;  // row of the running program
};

/// The rank that is planned for. `alone`: it draws all iterations of dynamic pardos, else its share. `every_access`:
/// all loops that access remote blocks are followed value by value, as far as the steps suffice.
struct Viewpoint {
  int rank = 0;
  bool alone = false, every_access = false;
};

struct JobMemory {
  JobMemory(const PlanSetting& options, const JobData& data, const Viewpoint& from)
      : setting(options),
        job(data),
        view(from),
        ledger(options, from.rank),
        pool(make_host_pool()),
        kernels(make_kernels(options.kernels, *pool, options.kernel_options)),
        steps_left(options.max_steps) {}

  const PlanSetting& setting;
  const JobData& job;
  const Viewpoint view;
  Ledger ledger;
  std::map<std::string, SavedBlocks> labels;
  std::unique_ptr<BufferResource> pool;
  std::unique_ptr<Kernels> kernels;
  std::int64_t steps_left;

  /// Whether the rest of the program would change nothing, or take too long.
  bool stops() const {
    constexpr std::int64_t absurd = std::int64_t{1} << 50;
    const bool refused = ledger.certain() > static_cast<std::int64_t>(setting.memory_per_rank);
    return (refused && (setting.only_verdict || steps_left <= 0 || ledger.certain() > absurd)) ||
           steps_left < -setting.max_steps;
  }
};

/// All blocks of an earlier job's results file are there from the start.
void load_saved(JobMemory& memory, const SavedArrays& saved);

/// Whether `programs` restore the label: what is kept when there is no results file.
bool restored_by(std::span<const std::shared_ptr<const Module>> programs, const std::string& label);

}  // namespace sial
