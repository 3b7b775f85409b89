#include "runtime/core/transport/mpi.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "runtime/core/base/check.h"
#include "runtime/core/base/process_limits.h"
#include "runtime/core/transport/collective.h"
#include "runtime/core/transport/mpi_remote_memory.h"
#include "runtime/core/transport/mpi_requests.h"
#include "runtime/core/transport/mpi_support.h"
#include "runtime/core/transport/mpi_watch.h"

namespace sial {

namespace {

/// The data that all workers exchange at each collective: enough to agree on it, and the number of a sum.
struct Arrival {
  CollectiveRecord record;
  double value = 0;
};

class MpiTransport final : public ExchangeTransport {
 public:
  template <class... Arguments>
  explicit MpiTransport(Arguments&&... arguments)
      : world_(std::forward<Arguments>(arguments)...), server_(world_), client_(world_, activity()) {
    if (node_count() > 1 && !is_server()) start_helper();
  }
  ~MpiTransport() override {
    watch_.reset();
    join_helper(StopServing::now);
  }

  int rank() const override { return world_.rank; }
  int size() const override { return world_.layout->workers; }
  NodeId node() const override { return world_.layout->node_of[static_cast<std::size_t>(world_.rank)]; }
  int node_count() const override { return static_cast<int>(world_.layout->ranks.size()); }
  const std::vector<int>& ranks_of_node(NodeId node) const override { return world_.layout->ranks[node.at()]; }
  const std::vector<NodeId>& home_nodes() const override { return world_.layout->home_nodes; }
  bool is_server() const override { return world_.rank >= size(); }

  std::shared_ptr<NodeMemory> map_node_memory(std::size_t bytes, const std::string& purpose) override {
    return world_.map(world_.node, bytes, purpose);
  }

  void set_service(Service* service) override { server_.set_service(service); }
  std::unique_ptr<PendingRequest> request(int to, std::span<const std::byte> header, Payload payload,
                                          ReplyBuffer reply_buffer, Priority priority) override {
    SIAL_CHECK(node_count() > 1, "request to rank {} on a single node", to);
    SIAL_CHECK(to >= 0 && to < world_.layout->total(), "request to rank {}", to);
    return client_.request(to, header, payload, reply_buffer, priority);
  }
  std::unique_ptr<RemoteMemory> open_remote_memory(MemoryProvider& provider) override {
    return make_mpi_remote_memory(world_, provider);
  }
  bool reads_device_memory() const override { return reports_device_memory(); }
  void prepare_helper(std::function<void()> f) override {
    if (helper_.joinable()) server_.prepare(std::move(f));
  }
  void serve_forever() override {
    SIAL_CHECK(is_server(), "rank {} is no server", rank());
    server_.run(stop_helper_);
    world_.limit_end();
    watch_.reset();
    world_.finished = true;
  }
  void finish() override {
    if (world_.finished) return;
    end_collective();
    world_.limit_end();
    watch_.reset();
    if (rank() == 0) client_.send_end();
    join_helper(StopServing::when_drained);
    world_.finished = true;
  }

  bool in_helper() const override { return std::this_thread::get_id() != rank_thread_; }

  void leave(int exit_code) override { world_.leave(exit_code); }

  void start_watch(const WatchOptions& options) override {
    watch_ = make_mpi_watch(world_, activity(), is_server(), options);
    world_.end_start_limit();
  }
  std::string host_name() const override {
    return world_.host_names.empty() ? std::string() : world_.host_names[static_cast<std::size_t>(world_.rank)];
  }

  void set_while_waiting(std::function<void()> f) override { world_.while_waiting = std::move(f); }
  void pause() override;
  void progress() override { client_.progress(); }
  double now() const override { return MPI_Wtime() - start_; }
  std::optional<LinkSpeed> link_speed() const override {
    const auto& network = world_.options.network;
    return network ? std::optional(LinkSpeed{network->latency, network->bandwidth}) : std::nullopt;
  }
  [[noreturn]] void abort_job(const std::string& message, int exit_code) override { world_.abort(message, exit_code); }

 protected:
  const Parts& exchange(const CollectiveRecord& record, std::span<const std::byte> mine) override;

 private:
  void start_helper() {
    try {
      helper_ = start_thread("requests of other hosts", [this] {
        try {
          server_.run(stop_helper_);
        } catch (...) { world_.set_helper_error(std::current_exception()); }
      });
    } catch (const ProcessLimitError& error) {  // the other ranks wait for this one already
      world_.abort(fmt::format("error: {} (on rank {})\n  hint: {}", error.what(), rank(), error.hint()),
                   exit_environment_error);
    }
  }
  void join_helper(StopServing how) {
    stop_helper_ = how;
    if (helper_.joinable()) helper_.join();
  }
  void broadcast_part(std::vector<std::byte>& part, int root);
  /// Pauses of one thread. In quick succession they are one wait: after a millisecond of it, they sleep instead of
  /// taking a core from those who compute, or who move the block that is waited for.
  class Wait {
   public:
    /// `activity`: of the rank, where it is the rank that waits.
    void pause(RankActivity* activity = nullptr);

   private:
    std::chrono::steady_clock::time_point last_pause_, began_;
  };

  MpiWorld world_;
  RequestServer server_;
  RequestClient client_;
  std::thread helper_;
  std::shared_ptr<void> watch_;
  Parts parts_;
  std::atomic<StopServing> stop_helper_{StopServing::no};
  const double start_ = MPI_Wtime();
  const std::thread::id rank_thread_ = std::this_thread::get_id();
  Wait wait_, helper_wait_;
};

void MpiTransport::pause() {
  if (server_.serves_here()) server_.release_sent();
  if (std::this_thread::get_id() == helper_.get_id()) {
    helper_wait_.pause();
    return;
  }
  if (std::this_thread::get_id() != rank_thread_) {  // that of memory of other nodes
    std::this_thread::sleep_for(std::chrono::microseconds(30));
    return;
  }
  world_.look_for_end();
  wait_.pause(&activity());
}

void MpiTransport::Wait::pause(RankActivity* activity) {
  const auto now = std::chrono::steady_clock::now();
  if (now - last_pause_ > std::chrono::microseconds(200)) began_ = now;
  if (now - began_ > std::chrono::milliseconds(1)) {
    if (activity) activity->record_pause(began_, now);
    std::this_thread::sleep_for(std::chrono::microseconds(30));
  } else {
    std::this_thread::yield();
  }
  last_pause_ = std::chrono::steady_clock::now();
}

void MpiTransport::broadcast_part(std::vector<std::byte>& part, int root) {
  for (std::size_t at = 0; at < part.size(); at += world_.options.message_bytes) {
    MPI_Request request = MPI_REQUEST_NULL;
    const int n = static_cast<int>(std::min(world_.options.message_bytes, part.size() - at));
    check_mpi(MPI_Ibcast(part.data() + at, n, MPI_BYTE, root, world_.workers, &request), "broadcasting");
    world_.wait(request, "broadcasting");
  }
}

const ExchangeTransport::Parts& MpiTransport::exchange(const CollectiveRecord& record,
                                                       std::span<const std::byte> mine) {
  SIAL_CHECK(!is_server(), "collective of server {}", rank());
  const auto ranks = static_cast<std::size_t>(size());
  Arrival me{record, 0};
  if (record.operation == CollectiveOperation::sum) std::memcpy(&me.value, mine.data(), sizeof me.value);
  std::vector<Arrival> all(ranks);
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Iallgather(&me, sizeof me, MPI_BYTE, all.data(), sizeof me, MPI_BYTE, world_.workers, &request),
            "meeting the other ranks");
  world_.wait(request, "meeting the other ranks");
  for (std::size_t r = 1; r < ranks; ++r)
    if (!agree(all[0].record, all[r].record))
      throw mismatch_error(0, all[0].record, static_cast<int>(r), all[r].record, namer());

  parts_.assign(ranks, {});
  switch (record.operation) {
    case CollectiveOperation::barrier: break;
    case CollectiveOperation::sum:
      for (std::size_t r = 0; r < ranks; ++r) {
        const auto bytes = std::as_bytes(std::span(&all[r].value, 1));
        parts_[r].assign(bytes.begin(), bytes.end());
      }
      break;
    case CollectiveOperation::broadcast: {
      auto& part = parts_[static_cast<std::size_t>(record.root)];
      part.resize(static_cast<std::size_t>(record.bytes));
      if (rank() == record.root) part.assign(mine.begin(), mine.end());
      broadcast_part(part, record.root);
      break;
    }
    case CollectiveOperation::gather:
      for (std::size_t r = 0; r < ranks; ++r) {
        parts_[r].resize(static_cast<std::size_t>(all[r].record.bytes));
        if (static_cast<int>(r) == rank()) parts_[r].assign(mine.begin(), mine.end());
        broadcast_part(parts_[r], static_cast<int>(r));
      }
      break;
  }
  return parts_;
}

}  // namespace

std::unique_ptr<Transport> make_mpi(int* argc, char*** argv, const MpiOptions& options) {
  return std::make_unique<MpiTransport>(argc, argv, options);
}

std::unique_ptr<Transport> make_mpi_of(int communicator, const MpiOptions& options) {
  return std::make_unique<MpiTransport>(communicator, options);
}

}  // namespace sial
