#include "runtime/core/transport/simulated.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "runtime/core/base/check.h"
#include "runtime/core/transport/collective.h"
#include "runtime/core/transport/simulated_remote_memory.h"
#include "runtime/core/transport/simulated_requests.h"
#include "runtime/core/transport/simulated_scheduler.h"

namespace sial {
namespace {

class Simulation final : private SimulatedScheduler::Events {
 public:
  Simulation(const SimulationOptions& options, const std::function<void(Transport&)>& rank_main)
      : options_(options),
        rank_main_(rank_main),
        layout_(options.ranks, options.ranks_per_node, options.servers, options.homes_on_workers),
        rendezvous_(options.ranks),
        scheduler_(options_, layout_.total(), layout_.ranks.size() > 1, *this),
        remote_memory_(scheduler_, options_, layout_.total()),
        requests_(scheduler_, remote_memory_, options_, layout_.total()),
        unfinished_workers_(options.ranks) {
    for (const auto& ranks : layout_.ranks)
      memories_.push_back(std::make_unique<NodeMemories>(static_cast<int>(ranks.size()), options.commit_limit));
  }
  SimulationResult run();

 private:
  friend class SimulatedTransport;

  double next() const override { return std::min(remote_memory_.next_event(), requests_.next_reply()); }
  bool happen(double limit) override {
    const double reply = requests_.next_reply();
    if (remote_memory_.advance_one(std::min(limit, reply))) return true;
    if (reply == SimulatedScheduler::never || reply > limit) return false;
    requests_.deliver_next();
    return true;
  }
  bool workers_done() const { return unfinished_workers_ == 0; }
  void live(int actor);

  const SimulationOptions options_;
  const std::function<void(Transport&)>& rank_main_;
  NodeLayout layout_;
  Rendezvous rendezvous_;
  std::vector<std::unique_ptr<NodeMemories>> memories_;
  SimulatedScheduler scheduler_;
  SimulatedRemoteTransfers remote_memory_;
  SimulatedRequests requests_;
  int unfinished_workers_;
};

class SimulatedTransport final : public ExchangeTransport {
 public:
  SimulatedTransport(Simulation& simulation, int rank)
      : sim_(simulation), scheduler_(simulation.scheduler_), rank_(rank) {
    scheduler_.set_description(rank_, [this] { return last_collective(); });
  }
  ~SimulatedTransport() override { scheduler_.set_description(rank_, nullptr); }
  SimulatedTransport(const SimulatedTransport&) = delete;
  SimulatedTransport& operator=(const SimulatedTransport&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return sim_.layout_.workers; }
  NodeId node() const override { return sim_.layout_.node_of[static_cast<std::size_t>(rank_)]; }
  int node_count() const override { return static_cast<int>(sim_.layout_.ranks.size()); }
  const std::vector<int>& ranks_of_node(NodeId node) const override { return sim_.layout_.ranks[node.at()]; }
  const std::vector<NodeId>& home_nodes() const override { return sim_.layout_.home_nodes; }
  bool is_server() const override { return rank_ >= size(); }
  bool in_helper() const override { return scheduler_.current() != rank_; }

  std::shared_ptr<NodeMemory> map_node_memory(std::size_t bytes, const std::string& purpose) override {
    scheduler_.spend(0);
    return sim_.memories_[node().at()]->map(bytes, purpose);
  }

  void set_service(Service* service) override { sim_.requests_.set_service(rank_, service); }

  std::unique_ptr<PendingRequest> request(int to, std::span<const std::byte> header, Payload payload,
                                          ReplyBuffer reply_buffer, Priority priority) override {
    SIAL_CHECK(node_count() > 1, "request to rank {} on a single node", to);
    SIAL_CHECK(to >= 0 && to < sim_.layout_.total(), "request to rank {}", to);
    return sim_.requests_.request(rank_, to, header, payload, reply_buffer, priority);
  }

  std::unique_ptr<RemoteMemory> open_remote_memory(MemoryProvider& provider) override {
    return sim_.remote_memory_.open(rank_, provider);
  }

  void serve_forever() override {
    SIAL_CHECK(is_server(), "rank {} is no server", rank_);
    scheduler_.block([this] { return sim_.workers_done(); }, [] { return std::string("the end of the job"); });
  }

  void finish() override {
    if (finished_) return;
    end_collective();
    finished_ = true;
    --sim_.unfinished_workers_;
  }

  std::optional<LinkSpeed> link_speed() const override {
    return LinkSpeed{sim_.options_.latency, sim_.options_.bandwidth};
  }
  void set_place_namer(PlaceNamer namer) override {
    earlier_collective_ = last_collective();
    last_.reset();
    ExchangeTransport::set_place_namer(std::move(namer));
  }
  void set_while_waiting(std::function<void()> f) override { scheduler_.set_while_waiting(rank_, std::move(f)); }
  void pause() override {
    scheduler_.pause();
    sim_.requests_.release_within_service(rank_);
  }
  void linger(double seconds) override { scheduler_.linger(seconds); }
  void yield_point() override { scheduler_.spend(0); }
  double now() const override { return scheduler_.clock(); }
  bool has_real_time() const override { return false; }
  void charge_compute(double seconds) override { scheduler_.spend(seconds); }

  [[noreturn]] void abort_job(const std::string& message, int exit_code) override {
    throw JobAborted(message, exit_code);
  }

 protected:
  const Parts& exchange(const CollectiveRecord& record, std::span<const std::byte> mine) override {
    SIAL_CHECK(!is_server() && scheduler_.current() == rank_, "collective of rank {}, a server or not running", rank_);
    scheduler_.spend(0);
    last_ = record;
    if (sim_.rendezvous_.arrive(rank_, record, mine, namer())) {  // everybody leaves together, after a tree of messages
      const double depth = size() > 1 ? std::ceil(std::log2(size())) : 0;
      scheduler_.meet(size(), depth * sim_.options_.latency);
    }
    scheduler_.block([&] { return sim_.rendezvous_.complete(record.sequence); },
                     [this] { return "other ranks at " + last_collective(); });
    return sim_.rendezvous_.parts(record.sequence);
  }

 private:
  std::string last_collective() const { return last_ ? describe(*last_, namer()) : earlier_collective_; }

  Simulation& sim_;
  SimulatedScheduler& scheduler_;
  int rank_;
  bool finished_ = false;
  std::optional<CollectiveRecord> last_;  // described when somebody asks, by the namer of its time
  std::string earlier_collective_;
};

void Simulation::live(int actor) {
  if (actor >= layout_.total()) {
    requests_.serve(actor - layout_.total(), [this] { return workers_done(); });
    return;
  }
  SimulatedTransport transport(*this, actor);
  rank_main_(transport);
  if (!transport.is_server()) transport.finish();
}

SimulationResult Simulation::run() {
  scheduler_.run([this](int actor) { live(actor); });
  SimulationResult result;
  for (int r = 0; r < layout_.workers; ++r) {
    result.rank_seconds.push_back(scheduler_.clock_of(r));
    result.seconds = std::max(result.seconds, scheduler_.clock_of(r));
  }
  result.switches = scheduler_.switches();
  result.requests = requests_.requests();
  result.bytes = requests_.bytes();
  return result;
}

}  // namespace

SimulationResult run_simulated(const SimulationOptions& options, const std::function<void(Transport&)>& rank_main) {
  Simulation simulation(options, rank_main);
  return simulation.run();
}

}  // namespace sial
