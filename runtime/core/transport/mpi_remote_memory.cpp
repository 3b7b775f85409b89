#include "runtime/core/transport/mpi_remote_memory.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <exception>
#include <list>
#include <thread>
#include <vector>

#include "runtime/core/base/check.h"
#include "runtime/core/base/process_limits.h"

namespace sial {
namespace {

using Clock = std::chrono::steady_clock;

enum class CommandKind : std::int32_t { ask, write, read, close };

/// The message of a requester; the data follow in messages with the slot's tag, or come back with it.
struct Command {
  CommandKind kind = CommandKind::close;
  std::int32_t slot = 0;
  std::uint64_t at = 0, bytes = 0;
};

constexpr int command_tag = 1;
constexpr int slots = 256;  // messages of a rank on their way
// Copies that nobody waits for at a time, so that a demand soon gets its turn.
constexpr int max_unhurried = 8;
// Tags of what a requester sends and of what a provider answers: two ranks may be both to each other, and number their
// slots alike.
int data_tag(int slot) { return 16 + 2 * slot; }
int answer_tag(int slot) { return data_tag(slot) + 1; }

class MpiRemoteMemory final : public RemoteMemory {
 public:
  MpiRemoteMemory(MpiWorld& world, MemoryProvider& provider) : world_(world), provider_(provider) {
    check_mpi(MPI_Comm_dup(world_.all, &comm_), "making the communicator of memory of other nodes");
    for (int s = 0; s < slots; ++s) free_slots_.push_back(s);
    others_ = world.layout->total() - 1;
    close_sent_.resize(static_cast<std::size_t>(others_) + 1, 0);
    thread_ = start_thread("memory for other hosts", [this] { run(); });
  }
  ~MpiRemoteMemory() override;
  MpiRemoteMemory(const MpiRemoteMemory&) = delete;
  MpiRemoteMemory& operator=(const MpiRemoteMemory&) = delete;

  RemoteChunk ask(int rank, std::uint64_t bytes) override;
  void start(RemoteCopy& copy) override {
    const std::lock_guard guard(queue_mutex_);
    queued_[static_cast<std::size_t>(copy.priority)].push_back(&copy);
    waiting_.fetch_add(1, std::memory_order_release);
  }
  void raise(RemoteCopy& copy) override;
  void progress() override {
    if (waiting_.load(std::memory_order_acquire) == 0) return;
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock()) return;
    const auto now = Clock::now();
    if (now < next_look_) return;
    next_look_ = now + (step() ? std::chrono::microseconds(2) : std::chrono::microseconds(20));
  }

 private:
  /// A copy as the requester sees it.
  struct Flight {
    RemoteCopy* copy = nullptr;  // or
    RemoteChunk* chunk = nullptr;
    int to = 0;
    Command command;
    std::vector<MPI_Request> requests;
    Clock::time_point begun;
  };
  /// A copy as the provider sees it.
  struct Job {
    int from = 0;
    Command command;
    RemoteChunk chunk;
    bool answered = false;
    std::vector<MPI_Request> requests;
  };

  void run();
  bool step();
  bool accept();
  void begin(Job& job);
  bool advance(Job& job);
  bool advance(Flight& flight);
  bool launch_queued();
  void launch(Flight& flight, int to, const Command& command);
  bool done(std::vector<MPI_Request>& requests) const;
  bool through(const Flight& flight) const;
  template <class F>
  void for_pieces(std::size_t bytes, const F& f) const {
    const std::size_t piece = world_.options.message_bytes;
    for (std::size_t at = 0; at < bytes; at += piece) f(at, static_cast<int>(std::min(piece, bytes - at)));
  }
  void send(const void* data, std::size_t bytes, int to, int tag, std::vector<MPI_Request>& requests);
  void receive(void* into, std::size_t bytes, int from, int tag, std::vector<MPI_Request>& requests);
  void send_closes();

  MpiWorld& world_;
  MemoryProvider& provider_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  int others_ = 0;

  std::mutex queue_mutex_;
  std::array<std::deque<RemoteCopy*>, 3> queued_;
  std::atomic<std::int64_t> waiting_{0};  // copies and chunks that have not ended

  std::mutex mutex_;  // of a step, and what follows
  std::list<Flight> flights_;
  Clock::time_point next_look_;  // of whoever is not this rank's own thread for it
  std::list<Job> jobs_;
  std::deque<int> free_slots_;
  int unhurried_ = 0;             // of the flights
  std::vector<char> close_sent_;  // by rank: nothing of this rank will come there any more
  std::vector<int> closing_;      // ranks that will start nothing any more here
  int closes_seen_ = 0;
  bool closed_ = false;
  std::vector<MPI_Request> close_requests_;
  Command close_command_;
  std::exception_ptr error_;

  std::atomic<bool> stop_{false};
  std::thread thread_;
};

void MpiRemoteMemory::send(const void* data, std::size_t bytes, int to, int tag, std::vector<MPI_Request>& requests) {
  for_pieces(bytes, [&](std::size_t at, int n) {
    requests.push_back(MPI_REQUEST_NULL);
    check_mpi(MPI_Isend(static_cast<const std::byte*>(data) + at, n, MPI_BYTE, to, tag, comm_, &requests.back()),
              "sending to memory of other nodes");
  });
}

void MpiRemoteMemory::receive(void* into, std::size_t bytes, int from, int tag, std::vector<MPI_Request>& requests) {
  for_pieces(bytes, [&](std::size_t at, int n) {
    requests.push_back(MPI_REQUEST_NULL);
    check_mpi(MPI_Irecv(static_cast<std::byte*>(into) + at, n, MPI_BYTE, from, tag, comm_, &requests.back()),
              "receiving from memory of other nodes");
  });
}

bool MpiRemoteMemory::done(std::vector<MPI_Request>& requests) const {
  int all = 1;
  if (!requests.empty())
    check_mpi(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &all, MPI_STATUSES_IGNORE),
              "copying to and from memory of other nodes");
  return all != 0;
}

/// Whether the data of a simulated network have had the time that they need.
bool MpiRemoteMemory::through(const Flight& f) const {
  const auto& network = world_.options.network;
  if (!network) return true;
  double seconds = 2 * network->latency;
  if (network->bandwidth > 0 && f.copy) seconds += static_cast<double>(f.copy->bytes) / network->bandwidth;
  return Clock::now() - f.begun >= std::chrono::duration<double>(seconds);
}

// ---- the requester's side

void MpiRemoteMemory::launch(Flight& f, int to, const Command& command) {
  f.to = to;
  f.command = command;
  f.command.slot = free_slots_.front();
  free_slots_.pop_front();
  f.begun = Clock::now();
  const int slot = f.command.slot;
  if (f.chunk) {
    receive(f.chunk, sizeof *f.chunk, to, answer_tag(slot), f.requests);
  } else if (!f.copy->writes) {
    receive(f.copy->memory, f.copy->bytes, to, answer_tag(slot), f.requests);
  } else {  // the answer has no bytes
    f.requests.push_back(MPI_REQUEST_NULL);
    check_mpi(MPI_Irecv(nullptr, 0, MPI_BYTE, to, answer_tag(slot), comm_, &f.requests.back()),
              "waiting for memory of other nodes");
  }
  send(&f.command, sizeof f.command, to, command_tag, f.requests);
  if (f.copy && f.copy->writes) send(f.copy->memory, f.copy->bytes, to, data_tag(slot), f.requests);
}

bool MpiRemoteMemory::launch_queued() {
  bool any = false;
  while (!free_slots_.empty()) {
    RemoteCopy* copy = nullptr;
    {
      const std::lock_guard guard(queue_mutex_);
      for (std::size_t p = 0; p < queued_.size() && !copy; ++p) {
        if (queued_[p].empty() || (p > 0 && unhurried_ >= max_unhurried)) continue;
        copy = queued_[p].front();
        queued_[p].pop_front();
      }
    }
    if (!copy) break;
    any = true;
    if (close_sent_[static_cast<std::size_t>(copy->rank)]) {  // the job has ended there
      waiting_.fetch_sub(1, std::memory_order_release);
      copy->completed(ECANCELED);
      continue;
    }
    if (copy->priority != CopyPriority::demand) ++unhurried_;
    Flight& f = flights_.emplace_back();
    f.copy = copy;
    launch(f, copy->rank, {copy->writes ? CommandKind::write : CommandKind::read, 0, copy->at, copy->bytes});
  }
  return any;
}

/// True when it has ended.
bool MpiRemoteMemory::advance(Flight& f) {
  if (!done(f.requests) || !through(f)) return false;
  free_slots_.push_back(f.command.slot);
  waiting_.fetch_sub(1, std::memory_order_release);
  if (f.copy) {
    if (f.copy->priority != CopyPriority::demand) --unhurried_;
    f.copy->completed(0);
  }
  return true;
}

/// Only those that have not left: the priority of the others counts until they end.
void MpiRemoteMemory::raise(RemoteCopy& copy) {
  const std::lock_guard guard(queue_mutex_);
  if (copy.priority == CopyPriority::demand) return;
  auto& queue = queued_[static_cast<std::size_t>(copy.priority)];
  const auto found = std::find(queue.begin(), queue.end(), &copy);
  if (found == queue.end()) return;
  queue.erase(found);
  copy.priority = CopyPriority::demand;
  queued_[0].push_back(&copy);
}

RemoteChunk MpiRemoteMemory::ask(int rank, std::uint64_t bytes) {
  RemoteChunk chunk;
  waiting_.fetch_add(1, std::memory_order_release);
  const Flight* flight = nullptr;
  Backoff backoff(std::chrono::microseconds(300), std::chrono::microseconds(10), std::chrono::microseconds(50));
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      if (error_) std::rethrow_exception(error_);
      if (!flight && !free_slots_.empty()) {
        Flight& f = flights_.emplace_back();
        f.chunk = &chunk;
        flight = &f;
        launch(f, rank, {CommandKind::ask, 0, 0, bytes});
      }
      step();
      const auto same = [flight](const Flight& f) { return &f == flight; };
      if (flight && std::none_of(flights_.begin(), flights_.end(), same)) return chunk;
    }
    backoff.idle();
  }
}

// ---- the provider's side

bool MpiRemoteMemory::accept() {
  int found = 0;
  MPI_Message message;
  MPI_Status status;
  check_mpi(MPI_Improbe(MPI_ANY_SOURCE, command_tag, comm_, &found, &message, &status),
            "looking after memory of other nodes");
  if (!found) return false;
  Job job;
  check_mpi(MPI_Mrecv(&job.command, sizeof job.command, MPI_BYTE, &message, MPI_STATUS_IGNORE),
            "looking after memory of other nodes");
  job.from = status.MPI_SOURCE;
  if (job.command.kind == CommandKind::close) {
    ++closes_seen_;
    closing_.push_back(job.from);
    return true;
  }
  jobs_.push_back(std::move(job));
  begin(jobs_.back());
  return true;
}

void MpiRemoteMemory::begin(Job& job) {
  const Command& c = job.command;
  switch (c.kind) {
    case CommandKind::ask:
      job.chunk = closed_ ? RemoteChunk{} : provider_.provide(c.bytes);
      send(&job.chunk, sizeof job.chunk, job.from, answer_tag(c.slot), job.requests);
      job.answered = true;
      break;
    case CommandKind::read:
      send(provider_.provided(c.at), c.bytes, job.from, answer_tag(c.slot), job.requests);
      job.answered = true;
      break;
    case CommandKind::write:
      receive(provider_.provided(c.at), c.bytes, job.from, data_tag(c.slot), job.requests);
      break;
    case CommandKind::close: break;
  }
}

bool MpiRemoteMemory::advance(Job& job) {
  if (!done(job.requests)) return false;
  if (job.answered) return true;
  job.requests.clear();
  job.answered = true;
  job.requests.push_back(MPI_REQUEST_NULL);
  check_mpi(MPI_Isend(nullptr, 0, MPI_BYTE, job.from, answer_tag(job.command.slot), comm_, &job.requests.back()),
            "answering for memory of other nodes");
  return done(job.requests);
}

// ---- both

bool MpiRemoteMemory::step() {
  bool busy = false;
  for (auto at = jobs_.begin(); at != jobs_.end();) {
    if (advance(*at)) at = jobs_.erase(at), busy = true;
    else ++at;
  }
  for (auto at = flights_.begin(); at != flights_.end();) {
    if (advance(*at)) at = flights_.erase(at), busy = true;
    else ++at;
  }
  while (accept()) busy = true;
  if (launch_queued()) busy = true;
  send_closes();
  return busy;
}

/// This rank's last word to each other one: at its own end to all; a server's, which ends last, to a worker that ends.
void MpiRemoteMemory::send_closes() {
  const auto tell = [this](int rank) {
    if (rank == world_.rank || close_sent_[static_cast<std::size_t>(rank)]) return;
    const auto there = [rank](const Flight& f) { return f.to == rank; };
    if (std::any_of(flights_.begin(), flights_.end(), there)) return;
    close_sent_[static_cast<std::size_t>(rank)] = 1;
    send(&close_command_, sizeof close_command_, rank, command_tag, close_requests_);
  };
  const bool server = world_.rank >= world_.layout->workers;
  for (int rank = 0; closed_ && rank <= others_; ++rank) tell(rank);
  if (server)
    for (const int rank : closing_)
      if (rank < world_.layout->workers) tell(rank);
}

void MpiRemoteMemory::run() {
  // The same as for requests: a worker's takes its core from a rank that computes, a server has one for it.
  const bool server = world_.rank >= world_.layout->workers;
  Backoff backoff(std::chrono::microseconds(server ? 500 : 25), std::chrono::microseconds(20),
                  std::chrono::microseconds(server ? 150 : 500));
  while (!stop_) {
    bool busy = false;
    try {
      const std::lock_guard lock(mutex_);
      if (error_) return;
      busy = step();
      if (closed_ && closes_seen_ == others_ && jobs_.empty() && flights_.empty() && done(close_requests_)) return;
    } catch (...) {
      {
        const std::lock_guard lock(mutex_);
        error_ = std::current_exception();
      }
      world_.set_helper_error(std::current_exception());
      return;
    }
    if (busy) backoff.reset();
    else backoff.idle();
  }
}

MpiRemoteMemory::~MpiRemoteMemory() {
  // While the job ends with an error others may have gone, and MPI may still write to buffers: left to the process.
  if (std::uncaught_exceptions() > 0) {
    stop_ = true;
  } else {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  if (thread_.joinable()) thread_.join();
  if (!stop_ && !error_) MPI_Comm_free(&comm_);
}

}  // namespace

std::unique_ptr<RemoteMemory> make_mpi_remote_memory(MpiWorld& world, MemoryProvider& provider) {
  return std::make_unique<MpiRemoteMemory>(world, provider);
}

}  // namespace sial
