#pragma once
// One job on the ranks of a session: stated, prepared, run, and what it leaves. What an error leaves behind stays as
// long as this: other ranks may still need it until the run of all ends.

#include <memory>
#include <optional>
#include <vector>

#include "runtime/program/session/outputs.h"
#include "runtime/program/session/prepared_job.h"
#include "runtime/program/session/rank_tools.h"

namespace sial {

class JobRun {
 public:
  /// The tools and the job as stated outlive the run.
  JobRun(RankTools& tools, const CompileFile& compile, const Job& stated)
      : tools_(tools), compile_(compile), stated_(stated) {}

  /// Collective over the workers, once: the exit code, as Session::run().
  int run();
  void release_outputs();
  const Job& job() const { return prepared_ ? prepared_->job() : stated_; }

 private:
  int prepare();
  int find_checkpoint();
  int choose_segments_of_job();
  SegmentChoice plan() const;
  int begin_checkpoints();
  void begin_trace();
  JobRunOptions run_options() const;
  void write_results();
  void write_statistics();
  void warn_of_different_statics();
  std::string checkpoint_folder() const;

  RankTools& tools_;
  const CompileFile& compile_;
  const Job& stated_;
  std::optional<PreparedJob> prepared_;
  std::optional<CheckpointIndex> from_, before_;  // checkpoints that the job goes on from: the first, else the second
  std::vector<PredictedTime> predicted_;          // on rank 0
  JobOutputs outputs_;                            // on rank 0
  std::optional<Checkpoints> checkpoints_;
  std::optional<Trace> trace_;
  RankState state_;
  std::unique_ptr<JobRunner> runner_;
};

}  // namespace sial
