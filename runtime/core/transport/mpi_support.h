#pragma once
// Shared by the parts of the MPI transport: the communicators of this process, error checking, and waiting in a way
// that leaves the core to others and notices the end of the job. Owned by MpiTransport.

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "runtime/core/transport/in_process.h"
#include "runtime/core/transport/mpi.h"
#include "runtime/core/transport/shared_memory.h"
#include "runtime/core/transport/start_guard.h"
#include "runtime/core/transport/time_limit.h"
#include "runtime/core/watch/rank_status.h"

namespace sial {

/// Throws EnvironmentError with MPI's own words.
void check_mpi(int code, const char* doing);

/// Looks again at once for a moment, so that short waits stay short, then naps ever longer. It never yields: Linux
/// takes a yield as giving up the rest of one's share, so that beside a thread that computes it lasts milliseconds, and
/// a nap as long as it says.
class Backoff {
 public:
  using Microseconds = std::chrono::microseconds;
  /// The waits of a thread that has nothing else to do.
  explicit Backoff(Microseconds spin = Microseconds(300), Microseconds first = Microseconds(10),
                   Microseconds longest = Microseconds(50))
      : spin_(spin), first_(first), longest_(longest) {}
  void idle();
  void reset() { idle_ = naps_ = 0; }

 private:
  Microseconds spin_, first_, longest_;
  std::chrono::steady_clock::time_point began_;
  std::int64_t idle_ = 0, naps_ = 0;
};

/// Naps of this thread, and of those that it starts from then on, last about as long as they say.
void take_short_naps();
/// An Open MPI that finds more ranks than cores, or is told to, yields in every look that finds nothing: the same loss
/// as in Backoff, and at each look of a rank that computes. Its blocking calls, at the beginning and the end, need it.
/// Returns what was set; does nothing elsewhere.
bool let_looks_yield(bool yield);

/// Open MPI explains at length what MPI_Abort is, after the message that says why the job ends: not from here on. Does
/// nothing elsewhere.
void silence_abort();

/// Whether this MPI says that it takes the addresses of a GPU's memory, which is asked of those that know the question.
bool reports_device_memory();

class MpiWorld {
 public:
  MpiWorld(int* argc, char*** argv, const MpiOptions& options);
  /// In an MPI that runs: see make_mpi_of().
  MpiWorld(int communicator, const MpiOptions& options);
  ~MpiWorld();
  MpiWorld(const MpiWorld&) = delete;
  MpiWorld& operator=(const MpiWorld&) = delete;

  std::shared_ptr<SharedMemory> map(MPI_Comm comm, std::size_t bytes, const std::string& purpose);
  /// Until the request is done; also when another rank ends the job, which then never returns.
  void wait(MPI_Request& request, const char* doing);

  /// Ends the job with one message on stderr.
  [[noreturn]] void abort(const std::string& message, int exit_code);
  /// Ends the job with an exit code other than 0, all ranks having done their part; does nothing for 0, or where there
  /// are servers.
  void leave(int exit_code);
  /// For the helper of rank 0: another host's message.
  void abort_for_other_host(const std::string& message, int exit_code);
  /// From here on a watcher looks after the other ranks: limit_end() says until when.
  void end_start_limit() {
    start_limit_.reset();
    start_guard_.reset();
  }
  /// No watcher does any more, and little is left to do.
  void limit_end();
  /// The statements of the ranks of this host about themselves.
  HostBoard board() const;
  /// For waits of the rank's own thread. Does not return when another rank is ending the job; rethrows what the helper
  /// thread died of.
  void look_for_end();
  void set_helper_error(std::exception_ptr error);

  MpiOptions options;
  int rank = 0;
  std::unique_ptr<NodeLayout> layout;
  std::vector<int> host_of;  // the first rank of the host of each rank
  int host_of_rank_0 = 0, my_host = 0;
  std::vector<std::string> host_names;  // by rank; empty where all ranks are on one host
  MPI_Comm all = MPI_COMM_NULL;
  MPI_Comm workers = MPI_COMM_NULL, node = MPI_COMM_NULL, requests = MPI_COMM_NULL, host = MPI_COMM_NULL;
  MPI_Comm watch = MPI_COMM_NULL;  // between hosts, where there are several
  std::atomic<bool> finished{false};
  std::function<void()> while_waiting;  // as Transport::set_while_waiting() has it

  static constexpr int tag_demand = 1, tag_prefetch = 2, tag_abort = 3, tag_end = 4, first_data_tag = 16;

 private:
  void meet(int provided);
  void arrange(int provided);
  void announce();
  void name_hosts();
  [[noreturn]] void print_and_abort(const std::string& message, int exit_code);
  [[noreturn]] void wait_to_be_killed(int exit_code);
  bool claim_end();

  static constexpr std::size_t board_at = 64;  // in control_
  std::shared_ptr<SharedMemory> control_;      // of this host: a word, whether somebody is ending the job; the board
  std::mutex error_mutex_;
  std::exception_ptr helper_error_;
  std::atomic<bool> helper_failed_{false};
  bool looks_yielded_ = false;
  bool owns_mpi_ = true;  // has started it, and ends it
  std::unique_ptr<TimeLimit> start_limit_, end_limit_;
  std::unique_ptr<StartGuard> start_guard_;
};

}  // namespace sial
