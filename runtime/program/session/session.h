#pragma once
// One rank's session: its tools, and the jobs it runs with them one after the other. Rank 0 reads or compiles programs
// and hands them to the others as bytes. How an error ends the process is the caller's business; what it was in stays
// until the session goes, and among several ranks the job must end before that: others may still write into this rank's
// memory or ask it for blocks.

#include <optional>

#include "runtime/program/session/job_run.h"
#include "runtime/program/session/rank_tools.h"

namespace sial {

class Session {
 public:
  /// All arguments outlive the session.
  Session(Transport& transport, const SessionOptions& options, const CompileFile& compile, std::ostream& out,
          std::ostream& err)
      : tools_(transport, options, out, err), compile_(compile) {}
  /// Collective (servers included), first of all.
  void start() { tools_.start(); }

  /// Collective over the workers: runs one job and returns its exit code (programs that do not compile or load end a
  /// job without an exception, reported by rank 0; `exit_stopped` when it ended early, to be continued). Throws
  /// SialError for errors while it runs; `job` then outlives the session.
  int run(const Job& job);
  /// Of the last job that ended, as they were used.
  const NamedSegments& segments() const { return segments_; }
  /// Collective: as RankTools::has_memory_for().
  bool has_memory_for(std::int64_t bytes) { return tools_.has_memory_for(bytes); }
  /// Lets other jobs have this job's outputs: before the process ends in a way that skips destructors.
  void release_outputs();

 private:
  RankTools tools_;
  const CompileFile& compile_;
  NamedSegments segments_;
  std::optional<JobRun> run_;  // of the job that runs, or was left by an error
};

}  // namespace sial
