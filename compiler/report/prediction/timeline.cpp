#include "compiler/report/prediction/timeline.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>
#include <queue>
#include <utility>

#include "runtime/core/base/iteration_shares.h"

namespace sial::report {
namespace {

constexpr double service_seconds = 1e-6;  // an owner's work for one request
constexpr double header_bytes = 100;
// The same values as the run's look-ahead and work queue:
constexpr int first_depth = 8, max_depth = 128, gets_between_looks = 16;
constexpr std::size_t max_foreseen = 512;

struct Range {
  std::int64_t first = 0, last = 0;
  bool empty() const { return first >= last; }
};

/// The time of a question for work.
double round_trip(const Target& t) { return 2 * t.latency + service_seconds; }

class Timeline {
 public:
  Timeline(const TimedLoop& loop, const Target& target, RanksState& state) : loop_(loop), t_(target), state_(state) {
    ranks_.resize(static_cast<std::size_t>(t_.ranks));
    const int per_node = t_.on_a_node();
    queues_.resize(static_cast<std::size_t>(t_.nodes()));
    victims_.resize(static_cast<std::size_t>(t_.nodes()), 0);
    for (int n = 0; n < t_.nodes(); ++n) {
      const int before = n * per_node, there = std::min(per_node, t_.ranks - before);
      queues_[static_cast<std::size_t>(n)] = {share(before), share(before + there)};
    }
    for (int r = 0; r < t_.ranks; ++r) {
      Rank& rank = ranks_[static_cast<std::size_t>(r)];
      rank.number = r;
      rank.node = r / per_node;
      rank.clock = rank.since = state_.clock[static_cast<std::size_t>(r)];
      if (loop_.division != PardoMode::dynamic) rank.now = {0, loop_.tuples};
    }
    busy_.resize(static_cast<std::size_t>(t_.ranks + t_.servers), 0.0);
    double groups = 0;
    for (const LoopIteration& i : loop_.iterations) groups += groups_of(i);
    per_group_ = groups > 0 ? loop_.work / groups : 0;
  }

  LoopTimes run() {
    using Next = std::pair<double, int>;
    std::priority_queue<Next, std::vector<Next>, std::greater<>> order;
    for (const Rank& rank : ranks_) order.push({rank.clock, rank.number});
    LoopTimes times;
    while (!order.empty()) {
      Rank& rank = ranks_[static_cast<std::size_t>(order.top().second)];
      order.pop();
      if (step(rank)) {
        order.push({rank.clock, rank.number});
        continue;
      }
      times.work += rank.work / t_.ranks;
      times.wait += rank.wait / t_.ranks;
      times.draws += rank.draws / t_.ranks;
      state_.clock[static_cast<std::size_t>(rank.number)] = rank.clock;
    }
    times.fetches = fetches_;
    times.bytes = bytes_;
    return times;
  }

 private:
  struct Foreseen {
    std::size_t iteration = 0, get = 0;
    bool asked = false;
  };
  struct Rank {
    int number = 0, node = 0;
    double clock = 0, work = 0, wait = 0, draws = 0;
    Range now, reserved;          // tuples still to come, and set aside after them
    int victims = 0;              // nodes that had nothing left
    bool asking = false;          // another node, and the question is on its way
    std::int64_t iteration = -1;  // in hand
    std::size_t get = 0;
    std::int64_t begun = 0;
    // Look-ahead: gets foreseen and not made yet, and how far it has come.
    std::deque<Foreseen> foreseen;
    std::size_t offered = 0, asked = 0;
    std::int64_t ahead_iteration = -1, ahead_tuple = 0;
    std::size_t ahead_get = 0;
    bool in_reserved = false;
    std::int64_t gets = 0, late = 0, gets_in_a_fetch = 0;
    double since = 0, waited = 0;
  };

  static double groups_of(const LoopIteration& i) {
    return std::max<double>(1, static_cast<double>(std::count_if(i.gets.begin(), i.gets.end(),
                                                                 [](const LoopGet& g) { return g.begins_group; })));
  }

  std::int64_t share(std::int64_t before) const { return share_before(loop_.tuples, t_.ranks, before); }

  // --- dividing the iterations

  /// The rank's first accepted iteration among these tuples, -1: none.
  std::int64_t find(const Rank& rank, const Range& tuples) const {
    auto at = std::lower_bound(loop_.iterations.begin(), loop_.iterations.end(), tuples.first,
                               [](const LoopIteration& i, std::int64_t tuple) { return i.tuple < tuple; });
    for (; at != loop_.iterations.end() && at->tuple < tuples.last; ++at) {
      const std::int64_t i = at - loop_.iterations.begin();
      if (!is_cyclic(loop_.division) || i % t_.ranks == rank.number) return i;
    }
    return -1;
  }

  int ranks_of(int node) const { return std::min(t_.on_a_node(), t_.ranks - node * t_.on_a_node()); }

  Range cut(int node, std::int64_t least = 0) {
    Range& queue = queues_[static_cast<std::size_t>(node)];
    if (queue.empty()) return {};
    const std::int64_t left = queue.last - queue.first, first = queue.first;
    queue.first = first + chunk_to_set_aside(left, ranks_of(node), least);
    return {first, queue.first};
  }

  /// The later half of the largest range that a rank of the node has set aside.
  Range take_reserved(int node) {
    Rank* largest = nullptr;
    for (int r = node * t_.on_a_node(); r < std::min(t_.ranks, (node + 1) * t_.on_a_node()); ++r) {
      Rank& other = ranks_[static_cast<std::size_t>(r)];
      if (!other.reserved.empty() &&
          (!largest || other.reserved.last - other.reserved.first > largest->reserved.last - largest->reserved.first))
        largest = &other;
    }
    if (!largest) return {};
    Range& set_aside = largest->reserved;
    const std::int64_t last = set_aside.last;
    set_aside.last -= (last - set_aside.first + 1) / 2;
    if (largest->in_reserved) {  // what it foresaw there will not come
      while (!largest->foreseen.empty() &&
             loop_.iterations[largest->foreseen.back().iteration].tuple >= set_aside.last) {
        largest->asked -= largest->foreseen.back().asked ? 1 : 0;
        largest->foreseen.pop_back();
      }
      largest->offered = std::min(largest->offered, largest->foreseen.size());
      if (largest->ahead_iteration >= 0 &&
          loop_.iterations[static_cast<std::size_t>(largest->ahead_iteration)].tuple >= set_aside.last)
        largest->ahead_iteration = -1;
    }
    return {set_aside.last, last};
  }

  void take(Rank& rank, const Range& chunk) {
    rank.now = chunk;
    rank.in_reserved = false;
    rank.ahead_iteration = -1;
    rank.ahead_tuple = chunk.first;
    rank.foreseen.clear();
    rank.asked = rank.offered = 0;
  }

  /// Begins a piece that the rank has set aside.
  void begin_piece(Rank& rank) {
    const Range& queue = queues_[static_cast<std::size_t>(rank.node)];
    const std::int64_t aside = rank.reserved.last - rank.reserved.first;
    const std::int64_t n = piece_to_begin(aside, aside + std::max<std::int64_t>(0, queue.last - queue.first),
                                          ranks_of(rank.node), loop_.wheres);
    const Range piece{rank.reserved.first, rank.reserved.first + n};
    rank.reserved.first = piece.last;
    if (!rank.in_reserved) return take(rank, piece);
    rank.now = piece;
    rank.in_reserved = !rank.reserved.empty();
  }

  /// False when nothing is left. Asking another node is a step of its own, since time passes.
  bool draw(Rank& rank) {
    if (loop_.division != PardoMode::dynamic) return false;
    if (!rank.asking) {
      if (rank.reserved.empty()) rank.reserved = cut(rank.node);
      if (rank.reserved.empty()) rank.reserved = take_reserved(rank.node);
      if (!rank.reserved.empty()) return begin_piece(rank), true;
      int& known = victims_[static_cast<std::size_t>(rank.node)];
      known = rank.victims = std::max(rank.victims, known);
      if (rank.victims >= std::min(t_.nodes() - 1, max_asked) ||
          !may_ask(in_vain(rank), round_trip(t_), state_.passed + rank.clock))
        return false;
    }
    // What the other one has left is decided when the question gets there.
    const double way = t_.latency + (rank.asking ? 0 : service_seconds);
    rank.clock += way;
    rank.draws += way;
    rank.asking = !rank.asking;
    if (rank.asking) return true;
    const int victim = (rank.node + 1 + rank.victims) % t_.nodes();
    Range chunk = cut(victim);
    if (chunk.empty()) chunk = take_reserved(victim);
    if (chunk.empty()) {
      ++rank.victims;
      in_vain(rank) += round_trip(t_);
    } else {
      rank.reserved = chunk;
      begin_piece(rank);
    }
    return true;
  }

  double& in_vain(const Rank& rank) { return state_.in_vain[static_cast<std::size_t>(rank.number)]; }

  // --- fetching

  std::unordered_map<std::uint64_t, RanksState::FetchedCopy>& held(const Rank& rank) {
    return state_.held[static_cast<std::size_t>(rank.number)];
  }
  static bool is_here(const Rank& rank, const LoopGet& g) { return g.node < 0 || g.node == rank.node; }

  double post(const Rank& rank, const LoopGet& g) {
    double& busy = busy_[static_cast<std::size_t>(g.server)];
    busy = std::max(busy, rank.clock + t_.latency + header_bytes / t_.bandwidth) + service_seconds +
           (g.bytes + header_bytes) / t_.bandwidth;
    return busy + t_.latency;
  }

  bool produce(Rank& rank) {
    while (true) {
      if (rank.ahead_iteration >= 0) {
        const LoopIteration& i = loop_.iterations[static_cast<std::size_t>(rank.ahead_iteration)];
        while (rank.ahead_get < i.gets.size() && !i.gets[rank.ahead_get].ahead) ++rank.ahead_get;
        if (rank.ahead_get < i.gets.size()) {
          rank.foreseen.push_back({static_cast<std::size_t>(rank.ahead_iteration), rank.ahead_get++, false});
          return true;
        }
        rank.ahead_iteration = -1;
      }
      const std::int64_t next = find(rank, {rank.ahead_tuple, rank.in_reserved ? rank.reserved.last : rank.now.last});
      if (next >= 0) {
        rank.ahead_iteration = next;
        rank.ahead_get = 0;
        rank.ahead_tuple = loop_.iterations[static_cast<std::size_t>(next)].tuple + 1;
        continue;
      }
      if (rank.in_reserved || loop_.division != PardoMode::dynamic || rank.victims > 0) return false;
      if (rank.reserved.empty()) rank.reserved = cut(rank.node, rank.gets_in_a_fetch);
      if (rank.reserved.empty()) return false;
      rank.in_reserved = true;
      rank.ahead_tuple = rank.reserved.first;
    }
  }

  void advance(Rank& rank) {
    if (t_.look_ahead == 0) return;
    while (rank.asked < static_cast<std::size_t>(depth(rank))) {
      if (rank.offered == rank.foreseen.size() && (rank.foreseen.size() >= max_foreseen || !produce(rank))) return;
      Foreseen& c = rank.foreseen[rank.offered++];
      const LoopGet& g = loop_.iterations[c.iteration].gets[c.get];
      if (is_here(rank, g) || held(rank).contains(g.block)) continue;
      held(rank)[g.block] = {post(rank, g), g.array, false};
      c.asked = true;
      ++rank.asked;
    }
  }

  int depth(const Rank& rank) const {
    return t_.look_ahead == Target::automatic ? state_.depth[static_cast<std::size_t>(rank.number)] : t_.look_ahead;
  }

  void adapt(Rank& rank, double bytes) {
    const double busy = (rank.clock - rank.since) - (rank.wait - rank.waited);
    int& depth = state_.depth[static_cast<std::size_t>(rank.number)];
    const double per_get = std::max(busy, 1e-9) / gets_between_looks;
    rank.gets_in_a_fetch = static_cast<std::int64_t>(
        std::min<double>(max_depth, std::ceil((2 * t_.latency + bytes / t_.bandwidth) / per_get)));
    depth = std::max(depth, static_cast<int>(std::min<std::int64_t>(max_depth, rank.gets_in_a_fetch + 2)));
    if (rank.late > 0) depth *= 2;
    depth = std::clamp(depth, 2, max_depth);
    rank.since = rank.clock;
    rank.waited = rank.wait;
    rank.late = 0;
  }

  /// Returns when the block is there.
  double get(Rank& rank, const LoopGet& g) {
    double there = rank.clock;
    if (!is_here(rank, g)) {
      const auto [at, fresh] = held(rank).try_emplace(g.block);
      if (fresh) at->second = {post(rank, g), g.array, false};
      there = at->second.there;
      if (!at->second.used) {  // what was asked for and never used counts for nobody
        at->second.used = true;
        fetches_ += 1;
        bytes_ += g.bytes;
      }
    }
    if (!g.ahead || t_.look_ahead == 0) return there;
    if (rank.foreseen.empty()) produce(rank);
    if (!rank.foreseen.empty()) {
      if (rank.foreseen.front().asked) --rank.asked, rank.late += there > rank.clock ? 1 : 0;
      rank.foreseen.pop_front();
      rank.offered -= rank.offered > 0 ? 1 : 0;
    }
    advance(rank);
    if (++rank.gets % gets_between_looks == 0) adapt(rank, g.bytes);
    return there;
  }

  /// One group of gets and the work after it, or a draw. False at the rank's end.
  bool step(Rank& rank) {
    if (rank.iteration < 0) {
      rank.iteration = find(rank, rank.now);
      if (rank.iteration < 0) {
        rank.now.first = rank.now.last;
        return draw(rank);
      }
      rank.now.first = loop_.iterations[static_cast<std::size_t>(rank.iteration)].tuple + 1;
      rank.get = 0;
      if (rank.begun++ > 0) advance(rank);
    }
    const LoopIteration& i = loop_.iterations[static_cast<std::size_t>(rank.iteration)];
    double there = rank.clock;
    while (rank.get < i.gets.size()) {
      there = std::max(there, get(rank, i.gets[rank.get]));
      if (++rank.get < i.gets.size() && i.gets[rank.get].begins_group) break;
    }
    rank.wait += there - rank.clock;
    rank.clock = there + per_group_;
    rank.work += per_group_;
    if (rank.get >= i.gets.size()) rank.iteration = -1;
    return true;
  }

  const TimedLoop& loop_;
  const Target& t_;
  RanksState& state_;
  std::vector<Rank> ranks_;
  std::vector<Range> queues_;  // per node
  std::vector<int> victims_;   // per node: others that had nothing left
  std::vector<double> busy_;   // until when, of those who answer; ranks that are elsewhere do not count
  double per_group_ = 0, fetches_ = 0, bytes_ = 0;
};

}  // namespace

RanksState::RanksState(const Target& t)
    : clock(static_cast<std::size_t>(t.ranks)),
      in_vain(static_cast<std::size_t>(t.ranks)),
      depth(static_cast<std::size_t>(t.ranks), first_depth),
      held(static_cast<std::size_t>(t.ranks)) {}

double RanksState::longest() const { return *std::max_element(clock.begin(), clock.end()); }
double RanksState::mean() const {
  return std::accumulate(clock.begin(), clock.end(), 0.0) / static_cast<double>(clock.size());
}

void RanksState::meet(bool barrier, const std::set<ArrayId>& retained) {
  passed += longest();
  std::fill(clock.begin(), clock.end(), 0.0);
  for (auto& blocks : held) {
    if (barrier) std::erase_if(blocks, [&](const auto& block) { return !retained.contains(block.second.array); });
    for (auto& [number, block] : blocks) block.there = 0;
  }
}

LoopTimes run_loop(const TimedLoop& loop, const Target& target, RanksState& state) {
  return Timeline(loop, target, state).run();
}

double asking_seconds(const Target& t, double at_work) {
  return std::min(std::min(t.nodes() - 1, max_asked) * round_trip(t), asking_part * at_work);
}

double trip_seconds(const Target& t, double bytes) {
  return 2 * t.latency + service_seconds + (bytes + 2 * header_bytes) / t.bandwidth;
}

}  // namespace sial::report
