#include "runtime/core/transport/mpi_support.h"

#include <dlfcn.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include <fmt/ranges.h>

#include "runtime/core/base/check.h"
#include "runtime/core/base/error.h"
#include "runtime/core/base/host_name.h"
#include "runtime/core/base/printable.h"
#include "runtime/core/base/process_limits.h"
#include "runtime/core/transport/full_folders.h"
#include "runtime/core/transport/launched.h"
#include "runtime/core/transport/slow_start.h"
#include "runtime/core/watch/watcher.h"

namespace sial {

void check_mpi(int code, const char* doing) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw EnvironmentError(
      fmt::format("MPI failed while {}: {}", doing, std::string(text, static_cast<std::size_t>(length))));
}

void Backoff::idle() {
  const auto now = std::chrono::steady_clock::now();
  if (idle_ == 0) began_ = now;
  ++idle_;
  if (now - began_ < spin_) return;
  std::this_thread::sleep_for(std::min(first_ + std::chrono::microseconds(naps_++ / 8), longest_));
}

void take_short_naps() {
  prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0);  // nanoseconds; 50 us are usual
}

bool let_looks_yield(bool yield) {
  using SetYield = bool (*)(bool);
  const auto set = reinterpret_cast<SetYield>(dlsym(RTLD_DEFAULT, "opal_progress_set_yield_when_idle"));
  return set && set(yield);
}

static int show_no_help(const char*, const char*, bool, ...) { return 0; }

void silence_abort() {
  using Help = int (*)(const char*, const char*, bool, ...);
  if (auto* help = static_cast<Help*>(dlsym(RTLD_DEFAULT, "opal_show_help"))) *help = show_no_help;
}

bool reports_device_memory() {
  using Query = int (*)();
  const auto query = reinterpret_cast<Query>(dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support"));
  return query && query() == 1;
}

namespace {

/// False only when the launcher says that all ranks are on this host.
bool perhaps_several_hosts() {
  const int all = launched_ranks();
  for (const char* local : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"})
    if (const int here = number_of_environment(local); here > 0) return here != all;
  return all > 1;
}

}  // namespace

std::string name_of_mpi() {
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(version, &length);
  std::string name(version, static_cast<std::size_t>(length));
  name.resize(std::min(name.size(), name.find_first_of(",\n")));
  std::replace(name.begin(), name.end(), '\t', ' ');
  return name;
}

std::string describe_mpi() {
  std::string text = fmt::format("MPI: {}", name_of_mpi());
  for (const char* choice :
       {"OMPI_MCA_pml", "OMPI_MCA_btl", "OMPI_MCA_btl_tcp_if_include", "OMPI_MCA_btl_tcp_if_exclude"})
    if (const char* value = std::getenv(choice)) text += fmt::format("; {}={}", choice, value);
  if (const std::vector<std::string> bridges = bridges_of_host(); !bridges.empty() && !network_is_named())
    text += fmt::format(
        "\nwarning: several hosts with {} may not find each other: name their network with btl_tcp_if_include (runtime/program/job/CLUSTER.md)",
        fmt::join(bridges, ", "));
  return text;
}

namespace {

/// Every process would run the whole job by itself, and all would write the same files.
[[noreturn]] void refuse_to_be_alone() {
  let_first_speak(launched_rank());
  if (is_first_launched())
    fmt::print(
        stderr,
        "error: {} processes were started, but they do not find each other: each is rank 0 of 1\n"
        "  hint: sialrun uses {}: start it with the mpirun of that MPI, or with `srun --mpi=pmix`; `--transport loopback` runs a job per process\n",
        launched_ranks(), name_of_mpi());
  std::fflush(stderr);
  std::_Exit(exit_environment_error);
}

}  // namespace

/// With fewer Open MPI crashes.
static constexpr int files_of_start = 14;

MpiWorld::MpiWorld(int* argc, char*** argv, const MpiOptions& wanted) : options(wanted) {
  const bool several = options.ranks_per_node > 0 || options.servers > 0 || perhaps_several_hosts();
  constexpr double head_start = 2;  // the first rank ends the job; the next one if that is lost, and so on
  const bool several_ranks = launched_ranks() > 1, limited = several_ranks && options.start_limit > 0;
  start_guard_ =
      std::make_unique<StartGuard>(several_ranks ? options.lost_after : 0, argv && *argv ? (*argv)[0] : nullptr);
  start_limit_ =
      std::make_unique<TimeLimit>(limited ? options.start_limit + head_start * std::min(launched_rank(), 8) : 0,
                                  "the ranks have not met", "`--start-limit` sets the limit");
  const SlowStart slow_start(perhaps_several_hosts() && is_first_launched());
  if (several_ranks) {
    look_for_full_folders();
    try {
      require_files(files_of_start, "MPI");
    } catch (const ProcessLimitError&) {
      let_first_speak(local_rank(), 2);
      throw;
    }
  }
  const int level = several ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED;
  int provided = 0;
  check_mpi(MPI_Init_thread(argc, argv, level, &provided), "starting");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);  // inherited by the communicators made below
  all = MPI_COMM_WORLD;
  int total = 0;
  MPI_Comm_size(all, &total);
  if (total == 1 && several_ranks) refuse_to_be_alone();
  meet(provided);
}

MpiWorld::MpiWorld(int communicator, const MpiOptions& wanted) : options(wanted), owns_mpi_(false) {
  int runs = 0, ended = 0, mine = 0, provided = 0;
  MPI_Initialized(&runs);
  MPI_Finalized(&ended);
  if (!runs || ended) throw EnvironmentError("MPI does not run", "call this between MPI_Init and MPI_Finalize");
  MPI_Query_thread(&provided);
  MPI_Is_thread_main(&mine);
  if (!mine && provided < MPI_THREAD_SERIALIZED)
    throw EnvironmentError("this MPI takes calls of the thread only that has started it",
                           "start it with MPI_THREAD_MULTIPLE, or run in that thread");
  check_mpi(MPI_Comm_dup(MPI_Comm_f2c(communicator), &all), "making a communicator of its own");
  MPI_Comm_set_errhandler(all, MPI_ERRORS_RETURN);
  meet(provided);
}

/// Finds the place of each rank, and what ranks share.
void MpiWorld::meet(int provided) {
  int total = 0;
  MPI_Comm_rank(all, &rank);
  MPI_Comm_size(all, &total);
  check_mpi(MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &host),
            "finding the ranks of this host");
  my_host = rank;  // a host is named by its first rank
  check_mpi(MPI_Bcast(&my_host, 1, MPI_INT, 0, host), "naming this host");
  host_of.resize(static_cast<std::size_t>(total));
  check_mpi(MPI_Allgather(&my_host, 1, MPI_INT, host_of.data(), 1, MPI_INT, all), "exchanging host names");
  host_of_rank_0 = host_of[0];
  try {
    arrange(provided);
    if (owns_mpi_) take_short_naps();
    looks_yielded_ = let_looks_yield(false);
  } catch (const SialError& e) {  // all ranks fail alike: only here can they agree on who says so
    const bool everywhere = dynamic_cast<const EnvironmentError*>(&e) == nullptr;
    if (everywhere && my_host != host_of_rank_0) wait_to_be_killed(exit_input_error);
    abort(fmt::format("error: {}{}{}", printable_name(e.what()),
                      e.hint().empty() ? "" : "\n  hint: ", printable_name(e.hint())),
          dynamic_cast<const EnvironmentError*>(&e) ? exit_environment_error : exit_input_error);
  }
}

HostBoard MpiWorld::board() const {
  int here = 0;
  MPI_Comm_size(host, &here);
  return {control_->base() + board_at, here};
}

/// Before any rank looks: one that is stopped or ends before its watcher runs is found as any other.
void MpiWorld::announce() {
  int position = 0;
  MPI_Comm_rank(host, &position);
  RankStatus status;
  status.rank = rank;
  status.process = static_cast<std::int32_t>(getpid());
  status.process_names = process_names();
  board().publish(position, status);
}

void MpiWorld::name_hosts() {
  if (std::all_of(host_of.begin(), host_of.end(), [&](int h) { return h == host_of_rank_0; })) return;
  check_mpi(MPI_Comm_dup(all, &watch), "making the watchers' communicator");
  const HostName mine = host_name();
  std::vector<HostName> names(host_of.size());
  check_mpi(MPI_Allgather(mine.data(), mine.size(), MPI_CHAR, names.data(), mine.size(), MPI_CHAR, all),
            "exchanging host names");
  for (const auto& name : names) host_names.emplace_back(printable_name(name.data()));
}

void MpiWorld::arrange(int provided) {
  const auto total = static_cast<int>(host_of.size());
  int here = 0;
  MPI_Comm_size(host, &here);
  control_ = map(host, board_at + HostBoard::bytes(here), "job control");
  control_->commit(0, board_at + HostBoard::bytes(here));
  announce();
  name_hosts();
  if (options.servers < 0 || options.servers >= total)
    throw SialError(fmt::format("`--servers {}` leaves no worker among {} ranks", options.servers, total),
                    "start more ranks, or fewer servers");
  layout = std::make_unique<NodeLayout>(host_of, options.ranks_per_node, options.servers, options.homes_on_workers);
  const bool worker = rank < layout->workers;
  const NodeId my_node = layout->node_of[static_cast<std::size_t>(rank)];
  check_mpi(MPI_Comm_split(all, worker ? 0 : 1, rank, &workers), "making the workers' communicator");
  check_mpi(MPI_Comm_split(all, my_node.number(), rank, &node), "making the node's communicator");
  check_mpi(MPI_Comm_dup(all, &requests), "making the requests' communicator");
  if (layout->ranks.size() > 1 && provided < MPI_THREAD_MULTIPLE)
    throw EnvironmentError("this MPI does not support MPI_THREAD_MULTIPLE, which jobs on several nodes need",
                           "use another MPI, or one node");
}

MpiWorld::~MpiWorld() {
  control_.reset();
  // A rank that leaves without finish() leaves because of an error: the job must not wait for it in MPI_Finalize.
  if (!finished) return;
  let_looks_yield(looks_yielded_);
  if (owns_mpi_) {
    MPI_Finalize();
    return;
  }
  for (MPI_Comm* made : {&watch, &requests, &node, &workers, &host, &all})
    if (*made != MPI_COMM_NULL) MPI_Comm_free(made);
}

void MpiWorld::limit_end() {
  end_limit_ =
      std::make_unique<TimeLimit>(owns_mpi_ && launched_ranks() > 1 ? options.lost_after : 0,
                                  "the job is complete, but its ranks have not ended", "`--lost-after` sets the limit");
}

std::shared_ptr<SharedMemory> MpiWorld::map(MPI_Comm comm, std::size_t bytes, const std::string& purpose) {
  int position = 0;
  MPI_Comm_rank(comm, &position);
  std::shared_ptr<SharedMemory> memory;
  std::exception_ptr error;
  const auto attempt = [&error](const auto& step) {
    try {
      step();
    } catch (const EnvironmentError&) { error = std::current_exception(); }
  };
  const auto complete = [&](MPI_Request& request) {
    control_ ? wait(request, "mapping node memory")
             : check_mpi(MPI_Wait(&request, MPI_STATUS_IGNORE), "mapping node memory");
  };
  int failures = 0;
  for (const auto naming : {SharedMemory::Naming::descriptor, SharedMemory::Naming::name}) {
    memory.reset();
    error = nullptr;
    if (position == 0) attempt([&] { memory = SharedMemory::create(bytes, purpose, naming); });
    char name[128] = "";
    if (memory) std::snprintf(name, sizeof name, "%s", memory->name().c_str());
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Ibcast(name, sizeof name, MPI_CHAR, 0, comm, &request), "naming node memory");
    complete(request);
    if (position != 0 && name[0]) attempt([&] { memory = SharedMemory::open(name, bytes, purpose); });
    const int mine = memory ? 0 : 1;
    check_mpi(MPI_Iallreduce(&mine, &failures, 1, MPI_INT, MPI_SUM, comm, &request), "mapping node memory");
    complete(request);
    if (memory) memory->remove_name();
    if (failures == 0) return memory;
    if (!SharedMemory::is_descriptor(name)) break;
  }
  if (error) std::rethrow_exception(error);
  // A rank that knows the reason ends the job.
  for (int look = 0; look < 200; ++look) {
    if (control_) look_for_end();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  throw EnvironmentError(fmt::format("{} ranks of this node could not map shared memory for {}", failures, purpose));
}

void MpiWorld::wait(MPI_Request& request, const char* doing) {
  Backoff backoff;
  while (true) {
    int done = 0;
    check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), doing);
    if (done) return;
    look_for_end();
    backoff.idle();
  }
}

bool MpiWorld::claim_end() {
  if (!control_) return my_host == rank;
  std::atomic_ref<std::uint64_t> ending(*reinterpret_cast<std::uint64_t*>(control_->base()));
  return ending.exchange(1) == 0;
}

void MpiWorld::look_for_end() {
  std::atomic_ref<std::uint64_t> ending(*reinterpret_cast<std::uint64_t*>(control_->base()));
  if (ending.load(std::memory_order_relaxed) != 0) wait_to_be_killed(exit_environment_error);
  if (helper_failed_.load(std::memory_order_acquire)) {
    const std::lock_guard lock(error_mutex_);
    std::rethrow_exception(helper_error_);
  }
  if (while_waiting) while_waiting();
}

void MpiWorld::set_helper_error(std::exception_ptr error) {
  const std::lock_guard lock(error_mutex_);
  helper_error_ = std::move(error);
  helper_failed_.store(true, std::memory_order_release);
}

void MpiWorld::wait_to_be_killed(int exit_code) {
  // MPI_Abort of the rank that claimed the end kills this process; should that fail, it leaves by itself, silently.
  std::this_thread::sleep_for(std::chrono::seconds(20));
  std::_Exit(exit_code);
}

void MpiWorld::print_and_abort(const std::string& message, int exit_code) {
  std::fflush(stdout);
  fmt::print(stderr, "{}\n", message);
  std::fflush(stderr);
  silence_abort();
  MPI_Abort(MPI_COMM_WORLD, exit_code);
  std::_Exit(exit_code);
}

void MpiWorld::abort(const std::string& message, int exit_code) {
  std::fflush(stdout);
  if (!claim_end()) wait_to_be_killed(exit_code);
  if (my_host != host_of_rank_0 && requests != MPI_COMM_NULL) {
    // Two hosts may fail at once: the host of rank 0 decides which message is printed. Its helper may be gone:
    // wait only as long as MPI may take to end the ranks of several hosts.
    std::vector<char> data(sizeof exit_code + message.size());
    std::memcpy(data.data(), &exit_code, sizeof exit_code);
    std::memcpy(data.data() + sizeof exit_code, message.data(), message.size());
    MPI_Request request = MPI_REQUEST_NULL;
    if (MPI_Isend(data.data(), static_cast<int>(data.size()), MPI_CHAR, 0, tag_abort, requests, &request) ==
        MPI_SUCCESS) {
      const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(8);
      for (int done = 0; std::chrono::steady_clock::now() < give_up;) {
        if (!done) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    }
  }
  print_and_abort(message, exit_code);
}

void MpiWorld::leave(int exit_code) {
  int total = 0;
  MPI_Comm_size(all, &total);
  if (total == 1 || options.servers > 0 || !finished) return;
  // srun takes the largest code, which an abort makes 137; and it says little about others than 0.
  if (std::getenv("SLURM_STEP_ID") && !std::getenv("OMPI_COMM_WORLD_SIZE")) return;
  std::fflush(stdout);
  std::fflush(stderr);
  // Codes may differ, where one rank alone could not write: all take the same way out.
  int worst = exit_code;
  if (MPI_Allreduce(&exit_code, &worst, 1, MPI_INT, MPI_MAX, all) != MPI_SUCCESS || worst == 0) return;
  if (rank != 0) wait_to_be_killed(worst);
  silence_abort();
  MPI_Abort(MPI_COMM_WORLD, worst);
}

void MpiWorld::abort_for_other_host(const std::string& message, int exit_code) {
  if (claim_end()) print_and_abort(message, exit_code);
}

}  // namespace sial
