#pragma once
// The inputs of a rank's interpreter: its options, what it works with, and what outlives a program on this rank.

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "runtime/core/interp/context/printer.h"
#include "runtime/core/interp/context/progress.h"
#include "runtime/core/interp/prefetch/look_ahead_depth.h"
#include "runtime/core/job/results.h"
#include "runtime/core/kernels/interface/block_op.h"
#include "runtime/core/stats/stats.h"
#include "runtime/core/stats/trace.h"
#include "runtime/core/store/store.h"
#include "runtime/core/super/plugins.h"
#include "runtime/core/transport/work_queue.h"

namespace sial {

class Checkpoints;
class CostModel;
class Device;

enum class Schedule { dynamic, static_ };

/// The order in which the iterations of pardos run: as suits the memory where it is short, as written, or, for tests,
/// in some order.
enum class PardoOrdering { automatic, written, shuffled };

struct MachineOptions {
  PrintFormat print_format = PrintFormat::classic;
  Schedule schedule = Schedule::dynamic;
  bool deterministic = false;  // implies the static schedule
  PardoOrdering pardo_order = PardoOrdering::automatic;
  std::int64_t spill_capacity = 0;  // bytes of remote blocks that a node's memory holds, where what it cannot hold goes
                                    // to tiers below; 0: no tiers
  bool profile = false;             // time per line; implied by a trace
  bool check_slices = false;        // carry access slices out beside the program and compare
  bool check_ranks = false;         // compare between ranks what they print, save, decide by and use
  LookAheadDepth look_ahead;
  bool keep_integrals = true;  // in memory that nothing else needs
  int self_check = 0;          // of so many operations of a device one is compared with the host; 0: none is
  ProgressMode progress = ProgressMode::off;
  TellProgress tell_progress = {};   // with ProgressMode::told; called on rank 0
  JobOutlook outlook;                // for the progress line, but for the loops
  CostModel* cost_model = nullptr;   // says what block statements and super instructions cost, which are then not
                                     // executed; outlives the machine. Null: they are
  const Plugins* plugins = nullptr;  // super instructions beside the table's; outlive the machine
  /// Called about ten times a second, between statements; what it throws ends the program. Empty: nobody asks. For
  /// runs without a cost model and without checks.
  std::function<void()> between_statements = {};
};

/// The state that outlives a program on one rank of a job.
struct RankState {
  std::map<std::string, double> saved_scalars;
  std::map<std::string, DataArray> saved_statics;
  std::map<std::string, std::vector<IndexKind>> static_kinds;  // of the dimensions of those that this run has saved
  std::map<std::string, SavedLayout> saved_remote;             // the blocks are in the store
  std::string restored_segments;  // options that give those of results to restore from, where they differ
  std::set<std::string>
      dropped_remote;  // labels that were saved, but that no later program restores; of a job without results
  std::map<std::string, std::uint64_t> input_checksums;  // of the values of arrays that the job has given in parts
  std::map<std::string, std::shared_ptr<void>, std::less<>> super_slots;
  bool saved_agree = true;  // scalars and static arrays that earlier programs saved are the same on all ranks
  bool all_ranks_print = false;
  std::int32_t not_finite_in = -1;  // the program of which a warning about a scalar that is not finite has been given
  std::int64_t phase = 0;           // barriers since the job began; numbers the pardo instances
  Stats stats;
};

/// The components that a rank's interpreter works with. All outlive the machine. `out` is written by rank 0, and by the
/// others while a super instruction has enabled them; `warnings` by rank 0.
struct Environment {
  const JobData& job;
  Transport& transport;
  BlockStore& store;
  WorkQueue& queue;
  Kernels& kernels;
  std::ostream& out;
  std::ostream& warnings;
  RankState& state;
  Checkpoints* checkpoints = nullptr;  // null: barriers never save anything
  Trace* trace = nullptr;              // null: no timeline is kept
  Device* device = nullptr;            // for block operations; null: the host
  bool device_direct = true;           // copies go straight from and to the host's blocks, see DeviceOptions
  std::int64_t device_from = 0;        // programs whose largest block has fewer elements leave the device alone
  bool device_messages_direct = true;  // the transport reads the device's memory
  bool device_deferred_puts = true;    // puts of what only the device has do not wait for it
};

}  // namespace sial
