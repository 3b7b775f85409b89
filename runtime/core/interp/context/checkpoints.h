#pragma once
// When a job is saved and how all ranks agree on it: after an interval, at a time limit, at a signal; at barriers and
// between programs. Every rank writes a file of its own; when all have succeeded rank 0 renames the index. The
// checkpoint before it stays, and earlier files are removed. A failed attempt leaves the earlier checkpoint as it was;
// where the disk is too small for three, the one before the last is given up for another attempt. One per rank and job.
//
// A checkpoint after an interval is written behind the computation: the ranks hold their blocks, copy the little that
// is their own, and go on; a helper thread writes all of it, to a disk of their own first where there is one, and gives
// each block up once it is written. The index is written at a later barrier, when all helpers are done. Under a virtual
// clock (Transport::has_real_time) the ranks write before they go on, and helpers only bring it to the disk.
// Checkpoints that end the run, at each barrier, or with `--stop-after` are complete before the run goes on.
//
// Requests for checkpoints: rank 0 watches the clock, every rank its signals. The request travels with the barrier's
// own collective, so that a barrier at which nobody wants anything costs nothing more.

#include <atomic>
#include <cstdint>
#include <functional>
#include <future>
#include <iosfwd>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "runtime/core/base/output_lock.h"
#include "runtime/core/checkpoint/deferred_records.h"
#include "runtime/core/checkpoint/index.h"
#include "runtime/core/transport/transport.h"

namespace sial {

struct CheckpointOptions {
  static constexpr double never = -1, programs_only = std::numeric_limits<double>::infinity();
  std::string folder = "checkpoint";
  std::string local = {};  // on a disk of this host, written first; empty: none
  double every = never;    // seconds between checkpoints; 0: at every barrier; unless `never`, also after each program
  double time_limit = 0;   // seconds since the transport began; 0: none
  std::int64_t stop_after = 0;       // end after so many checkpoints; 0: do not
  std::function<int()> stop_signal;  // number of a signal that asks this process to end, or 0; may be empty
  std::string version;               // of sialrun
};

inline constexpr const char* checkpoint_remedy =
    "wait until it has ended, or give this job another folder with `--checkpoint-dir` or `--output-dir`";

/// Exit code of a job that ended early and can be continued (the others: base/error.h).
inline constexpr int exit_stopped = 4;

/// Thrown on all ranks at the same place, after the attempt to save: the job ends here. Not an error of anybody.
struct JobStopped {
  bool saved = false;
};

class Checkpoints {
 public:
  /// Writes what a rank needs to go on: what it keeps to itself, and its share of the blocks.
  struct MachinePart {
    std::function<void(RecordSink&)> own, blocks;
  };
  struct JobPart {
    std::function<std::uint64_t(RecordSink&)> own;  // returns a hash of what should be equal on all ranks
    std::function<void(RecordSink&)> blocks;
  };

  Checkpoints(const CheckpointOptions& options, Transport& transport, std::ostream& err, JobIdentity job);
  /// A file still being written is of no use any more.
  ~Checkpoints() { stop_writing_.store(true, std::memory_order_relaxed); }
  Checkpoints(const Checkpoints&) = delete;
  Checkpoints& operator=(const Checkpoints&) = delete;
  /// The job goes on from this checkpoint, which stays valid until the next one; `previous`: the one before it, on rank
  /// 0, where it is there.
  void continue_from(const CheckpointIndex& index, std::optional<CheckpointIndex> previous);
  /// Keeps the lock of the folder's index, on rank 0; where none was taken beforehand, the first checkpoint takes one.
  void keep_lock(OutputLock lock) { lock_.emplace(std::move(lock)); }
  void release_lock() { lock_.reset(); }
  void set_job_part(JobPart part) { job_part_ = std::move(part); }

  /// Whether this rank has a reason to stop at the coming barrier.
  bool wanted() const;
  /// Collective, after a barrier at which some rank did. `program`: its number in the job.
  void at_barrier(std::int32_t program, const std::string& place, const MachinePart& machine);
  /// Collective. `program` is the next one of the job.
  void between_programs(std::int32_t program, const std::string& place);
  /// The job is complete: its checkpoint is removed.
  void job_done();

  const std::string& folder() const { return options_.folder; }
  /// On rank 0: whether there is a checkpoint that the job can go on from.
  bool has_one() const { return !last_.files.empty(); }
  // The seconds of this rank.
  double seconds() const { return seconds_; }
  std::int64_t written() const { return written_; }
  std::int64_t bytes() const { return bytes_; }

 private:
  enum class Reason : std::int32_t { none, interval, time_limit, signal };
  struct Request {
    Reason reason = Reason::none;
    std::int32_t signal = 0;
    std::int32_t completed = 1;  // nothing is on its way to the disk
  };
  Request request() const;
  Request agree();
  void save_or_stop(Request request, std::int32_t program, const std::string& place, const MachinePart* machine);
  enum class Attempt : std::int64_t { failed, written, again };
  /// The outcome of writing a file.
  struct Written {
    std::string problem;
    FileSeal seal;
  };
  /// The data that this rank saves, and has perhaps not written or not brought to the disk yet.
  struct Pending {
    std::int64_t serial = 0;
    std::int32_t program = 0;
    bool inside = false;
    std::string place, written, problem;
    double seconds = 0;
    FileSeal seal;
    std::uint64_t common = 0;
    std::unique_ptr<RecordWriter> writer;
    std::unique_ptr<DeferredRecords> records;  // until the helper thread has them; null: all are written
    std::future<Written> completed;            // the helper thread's
  };
  bool behind() const {
    return options_.every > 0 && options_.every != CheckpointOptions::programs_only && options_.stop_after == 0;
  }
  bool pending_is_complete() const;
  bool write(std::int32_t program, const std::string& place, const MachinePart* machine);
  void write_behind(std::int32_t program, const std::string& place, const MachinePart* machine);
  Attempt attempt(std::int32_t program, const std::string& place, const MachinePart* machine);
  Pending begin(std::int32_t program, const std::string& place, const MachinePart* machine, bool deferred);
  Written complete(RecordWriter& writer, std::unique_ptr<DeferredRecords> records, std::int64_t serial) const;
  Attempt conclude(Pending pending);
  void conclude_pending();
  /// This rank's.
  std::string file_name(std::int64_t serial) const;
  void publish(CheckpointIndex index);
  Attempt failed(const std::string& problem);
  std::string path(const std::string& name) const;
  std::string first_path(std::int64_t serial) const;
  void advise_to_continue(const std::string& written) const;
  /// The number of the coming attempt, or a problem and none.
  std::int64_t begin_attempt(std::string& problem);
  CollectiveTag tag(CollectiveKind kind) const { return {kind, {-1, -1}}; }

  CheckpointOptions options_;
  Transport& transport_;
  std::ostream& err_;
  JobIdentity job_;
  JobPart job_part_;
  std::string job_id_;
  std::optional<OutputLock> lock_;           // on rank 0
  CheckpointIndex last_;                     // the one that is valid; on rank 0
  std::optional<CheckpointIndex> previous_;  // the one before it; on rank 0
  std::uint64_t last_total_ = 0;             // bytes of all its files
  std::int64_t serial_ = 0;                  // of the last attempt
  std::atomic<bool> stop_writing_{false};    // what is pending
  std::optional<Pending> pending_;           // on all ranks or on none
  double last_time_ = 0, asked_ = 0;
  double seconds_ = 0;
  std::int64_t written_ = 0, bytes_ = 0;
};

}  // namespace sial
