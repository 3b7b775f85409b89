#include "runtime/transport/simulated.h"

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "runtime/base/check.h"
#include "runtime/transport/collective.h"
#include "runtime/transport/simulated_lending.h"
#include "runtime/transport/simulated_message.h"
#include "runtime/transport/simulated_random.h"

namespace sial {
namespace {

/// Consecutive fruitless pauses per waiting rank after which everybody is taken to wait for ever.
constexpr std::int64_t pauses_until_deadlock = 5000;

using Message = SimulatedMessage;
using MessagePtr = std::shared_ptr<Message>;

/// What the scheduler runs: the ranks, then (with several nodes) one helper per rank that serves its requests.
struct Actor {
  enum class State { ready, paused, blocked, done };
  State state = State::ready;
  double clock = 0;
  int pauses = 0;           // in a row
  std::string waiting_for;  // in words, while blocked
  std::string last_collective;
  std::condition_variable turn;
  std::thread thread;
};

class Simulation {
 public:
  Simulation(const SimulationOptions& options, const std::function<void(Transport&)>& rank_main);
  SimulationResult run();

 private:
  friend class SimulatedTransport;
  friend class SimulatedRequest;

  bool is_helper(int actor) const { return actor >= layout_.total(); }
  Actor& me() { return *actors_[static_cast<std::size_t>(current_)]; }
  double call_cost();
  bool inside(int rank) const { return current_ == rank; }

  // Seam calls of the running actor. All may switch, and throw JobEnding while the job is being ended.
  void spend(double seconds);
  void pause();
  void linger(double seconds);
  void block(const std::function<bool()>& ready_now, const std::string& waiting_for);
  void post(const MessagePtr& message);
  void raise(Message& message);
  void set_service(int rank, Service* service);

  void switch_away();
  void hand_over(int next);
  void wait_for_turn(int self);
  std::optional<int> choose();
  std::optional<double> wake_time(int actor) const;
  void deliver(const MessagePtr& message);
  void fail(std::exception_ptr error);
  std::string who_waits() const;
  std::string actor_name(int actor) const;
  bool workers_done() const { return unfinished_workers_ == 0; }

  void rank_body(int rank);
  void helper_body(int rank);
  MessagePtr next_to_serve(int rank);

  const SimulationOptions options_;
  const std::function<void(Transport&)>& rank_main_;
  NodeLayout layout_;
  SimulatedRandom random_;
  Rendezvous rendezvous_;
  std::vector<std::unique_ptr<NodeMemories>> memories_;
  std::vector<std::unique_ptr<Actor>> actors_;
  std::vector<std::deque<MessagePtr>> inbox_;                // requests at each rank, by arrival
  std::vector<std::deque<std::function<void()>>> releases_;  // replies delivered, to be released by the helper
  std::vector<MessagePtr> replies_;                          // on their way back
  SimulatedLending lending_;
  std::vector<Service*> services_;
  std::vector<std::function<void()>> while_waiting_;
  std::vector<char> in_service_;  // the rank's helper is inside a call of its service
  std::mutex mutex_;              // the baton: held by whoever runs
  int current_ = 0;
  int unfinished_workers_ = 0;
  std::int64_t fruitless_pauses_ = 0;
  std::int64_t message_number_ = 0;
  std::exception_ptr error_;
  bool ending_ = false;
  std::condition_variable all_done_;
  int actors_left_ = 0;
  SimulationResult result_;
};

class SimulatedRequest final : public PendingRequest {
 public:
  SimulatedRequest(Simulation& simulation, MessagePtr message)
      : simulation_(simulation), message_(std::move(message)) {}
  ~SimulatedRequest() override {
    if (message_->delivered || simulation_.ending_) return;
    // An error is unwinding this rank and ends the job. The owner may be in the same state and never answer.
    if (std::uncaught_exceptions() > 0) {
      message_->cancel();
      return;
    }
    try {
      wait();
    } catch (const JobEnding&) {  // a destructor must not throw; the next seam call of this rank does
    }
  }
  bool test() override {
    if (!message_->delivered) simulation_.pause();
    return message_->delivered;
  }
  void wait() override {
    simulation_.block([this] { return message_->delivered; }, fmt::format("a reply from rank {}", message_->to));
  }
  std::span<const std::byte> reply_header() const override { return message_->reply.header; }
  std::size_t reply_bytes() const override { return message_->reply_bytes; }
  std::size_t received() override {
    return simulation_.ending_ ? 0 : message_->received(simulation_.me().clock, simulation_.options_.bandwidth);
  }
  void raise() override { simulation_.raise(*message_); }

 private:
  Simulation& simulation_;
  MessagePtr message_;
};

class SimulatedTransport final : public ExchangeTransport {
 public:
  SimulatedTransport(Simulation& simulation, int rank) : sim_(simulation), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return sim_.layout_.workers; }
  NodeId node() const override { return sim_.layout_.node_of[static_cast<std::size_t>(rank_)]; }
  int node_count() const override { return static_cast<int>(sim_.layout_.ranks.size()); }
  const std::vector<int>& ranks_of_node(NodeId node) const override { return sim_.layout_.ranks[node.at()]; }
  const std::vector<NodeId>& home_nodes() const override { return sim_.layout_.home_nodes; }
  bool is_server() const override { return rank_ >= size(); }

  std::shared_ptr<NodeMemory> map_node_memory(std::size_t bytes, const std::string& purpose) override {
    sim_.spend(0);
    return sim_.memories_[node().at()]->map(bytes, purpose);
  }

  void set_service(Service* service) override { sim_.set_service(rank_, service); }

  std::unique_ptr<PendingRequest> request(int to, std::span<const std::byte> header, Payload payload,
                                          ReplyBuffer reply_buffer, Priority priority) override {
    SIAL_CHECK(node_count() > 1, "request to rank {} on a single node", to);
    SIAL_CHECK(to >= 0 && to < sim_.layout_.total(), "request to rank {}", to);
    auto m = std::make_shared<Message>();
    m->from = rank_;
    m->to = to;
    m->priority = priority;
    m->header.assign(header.begin(), header.end());
    if (payload.growing) payload.growing->complete();
    m->payload = payload.bytes;
    m->reply_buffer = reply_buffer;
    sim_.post(m);
    return std::make_unique<SimulatedRequest>(sim_, std::move(m));
  }

  std::unique_ptr<RemoteMemory> lend_memory(Lender& lender) override { return sim_.lending_.open(rank_, lender); }

  void serve_forever() override {
    SIAL_CHECK(is_server(), "rank {} is no server", rank_);
    sim_.block([this] { return sim_.workers_done(); }, "the end of the job");
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
  void set_while_waiting(std::function<void()> f) override {
    sim_.while_waiting_[static_cast<std::size_t>(rank_)] = std::move(f);
  }
  void pause() override { sim_.pause(); }
  void linger(double seconds) override { sim_.linger(seconds); }
  void yield_point() override { sim_.spend(0); }
  double now() const override { return sim_.me().clock; }
  void charge_compute(double seconds) override { sim_.spend(seconds); }

  [[noreturn]] void abort_job(const std::string& message, int exit_code) override {
    throw JobAborted(message, exit_code);
  }

 protected:
  Parts exchange(const CollectiveRecord& record, std::span<const std::byte> mine) override {
    SIAL_CHECK(!is_server() && sim_.inside(rank_), "collective of rank {}, a server or not running", rank_);
    sim_.spend(0);
    Actor& actor = sim_.me();
    actor.last_collective = describe(record, namer());
    const bool last = sim_.rendezvous_.arrive(rank_, record, mine, namer());
    if (last) {  // everybody leaves together, after a tree of messages
      double t = 0;
      for (int r = 0; r < size(); ++r) t = std::max(t, sim_.actors_[static_cast<std::size_t>(r)]->clock);
      if (size() > 1) t += std::ceil(std::log2(size())) * sim_.options_.latency;
      for (int r = 0; r < size(); ++r) {
        Actor& other = *sim_.actors_[static_cast<std::size_t>(r)];
        other.clock = t;
        other.state = Actor::State::ready;
      }
    }
    sim_.block([&] { return sim_.rendezvous_.complete(record.sequence); }, "other ranks at " + actor.last_collective);
    return sim_.rendezvous_.parts(record.sequence);
  }

 private:
  Simulation& sim_;
  int rank_;
  bool finished_ = false;
};

Simulation::Simulation(const SimulationOptions& options, const std::function<void(Transport&)>& rank_main)
    : options_(options),
      rank_main_(rank_main),
      layout_(options.ranks, options.ranks_per_node, options.servers, options.homes_on_workers),
      random_(options.seed),
      rendezvous_(options.ranks),
      lending_(layout_.workers, layout_.total(), options.latency, options.bandwidth,
               {[this]() -> double& { return me().clock; }, [this] { return ending_; }, [this] { pause(); },
                [this] { std::ranges::for_each(actors_, [](const auto& a) { a->pauses = 0; }); }}),
      services_(static_cast<std::size_t>(layout_.total()), nullptr),
      while_waiting_(static_cast<std::size_t>(layout_.total())),
      in_service_(static_cast<std::size_t>(layout_.total()), 0),
      unfinished_workers_(options.ranks) {
  const auto total = static_cast<std::size_t>(layout_.total());
  for (const auto& ranks : layout_.ranks)
    memories_.push_back(std::make_unique<NodeMemories>(static_cast<int>(ranks.size()), options.commit_limit));
  inbox_.resize(total);
  releases_.resize(total);
  const std::size_t actors = layout_.ranks.size() > 1 ? 2 * total : total;
  for (std::size_t i = 0; i < actors; ++i) actors_.push_back(std::make_unique<Actor>());
}

double Simulation::call_cost() {
  double cost = options_.call_seconds * 2 * random_.uniform();
  if (options_.disorder && random_.uniform() < 0.1) cost *= std::exp(random_.uniform() * 6.9);
  return cost;
}

void Simulation::spend(double seconds) {
  if (ending_) throw JobEnding{};
  fruitless_pauses_ = 0;
  me().clock += seconds + call_cost();
  me().pauses = 0;
  switch_away();
}

void Simulation::pause() {
  if (ending_) throw JobEnding{};
  for (int r = 0; r < layout_.total(); ++r) {
    const auto& f = while_waiting_[static_cast<std::size_t>(r)];
    if (f && (r == current_ || actors_[static_cast<std::size_t>(r)]->state == Actor::State::blocked)) f();
  }
  Actor& actor = me();
  // Polls ever more rarely, so that waiting for a long computation takes few steps; but nothing can change later than
  // the next action of somebody who is not polling himself, so that waiting stays exact where it matters.
  actor.clock += call_cost();
  const double later =
      actor.clock + options_.call_seconds * std::ldexp(1 + random_.uniform(), std::min(actor.pauses++, 20));
  std::optional<double> next;
  for (int a = 0; a < static_cast<int>(actors_.size()); ++a) {
    if (a == current_ || actors_[static_cast<std::size_t>(a)]->state == Actor::State::paused) continue;
    if (const auto t = wake_time(a); t && (!next || *t < *next)) next = t;
  }
  for (const auto& r : replies_)
    if (!next || r->arrival < *next) next = r->arrival;
  if (const double event = lending_.next_event(); std::isfinite(event) && (!next || event < *next)) next = event;
  if (next) {
    actor.clock = std::min(later, std::max(actor.clock, *next + options_.call_seconds * random_.uniform()));
    fruitless_pauses_ = 0;
  } else {
    actor.clock = later;
    if (++fruitless_pauses_ > pauses_until_deadlock * static_cast<std::int64_t>(actors_.size())) {
      fail(std::make_exception_ptr(SialError("deadlock: every rank waits for another one: " + who_waits())));
      throw JobEnding{};
    }
  }
  actor.state = Actor::State::paused;
  switch_away();
}

/// Where all others wait for ever, who is about to say why must not be taken for one of them.
void Simulation::linger(double seconds) {
  const double until = me().clock + seconds;
  const auto in_vain = 10 * static_cast<std::int64_t>(actors_.size());
  fruitless_pauses_ = 0;
  while (me().clock < until && fruitless_pauses_ < in_vain) pause();
}

void Simulation::block(const std::function<bool()>& ready_now, const std::string& waiting_for) {
  fruitless_pauses_ = 0;
  me().pauses = 0;
  while (true) {
    if (ending_) throw JobEnding{};
    if (ready_now()) return;
    me().state = Actor::State::blocked;
    me().waiting_for = waiting_for;
    switch_away();
  }
}

void Simulation::post(const MessagePtr& m) {
  if (ending_) throw JobEnding{};
  m->number = message_number_++;
  const std::size_t bytes = m->header.size() + m->payload.size();
  m->arrival = me().clock + options_.latency + static_cast<double>(bytes) / options_.bandwidth;
  ++result_.requests;
  result_.bytes += static_cast<std::int64_t>(bytes);
  inbox_[static_cast<std::size_t>(m->to)].push_back(m);
  spend(0);
}

void Simulation::raise(Message& m) {
  if (ending_) throw JobEnding{};
  if (m.delivered || m.priority == Priority::demand || !std::isinf(m.raised)) return;
  m.raised = me().clock + options_.latency;
  spend(0);
}

void Simulation::set_service(int rank, Service* service) {
  const auto r = static_cast<std::size_t>(rank);
  services_[r] = service;
  // A reply's release reaches into the service as well: those still to come are the helper's to run before the service
  // goes.
  while (in_service_[r] || !releases_[r].empty()) {  // perhaps in a destructor: must not throw
    if (ending_) {
      if (in_service_[r]) {
        hand_over(layout_.total() + rank);
        wait_for_turn(rank);
      }
      releases_[r].clear();
      return;
    }
    try {
      pause();
    } catch (const JobEnding&) {}
  }
}

std::optional<double> Simulation::wake_time(int a) const {
  const Actor& actor = *actors_[static_cast<std::size_t>(a)];
  if (actor.state == Actor::State::done) return {};
  if (actor.state != Actor::State::blocked) return actor.clock;
  if (!is_helper(a)) return {};
  const auto rank = static_cast<std::size_t>(a - layout_.total());
  if (!releases_[rank].empty()) return actor.clock;
  if (!services_[rank] || inbox_[rank].empty()) return {};
  double first = inbox_[rank].front()->arrival;
  for (const auto& m : inbox_[rank]) first = std::min(first, m->arrival);
  return std::max(actor.clock, first);
}

/// The actor to run next, after delivering the replies that arrive before; nobody when all wait for ever.
std::optional<int> Simulation::choose() {
  while (true) {
    std::optional<int> best;
    double best_time = 0;
    std::uint64_t best_tie = 0;
    for (int a = 0; a < static_cast<int>(actors_.size()); ++a) {
      const auto t = wake_time(a);
      if (!t) continue;
      const std::uint64_t tie = random_.next();
      if (!best || *t < best_time || (*t == best_time && tie < best_tie)) best = a, best_time = *t, best_tie = tie;
    }
    const auto reply = std::min_element(replies_.begin(), replies_.end(), [](const MessagePtr& x, const MessagePtr& y) {
      return x->arrival != y->arrival ? x->arrival < y->arrival : x->number < y->number;
    });
    const double reply_at = reply == replies_.end() ? std::numeric_limits<double>::infinity() : (*reply)->arrival;
    if (lending_.advance_one(best ? std::min(best_time, reply_at) : reply_at)) continue;
    if (reply != replies_.end() && (!best || reply_at <= best_time)) {
      const MessagePtr m = *reply;
      replies_.erase(reply);
      deliver(m);
      continue;
    }
    if (best) actors_[static_cast<std::size_t>(*best)]->clock = best_time;  // a helper's clock moves to the arrival
    return best;
  }
}

void Simulation::deliver(const MessagePtr& m) {
  m->deliver();
  const auto owner = static_cast<std::size_t>(m->to);
  if (m->reply.release) releases_[owner].push_back(std::move(m->reply.release));
  m->reply.release = nullptr;
  m->reply.payload = {};
  Actor& requester = *actors_[static_cast<std::size_t>(m->from)];
  if (requester.state == Actor::State::blocked) {
    requester.state = Actor::State::ready;
    requester.clock = std::max(requester.clock, m->arrival);
  }
}

/// Called with the baton after the running actor's state and clock are set; returns when it has the baton again.
void Simulation::switch_away() {
  const int self = current_;
  if (!ending_) {
    const auto next = choose();
    if (!next) {
      fail(std::make_exception_ptr(SialError("deadlock: every rank waits for another one: " + who_waits())));
    } else {
      if (*next != self) {
        hand_over(*next);
        wait_for_turn(self);
      }
      me().state = Actor::State::ready;
    }
  }
  if (ending_) throw JobEnding{};
}

void Simulation::hand_over(int next) {
  ++result_.switches;
  current_ = next;
  actors_[static_cast<std::size_t>(next)]->turn.notify_one();
}

void Simulation::wait_for_turn(int self) {
  std::unique_lock lock(mutex_, std::adopt_lock);
  actors_[static_cast<std::size_t>(self)]->turn.wait(lock, [&] { return current_ == self; });
  lock.release();  // stays locked: the thread's body owns it
}

/// Ends the job: from now on each actor is woken in turn to unwind.
void Simulation::fail(std::exception_ptr error) {
  if (!error_) error_ = error;
  ending_ = true;
}

std::string Simulation::actor_name(int a) const {
  return is_helper(a) ? fmt::format("the helper of rank {}", a - layout_.total()) : fmt::format("rank {}", a);
}

std::string Simulation::who_waits() const {
  std::string text;
  for (int a = 0; a < static_cast<int>(actors_.size()); ++a) {
    const Actor& actor = *actors_[static_cast<std::size_t>(a)];
    std::string what;
    if (actor.state == Actor::State::done) {
      if (is_helper(a)) continue;
      what = "has ended";
    } else if (actor.state == Actor::State::blocked) {
      if (is_helper(a)) continue;
      what = "waits for " + actor.waiting_for;
    } else {
      what = "polls";
      if (!actor.last_collective.empty()) what += ", last collective: " + actor.last_collective;
    }
    text += fmt::format("{}{} {}", text.empty() ? "" : "; ", actor_name(a), what);
  }
  return text;
}

void Simulation::rank_body(int rank) {
  SimulatedTransport transport(*this, rank);
  rank_main_(transport);
  if (!transport.is_server()) transport.finish();
}

MessagePtr Simulation::next_to_serve(int rank) {
  auto& inbox = inbox_[static_cast<std::size_t>(rank)];
  const double now = me().clock;
  const auto is_demand = [now](const MessagePtr& m) { return m->priority == Priority::demand || m->raised <= now; };
  const auto better = [&](const MessagePtr& x, const MessagePtr& y) {
    if (is_demand(x) != is_demand(y)) return is_demand(x);
    return x->arrival != y->arrival ? x->arrival < y->arrival : x->number < y->number;
  };
  auto best = inbox.end();
  for (auto it = inbox.begin(); it != inbox.end(); ++it)
    if ((*it)->arrival <= me().clock && (best == inbox.end() || better(*it, *best))) best = it;
  if (best == inbox.end()) return nullptr;
  MessagePtr m = *best;
  inbox.erase(best);
  return m;
}

void Simulation::helper_body(int rank) {
  struct Inside {
    explicit Inside(char& flag) : inside(flag) { inside = 1; }
    ~Inside() { inside = 0; }
    char& inside;
  };
  const auto release_delivered = [this, rank, &releases = releases_[static_cast<std::size_t>(rank)]] {
    while (!releases.empty()) {
      const Inside inside(in_service_[static_cast<std::size_t>(rank)]);
      const auto release = std::move(releases.front());
      releases.pop_front();
      release();
    }
  };
  while (!workers_done()) {
    release_delivered();
    const MessagePtr m = services_[static_cast<std::size_t>(rank)] ? next_to_serve(rank) : nullptr;
    if (!m) {
      me().state = Actor::State::blocked;
      switch_away();
      continue;
    }
    if (m->cancelled) continue;
    Service& service = *services_[static_cast<std::size_t>(rank)];
    std::optional<Inside> inside(in_service_[static_cast<std::size_t>(rank)]);
    std::span<std::byte> buffer;
    if (!m->payload.empty()) {
      buffer = service.payload_buffer(m->from, m->header, m->payload.size());
      SIAL_CHECK(buffer.size() >= m->payload.size(), "payload buffer of {} bytes for {}", buffer.size(),
                 m->payload.size());
      buffer = buffer.first(m->payload.size());
      std::memcpy(buffer.data(), m->payload.data(), m->payload.size());
    }
    m->reply = service.serve(m->from, m->header, buffer);
    inside.reset();
    SIAL_CHECK(m->cancelled || m->reply.payload.size() <= m->reply_buffer.bytes.size(),
               "reply of {} bytes into a buffer of {}", m->reply.payload.size(), m->reply_buffer.bytes.size());
    const std::size_t bytes = m->reply.header.size() + m->reply.payload.size();
    result_.bytes += static_cast<std::int64_t>(bytes);
    // The owner sends one reply after the other: what it sends for one rank delays what another one waits for.
    me().clock = std::max(me().clock, lending_.free_at(rank)) + options_.service_seconds +
                 static_cast<double>(bytes) / options_.bandwidth;
    lending_.occupy(rank, me().clock);
    m->arrival = me().clock + options_.latency;
    m->answered = true;
    replies_.push_back(m);
    spend(0);
  }
  release_delivered();
}

SimulationResult Simulation::run() {
  std::unique_lock lock(mutex_);
  actors_left_ = static_cast<int>(actors_.size());
  current_ = -1;
  const auto body = [this](int a) {
    std::unique_lock baton(mutex_);
    actors_[static_cast<std::size_t>(a)]->turn.wait(baton, [&] { return current_ == a; });
    try {
      if (ending_) throw JobEnding{};
      if (is_helper(a)) helper_body(a - layout_.total());
      else rank_body(a);
    } catch (const JobEnding&) {
    } catch (...) { fail(std::current_exception()); }
    me().state = Actor::State::done;
    if (!is_helper(a) && a < layout_.workers) {
      result_.rank_seconds[static_cast<std::size_t>(a)] = me().clock;
      result_.seconds = std::max(result_.seconds, me().clock);
    }
    if (--actors_left_ == 0) {
      all_done_.notify_one();
      return;
    }
    // At the end of the job, good or bad, everybody is woken in turn to leave.
    std::optional<int> next;
    if (!ending_) next = choose();
    if (!next) {
      if (!ending_ && !workers_done())
        fail(std::make_exception_ptr(SialError("deadlock: every rank waits for another one: " + who_waits())));
      for (int other = static_cast<int>(actors_.size()) - 1; other >= 0 && !next;
           --other)  // helpers first: they use what ranks own
        if (actors_[static_cast<std::size_t>(other)]->state != Actor::State::done) next = other;
    }
    hand_over(*next);
  };
  result_.rank_seconds.assign(static_cast<std::size_t>(layout_.workers), 0);
  for (int a = 0; a < static_cast<int>(actors_.size()); ++a) {
    actors_[static_cast<std::size_t>(a)]->thread = std::thread(body, a);
  }
  hand_over(*choose());
  all_done_.wait(lock, [this] { return actors_left_ == 0; });
  lock.unlock();
  for (auto& actor : actors_) actor->thread.join();
  if (error_) std::rethrow_exception(error_);
  return result_;
}

}  // namespace

SimulationResult run_simulated(const SimulationOptions& options, const std::function<void(Transport&)>& rank_main) {
  Simulation simulation(options, rank_main);
  return simulation.run();
}

}  // namespace sial
