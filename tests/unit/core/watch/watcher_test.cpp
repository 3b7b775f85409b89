// Watchers of a job on a clock of the test: hosts, ranks and messages are those of one process.
#include <catch2/catch.hpp>
#include <deque>
#include <map>
#include <memory>
#include <set>

#include "runtime/core/watch/watcher.h"

using namespace sial;
using Catch::Matchers::Contains;

namespace {

/// Messages between leaders; those of hosts that are cut off are lost.
struct Network {
  std::map<int, std::deque<std::vector<std::byte>>> inbox;
  std::set<int> cut_off;
};

class Link final : public WatchLink {
 public:
  Link(Network& network, int host) : network_(network), host_(host) {}
  void send(int host, const std::vector<std::byte>& message) override {
    if (!network_.cut_off.contains(host) && !network_.cut_off.contains(host_)) network_.inbox[host].push_back(message);
  }
  std::optional<std::vector<std::byte>> receive() override {
    auto& mine = network_.inbox[host_];
    if (mine.empty()) return {};
    std::vector<std::byte> message = std::move(mine.front());
    mine.pop_front();
    return message;
  }

 private:
  Network& network_;
  int host_;
};

/// `hosts` hosts of `per_host` ranks each.
class World {
 public:
  World(int hosts, int per_host, const WatchOptions& options) : per_host_(per_host) {
    for (int h = 0; h < hosts; ++h) {
      links_.push_back(std::make_unique<Link>(network, h));
      memory_.emplace_back(HostBoard::bytes(per_host) / 8);
    }
    for (int r = 0; r < hosts * per_host; ++r) {
      const int h = r / per_host;
      WatchPlace place{.rank = r,
                       .ranks = hosts * per_host,
                       .position = r % per_host,
                       .host = h,
                       .hosts = hosts,
                       .serves = false,
                       .host_of = {},
                       .host_number = [per_host](int rank) { return rank / per_host; }};
      if (hosts > 1) place.host_of = [per_host](int rank) { return "node" + std::to_string(rank / per_host + 1); };
      activities.push_back(std::make_unique<RankActivity>());
      activities.back()->set_advice("continue");
      WatchOptions of_rank = options;
      of_rank.take_question = [this, r] { return asked.erase(r) > 0; };
      watchers_.push_back(std::make_unique<Watcher>(
          place, HostBoard(reinterpret_cast<std::byte*>(memory_[static_cast<std::size_t>(h)].data()), per_host),
          hosts > 1 ? links_[static_cast<std::size_t>(h)].get() : nullptr, *activities.back(), of_rank,
          Watcher::Actions{[this](const std::string& text) { said += text; },
                           [this, r](const std::string& text, int) { ended.emplace(r, text); },
                           [this](const RankStatus& s) { return states.contains(s.rank) ? states[s.rank] : 'S'; }}));
    }
  }
  /// What a rank says before its watcher runs.
  void announce(int rank) {
    RankStatus status;
    status.rank = rank;
    HostBoard(reinterpret_cast<std::byte*>(memory_[static_cast<std::size_t>(rank / per_host_)].data()), per_host_)
        .publish(rank % per_host_, status);
  }
  /// So many seconds, of the ranks that are not stopped.
  void go_on(int seconds) {
    for (int s = 0; s < seconds; ++s) {
      now_ += 1;
      for (std::size_t r = 0; r < watchers_.size(); ++r)
        if (!stopped.contains(static_cast<int>(r))) watchers_[r]->turn(now_);
    }
  }

  Network network;
  std::vector<std::unique_ptr<RankActivity>> activities;
  std::set<int> stopped, asked;
  std::map<int, char> states;
  std::string said;
  std::map<int, std::string> ended;

 private:
  int per_host_;
  double now_ = 1000;
  std::vector<std::unique_ptr<Link>> links_;
  std::vector<std::vector<std::uint64_t>> memory_;
  std::vector<std::unique_ptr<Watcher>> watchers_;
};

WatchOptions patience(double seconds) {
  WatchOptions options;
  options.lost_after = seconds;
  return options;
}

}  // namespace

TEST_CASE("nobody is lost while all show signs of life") {
  World world(3, 2, patience(10));
  world.go_on(200);
  CHECK(world.ended.empty());
  CHECK(world.said.empty());
}

TEST_CASE("a host that is silent ends the job, with its name, on both sides") {
  World world(3, 2, patience(10));
  world.go_on(5);
  world.network.cut_off.insert(1);
  world.go_on(9);
  CHECK(world.ended.empty());
  world.go_on(3);
  REQUIRE(world.ended.size() == 2);
  CHECK_THAT(world.ended[0], Contains("nothing has been heard of ranks 2-3 (node2) for"));
  CHECK_THAT(world.ended[0], Contains("hint: the host is down") && Contains("; continue"));
  CHECK_THAT(world.ended[2], Contains("nothing has been heard of rank 0 (node1) for"));
}

TEST_CASE("a link that comes back in time is no loss") {
  World world(2, 1, patience(10));
  for (int i = 0; i < 20; ++i) {
    world.network.cut_off.insert(1);
    world.go_on(8);
    world.network.cut_off.clear();
    world.go_on(3);
  }
  CHECK(world.ended.empty());
}

TEST_CASE("the first host is missed by the others") {
  World world(3, 1, patience(10));
  world.go_on(5);
  world.network.cut_off.insert(0);
  world.go_on(12);
  CHECK(world.ended.size() == 3);
  CHECK_THAT(world.ended[1], Contains("rank 0 (node1)"));
}

TEST_CASE("a rank that is stopped or gone is lost, one that runs is not") {
  World world(1, 3, patience(10));
  world.go_on(5);
  world.stopped.insert(2);
  SECTION("it gets no core, or is looked at by a debugger") {
    world.states[2] = GENERATE('R', 'S', 'D', 't');
    world.go_on(100);
    CHECK(world.ended.empty());
  }
  SECTION("stopped") {
    world.states[2] = 'T';
    world.go_on(9);
    CHECK(world.ended.empty());
    world.go_on(3);
    REQUIRE(world.ended.size() == 1);
    CHECK_THAT(world.ended[0], Contains("rank 2 has been stopped by a signal for") && Contains("kill -CONT"));
  }
  SECTION("gone") {
    world.states[2] = '\0';
    world.go_on(12);
    CHECK_THAT(world.ended[0], Contains("rank 2 has ended without a word"));
  }
}

TEST_CASE("a rank whose watcher never runs is lost") {
  World world(1, 2, patience(10));
  const int lost = GENERATE(0, 1);
  for (const int rank : {0, 1}) world.announce(rank);
  world.stopped.insert(lost);
  world.states[lost] = 'T';
  world.go_on(9);
  CHECK(world.ended.empty());
  world.go_on(3);
  REQUIRE(world.ended.size() == 1);
  CHECK_THAT(world.ended.begin()->second,
             Contains(lost == 0 ? "rank 0 has shown no sign of life" : "rank 1 has been stopped by a signal"));
}

TEST_CASE("a leader that is stopped is missed by its host") {
  World world(1, 3, patience(10));
  world.go_on(5);
  world.stopped.insert(0);
  world.states[0] = 'T';
  world.go_on(12);
  CHECK_THAT(world.ended[1], Contains("rank 0 has shown no sign of life"));
}

TEST_CASE("who was stopped together with the others finds nobody lost") {
  World world(2, 2, patience(10));
  world.go_on(5);
  world.states = {{0, 'T'}, {1, 'T'}, {2, 'T'}, {3, 'T'}};
  world.stopped = {0, 1, 2, 3};
  world.go_on(500);
  world.stopped.clear();
  world.states.clear();
  world.go_on(20);
  CHECK(world.ended.empty());
}

TEST_CASE("with no patience given nobody is lost") {
  World world(2, 1, patience(0));
  world.network.cut_off.insert(1);
  world.go_on(1000);
  CHECK(world.ended.empty());
}

TEST_CASE("a question on any rank is answered for all, once") {
  World world(2, 2, patience(10));
  for (auto& activity : world.activities) activity->begin_statement(1);
  world.go_on(5);
  const int rank = GENERATE(0, 1, 2, 3);
  world.asked.insert(rank);
  world.go_on(10);
  CHECK_THAT(world.said, Contains("what the ranks do"));
  CHECK_THAT(world.said, Contains("ranks 0-1 (node1), 2-3 (node2): executes a statement"));
  CHECK(world.said.find("what the ranks do") == world.said.rfind("what the ranks do"));
}

TEST_CASE("the job ends when it stands still for too long, not before") {
  WatchOptions options = patience(10);
  options.stall_limit = 50;
  World world(2, 1, options);
  const Waiting waiting(*world.activities[0], wait_for_reply(1));
  for (int i = 0; i < 10; ++i) {
    world.activities[1]->begin_statement(1);  // it moves
    world.go_on(40);
  }
  CHECK(world.ended.empty());
  world.go_on(15);
  CHECK_THAT(world.ended[0],
             Contains("no rank has begun a statement for 5") && Contains("waits for a reply of rank 1"));
}
