#pragma once
// One rank's session: the store, work queue and kernels over a transport, and the jobs it runs in them. Rank 0 reads or
// compiles programs and hands them to the others as bytes. How an error ends the process is the caller's business; what
// it was in stays until the session goes, and among several ranks the job must end before that: others may still write
// into this rank's memory or ask it for blocks.

#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/base/error.h"
#include "runtime/core/base/output_file.h"
#include "runtime/core/base/output_lock.h"
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

/// Where a job has its checkpoint; `restart`: the folder that it goes on from, if one is named.
std::string checkpoint_folder_of(const Job& job, const std::optional<std::string>& restart);

class Session {
 public:
  /// All arguments outlive the session.
  Session(Transport& transport, const SessionOptions& options, const CompileFile& compile, std::ostream& out,
          std::ostream& err);
  /// Collective (servers included), first of all.
  void start();

  /// Collective over the workers: runs one job and returns its exit code (programs that do not compile or load end a
  /// job without an exception, reported by rank 0; `exit_stopped` when it ended early, to be continued). Throws
  /// SialError for errors while it runs; `job` then outlives the session.
  int run(const Job& job);
  /// Of the last job that ended, as they were used.
  const NamedSegments& segments() const { return segments_; }
  /// Collective: whether blocks of so many bytes, over all ranks, fit beside what the jobs so far needed at most.
  bool has_memory_for(std::int64_t bytes);
  /// Lets other jobs have this job's outputs: before the process ends in a way that skips destructors.
  void release_outputs();

 private:
  int run_programs(const Job& job);
  std::shared_ptr<const kernels::ContractionCosts> costs_of_all();
  void make_device_of_rank();
  std::int64_t min_block() const;
  void choose_device_messages();
  std::string best_segments(const Job& job, const std::vector<std::shared_ptr<const Module>>& programs);
  /// The job with the arrays that the programs need whole: the one given where nothing is to be read, or a copy that
  /// the session keeps.
  const Job& with_arrays(const Job& stated, std::span<const std::shared_ptr<const Module>> programs);
  /// Likewise with these segments.
  const Job& with_segments(const Job& stated, const std::string& options);
  const Job& with_choices_of(const CheckpointIndex& index, const Job& stated);
  int share(int code, std::string& text);
  int check_outputs(const Job& job, std::span<const std::shared_ptr<const Module>> programs);
  void lock_outputs(std::span<const NamedFile> outputs);
  std::string checkpoint_folder_of(const Job& job) const;
  int load_programs(const Job& job, std::vector<std::shared_ptr<const Module>>& programs);
  void warn_of_values(const Job& job, const std::vector<std::shared_ptr<const Module>>& programs);
  void warn_of_ranges(const Job& job, const std::vector<std::shared_ptr<const Module>>& programs);
  void warn_of_placed_arrays(const Job& job, const std::vector<std::shared_ptr<const Module>>& programs);
  void warn_of_arrays(const Job& job, const std::vector<std::shared_ptr<const Module>>& programs);
  void warn_of_order(const Job& job);
  void restore_earlier(const Job& job);
  int read_checkpoint(const std::string& folder, std::string& text, std::string& previous);
  CheckpointIndex undamaged(const CheckpointIndex& last, const CheckpointIndex& previous, const std::string& folder);
  /// Collective: an exit code when the checkpoint is not of this job, and cannot be gone on from.
  int accept_checkpoint(const CheckpointIndex& index, const JobIdentity& identity, const std::string& folder);
  void write_results(const Job& job);
  void write_statistics(const Job& job);
  NumaFacts numa_facts(const Job& job);
  void warn_different_statics();
  void note_replaced() const;
  CollectiveTag tag(CollectiveKind kind) const { return {kind, {sequence_, -1}}; }

  Transport& transport_;
  SessionOptions options_;
  const CompileFile& compile_;
  std::ostream& out_;
  std::ostream& err_;
  std::unique_ptr<WorkQueue> queue_;
  std::unique_ptr<BlockStore> store_;
  std::unique_ptr<Kernels> kernels_;
  std::unique_ptr<Device> device_;
  bool device_messages_direct_ = false;
  std::unique_ptr<RankState> state_;
  std::int32_t sequence_ = 0;  // programs run so far
  std::int64_t phase_ = 0;     // barriers so far
  NamedSegments segments_;     // of the last job
  // Of the job that runs, or was left by an error:
  std::optional<Job> own_job_;                 // with segments that are chosen here
  std::vector<PredictedTime> predicted_;       // on rank 0
  std::vector<std::string> choice_lines_;      // on rank 0, for the user
  std::optional<SialError> refusal_;           // on rank 0: the job certainly does not fit
  std::vector<OutputLock> locks_;              // on rank 0
  std::vector<std::string> replaced_;          // outputs that were there before; on rank 0
  std::optional<OutputLock> checkpoint_lock_;  // ... until the checkpoints take it
  std::optional<Checkpoints> checkpoints_;
  std::optional<Trace> trace_;
  std::unique_ptr<JobRunner> runner_;
};

/// The job with arrays as the programs have them: those given by files are read, as far as ranks need them whole.
void read_given_arrays(Job& job, std::span<const std::shared_ptr<const Module>> programs);

/// Gives the job what the run that wrote a checkpoint had chosen, as far as the job leaves it open. Lines about it for
/// the user.
std::vector<std::string> follow_checkpoint(const CheckpointIndex& index, Job& job);
/// Of a job with its segments.
JobIdentity identity_of(const Job& job, std::span<const std::shared_ptr<const Module>> programs,
                        const SessionOptions& options);
/// Throws InputError where the checkpoint whose index is in the folder is not that of the job.
void check_restart(const CheckpointIndex& index, const JobIdentity& identity, const std::string& folder,
                   const SessionOptions& options);
/// The last checkpoint of a folder and the one before it. A last one without a readable index is left out, with a
/// warning. Throws InputError where there is none.
struct CheckpointPair {
  CheckpointIndex last;
  std::optional<CheckpointIndex> previous;
};
CheckpointPair read_checkpoints(const std::string& folder, std::ostream& err);

/// What a job's memory is planned for, by its options; ranks and nodes are for the caller to say.
PlanSetting plan_setting(const Job& job, const SessionOptions& options);

/// What a job reads, besides earlier results; of programs that are loaded also the sources they were made from.
std::vector<NamedFile> input_files(const Job& job, std::span<const std::shared_ptr<const Module>> programs);

/// The modules of a job's programs, as bytes and read: their files, or the compiled sources, with the arrays that the
/// job saves. Another code than exit_ok when a source cannot be read or has errors (reported on `err`).
/// `results_elsewhere`: what is saved goes where no results file is.
ExitCode read_programs(const Job& job, const CompileFile& compile, std::ostream& err,
                       std::vector<std::vector<std::byte>>& contents,
                       std::vector<std::shared_ptr<const Module>>& programs, bool results_elsewhere = false);

/// Throws InputError for a value that neither programs nor super instructions ask for. A warning where those of
/// `plugins` may, and where the command line of a batch gives it.
void check_values(const Job& job, std::span<const std::shared_ptr<const Module>> programs, const Plugins* plugins,
                  std::ostream& err);

/// Whether programs have predefined ints that the job does not state.
bool lacks_values(const Job& job, std::span<const std::shared_ptr<const Module>> programs);
/// Sets those that the shapes of given arrays tell, and segments that nobody stated. Throws InputError where shapes do
/// not agree with each other or with segments.
void take_extents(Job& job, std::span<const std::shared_ptr<const Module>> programs);

/// Throws InputError where a gradient is wanted of a scalar that no program has.
void check_gradient_scalar(const Job& job, std::span<const std::shared_ptr<const Module>> programs);

/// "error: prog.sialx:12:3: ..." with the hint, the rank and the host, for the error stream. No host: there is only
/// one.
std::string error_text(const SialError& error, int rank, int ranks, const std::string& host = {});

}  // namespace sial
