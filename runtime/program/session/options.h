#pragma once
// What the ranks of a run have in common, whatever their jobs: options of the store, the machine, kernels, devices and
// checkpoints, and how programs are compiled. A value.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "runtime/core/device/device.h"
#include "runtime/core/interp/context/checkpoints.h"
#include "runtime/core/interp/job/job_run.h"
#include "runtime/core/job/job.h"
#include "runtime/core/model/segment_choice.h"

namespace sial {

/// How blocks that only a device has go to other nodes: straight from its memory, or through the host's in overlapped
/// pieces.
enum class DeviceMessages { automatic, direct, staged };

struct SessionOptions {
  StoreOptions store;
  MachineOptions machine;           // print_format is the job's
  std::optional<TimeSetting> time;  // of predictions; empty: of this machine
  std::string kernels = "auto";
  KernelOptions kernel_options;
  WatchOptions watch;           // of the whole run
  std::string device = "host";  // where block operations run; "auto": a GPU where there is one
  DeviceOptions device_options;
  std::int64_t device_from =
      -1;  // elements that a program's largest block has where the device is used; -1: what suits the device
  bool device_times = false;                                   // of each piece of work, where statistics are kept
  DeviceMessages device_messages = DeviceMessages::automatic;  // straight where the transport says that it can
  bool device_deferred_puts = true;                            // puts of what only the device has do not wait for it
  bool text_stats = false;                                     // the summary of --stats, to the error stream
  bool explain_kernels = false;                                // the table of --explain-kernels, likewise
  RunFacts::Pairs facts;                                       // what the command line chose, for run.json
  bool homes_on_workers = false;                               // arrays do not live on servers
  int servers = 0;                                             // beside the workers, for run.json
  std::string trace;                                           // file of the timeline; empty: none is kept
  std::size_t trace_spans = Trace::default_most_spans;         // that a rank keeps
  // Checkpoints; how often and where is the job's.
  bool checkpoints = false;
  std::int64_t stop_after = 0;               // see CheckpointOptions
  std::function<void()> catch_stop_signals;  // called when the programs are about to run: until then a signal ends the
                                             // process, with nothing lost
  std::function<int()> stop_signal;
  std::string version;
  std::optional<std::string> restart;  // go on from the checkpoint in this folder; empty: the job's
  std::string restart_id;              // ... which must be that of this job id; empty: any
  /// Called on all ranks when a job's programs have ended, before what they left goes: for a caller that wants results
  /// without a file, or beside it. May be empty.
  std::function<void(const JobRunner&, const RankState&, const StoreSnapshots&)> take_results;
};

/// Turns a source file into a module's bytes; writes diagnostics and returns nothing when it has errors. `saved`:
/// arrays that the program saves at its end, though it does not say so.
using CompileFile =
    std::function<std::vector<std::byte>(const std::string& path, const std::vector<std::string>& include_dirs,
                                         const std::vector<std::string>& saved, std::ostream& diagnostics)>;

/// What a job's memory is planned for, by its options; ranks and nodes are for the caller to say.
PlanSetting plan_setting(const Job& job, const SessionOptions& options);

}  // namespace sial
