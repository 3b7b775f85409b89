#pragma once
// Runs the programs of a job, in order, on one rank: one Machine per program, with what persists between them. All
// ranks do the same with equal programs. Errors leave as SialError with their place; the caller ends the job, and
// before the runner goes: until then the machine that the error left stays, as other ranks may still write into its
// memory.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/checkpoint/index.h"
#include "runtime/core/interp/machine.h"

namespace sial {

struct JobRunOptions {
  MachineOptions machine;
  std::string earlier_run;  // the run.json of an earlier run, if there is one, for the progress line
  bool keep_saved = false;  // keep everything saved until the end, for results; else labels no later program names are
                            // freed
  bool statics_of_all = false;  // ... and the static arrays of all ranks, not of rank 0 only
};

/// A program's variables and static arrays at its end (rank's own copies).
struct ProgramOutcome {
  std::string program;
  std::map<std::string, double> scalars;
  std::map<std::string, std::int32_t> ints;
  std::map<std::string, DataArray> statics;  // only those the program uses
};

class JobRunner {
 public:
  /// `environment.state` holds what persists; it may come from an earlier runner. `first_sequence`: number of this
  /// job's first program in the life of the store (batches run several jobs on one store).
  JobRunner(const Environment& environment, const JobRunOptions& options, std::int32_t first_sequence = 0);

  /// Collective: takes over what a checkpoint holds; run() then begins where it was taken. Throws SialError for a file
  /// that is not what it was.
  void restore(const CheckpointFiles& files);

  /// Collective. Throws JobStopped when the job is to end before its end.
  void run(std::span<const std::shared_ptr<const Module>> programs);
  const std::vector<ProgramOutcome>& outcomes() const { return outcomes_; }

  /// Collective: writes what was saved under `label`, see SavedOutput::write().
  void write_saved(const std::string& label, bool plain, ResultsWriter* writer);

  /// The programs of the job, with their static and saved arrays.
  std::vector<ProgramDescription> descriptions() const;

  /// Collective: this job's statistics over all ranks, with the facts about its programs; meaningful on rank 0.
  JobStats collect_stats();

  /// Collective: brings the ranks' timelines (`environment.trace`) to rank 0, rank by rank and a limited amount at a
  /// time, and writes them there.
  void write_trace(const std::string& path);

 private:
  std::vector<std::int64_t> phase_high_water();
  std::int64_t min_capacity() const;
  JobOutlook outlook(std::span<const std::shared_ptr<const Module>> programs, std::size_t program) const;
  ProgramOutcome outcome_of(const Machine& machine) const;
  // --- job_state.cpp
  std::uint64_t write_own(RecordSink& sink) const;
  void write_labels(RecordSink& sink) const;
  /// All but the running program's part. `own`: what belongs to a rank; `shared`: what belongs to the job, taken once
  /// from each file.
  void read_state(RecordReader& reader, bool own, bool shared);
  Stats own_stats() const;
  std::vector<ProgramFacts> program_facts() const;
  JobFacts job_facts() const;
  TraceName span_name(const TraceSpan& span) const;

  Environment env_;
  JobRunOptions options_;
  std::int32_t sequence_;
  std::vector<ProgramOutcome> outcomes_;
  std::vector<std::shared_ptr<const Module>> run_modules_;  // by sequence - first_sequence, for naming statistics
  std::int32_t first_sequence_;
  double begin_ = 0;
  StoreStats store_begin_;
  kernels::CodeStats code_begin_;
  // State of a checkpoint this run goes on from:
  std::size_t first_program_ = 0;
  std::optional<CheckpointFiles> from_;  // taken inside a program; until that program has ended
  Stats earlier_;
  std::size_t first_phase_ = 0;
  struct Start {
    bool ran = false;
    std::size_t phase = 0;
    std::vector<SavedFacts> saved;
    std::vector<PardoOrderFacts> pardo_orders;
  };
  std::vector<Start> starts_;            // of the programs; phase: from first_phase_
  std::vector<double> earlier_seconds_;  // of the programs, in an earlier run of the same job
  std::unique_ptr<Machine> machine_;     // while its program runs, and from when an error left it
};

}  // namespace sial
