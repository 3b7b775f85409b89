// The simulator's own promises: one at a time, a seed is a schedule, and the virtual clock.
#include <catch2/catch.hpp>

#include <algorithm>
#include <set>
#include <string>

#include "runtime/core/base/error.h"
#include "runtime/core/transport/simulated.h"
#include "tests/unit/core/transport/tag.h"

using namespace sial;

namespace {

class Echo final : public Service {
 public:
  explicit Echo(Transport& t) : transport_(t), data_(1000000) { transport_.set_service(this); }
  ~Echo() override { transport_.set_service(nullptr); }
  Echo(const Echo&) = delete;
  Echo& operator=(const Echo&) = delete;
  std::span<std::byte> payload_buffer(int, std::span<const std::byte>, std::size_t) override { return data_; }
  Reply serve(int, std::span<const std::byte> header, std::span<std::byte>) override {
    order += static_cast<char>(header[0]);
    return {{}, data_, {}};
  }
  std::string order;

 private:
  Transport& transport_;
  std::vector<std::byte> data_;
};

SimulationOptions exact(int ranks, int per_node) {
  SimulationOptions o;
  o.ranks = ranks;
  o.ranks_per_node = per_node;
  o.latency = 1e-3;
  o.bandwidth = 1e9;
  o.service_seconds = 1e-4;
  o.call_seconds = 1e-9;
  o.disorder = false;
  return o;
}

}  // namespace

TEST_CASE("a seed is a schedule, and seeds differ") {
  const auto trace = [](std::uint64_t seed) {
    std::string events;  // shared without a lock: only one rank runs at a time
    SimulationOptions o;
    o.ranks = 4;
    o.ranks_per_node = 2;
    o.seed = seed;
    const auto result = run_simulated(o, [&](Transport& t) {
      Echo service(t);
      std::vector<std::byte> reply(1000000);
      const std::byte header{static_cast<unsigned char>('a' + t.rank())};
      t.barrier(tag(CollectiveKind::barrier, 1));
      for (int i = 0; i < 20; ++i) {
        events += static_cast<char>('0' + t.rank());
        t.yield_point();
        if (i % 7 == 0) t.request((t.rank() + 2) % 4, std::span(&header, 1), {}, reply, Priority::demand)->wait();
      }
      t.barrier(tag(CollectiveKind::barrier, 2));
    });
    return events + " " + std::to_string(result.seconds) + " " + std::to_string(result.switches);
  };
  std::set<std::string> traces;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    traces.insert(trace(seed));
    CHECK(traces.count(trace(seed)) == 1);
  }
  CHECK(traces.size() == 20);
}

TEST_CASE("compute time passes on the virtual clock, in parallel") {
  const auto r = run_simulated(exact(4, 0), [](Transport& t) {
    t.charge_compute(1.0 + t.rank());
    CHECK(t.now() == Approx(1.0 + t.rank()));
    t.barrier(tag(CollectiveKind::barrier, 1));
    CHECK(t.now() == Approx(4.002));  // the slowest rank, and two levels of messages
  });
  CHECK(r.seconds == Approx(4.004));  // the end of the job is a collective, too
}

TEST_CASE("a rank that polls wakes soon after what it polls for, in few steps") {
  bool flag = false;
  const auto r = run_simulated(exact(2, 0), [&](Transport& t) {
    if (t.rank() == 0) {
      t.charge_compute(100);
      flag = true;
      t.yield_point();
    } else {
      while (!flag) t.pause();
      CHECK(t.now() == Approx(100).epsilon(1e-3));
    }
  });
  CHECK(r.switches < 10000);
}

TEST_CASE("requests cost latency and bandwidth, and an owner serves one after another") {
  run_simulated(exact(3, 1), [](Transport& t) {
    Echo service(t);
    std::vector<std::byte> reply(1000000);
    const std::byte header[1] = {std::byte{'x'}};
    t.barrier(tag(CollectiveKind::barrier, 1));
    const double start = t.now();
    if (t.rank() > 0) {
      t.request(0, header, {}, reply, Priority::demand)->wait();
      // There 1 ms, service 0.1 ms, back 1 ms + 1 ms for 1 MB; the other one's reply may be sent first.
      const double took = t.now() - start;
      CHECK((took == Approx(3.1e-3).epsilon(1e-3) || took == Approx(4.2e-3).epsilon(1e-3)));
    }
    t.barrier(tag(CollectiveKind::barrier, 2));
    CHECK(t.now() - start == Approx(4.2e-3 + 2e-3).epsilon(1e-3));
  });
}

TEST_CASE("a reply comes at the speed of its link, in whole pieces where that was asked for") {
  run_simulated(exact(2, 1), [](Transport& t) {
    Echo service(t);
    const std::byte header[1] = {std::byte{'x'}};
    for (const std::size_t piece : {0, 100000, 300000, 2000000}) {
      t.barrier(tag(CollectiveKind::barrier, 1));
      if (t.rank() == 1) continue;
      std::vector<std::byte> reply(1000000, std::byte{1});
      const double start = t.now();
      const auto pending = t.request(1, header, {}, ReplyBuffer(reply, piece), Priority::demand);
      std::set<std::size_t> seen;
      while (!pending->test()) {
        const std::size_t come = pending->received();
        seen.insert(come);
        // There 1 ms, service 0.1 ms, then 1 GB/s with 1 ms of latency.
        const double through = std::min(1e6, std::max(0.0, (t.now() - start - 2.1e-3) * 1e9));
        CHECK(static_cast<double>(come) <= through + 3000.0);
        CHECK((piece == 0 ? come == 0 : come % piece == 0 && static_cast<double>(come + piece) + 3000.0 > through));
        CHECK(std::count(reply.begin(), reply.end(), std::byte{1}) == static_cast<std::ptrdiff_t>(reply.size() - come));
        t.charge_compute(2e-5);
      }
      CHECK(pending->received() == 1000000);
      CHECK(seen.size() == (piece == 100000 ? 10 : piece == 300000 ? 4 : 1));
    }
    t.barrier(tag(CollectiveKind::barrier, 2));
  });
}

TEST_CASE("owners serve demand before prefetch") {
  run_simulated(exact(2, 1), [](Transport& t) {
    Echo service(t);
    t.barrier(tag(CollectiveKind::barrier, 1));
    if (t.rank() == 0) {
      std::vector<std::vector<std::byte>> replies(6, std::vector<std::byte>(1000000));
      std::vector<std::unique_ptr<PendingRequest>> pending;
      for (int i = 0; i < 6; ++i) {
        const std::byte header{static_cast<unsigned char>(i < 3 ? 'p' : 'd')};
        pending.push_back(t.request(1, std::span(&header, 1), {}, replies[static_cast<std::size_t>(i)],
                                    i < 3 ? Priority::prefetch : Priority::demand));
      }
    }
    t.barrier(tag(CollectiveKind::barrier, 2));
    if (t.rank() == 1) CHECK(service.order == "pdddpp");  // the first was alone when it came
  });
}

TEST_CASE("node memory can be as small as a container's") {
  SimulationOptions o;
  o.ranks = 2;
  o.commit_limit = 1 << 20;
  CHECK_THROWS_WITH(run_simulated(o,
                                  [](Transport& t) {
                                    const auto memory = t.map_node_memory(std::size_t{1} << 30, "block data");
                                    memory->commit(0, 1 << 19);
                                    memory->commit(0, 1 << 19);  // costs nothing again
                                    t.barrier(tag(CollectiveKind::barrier, 1));
                                    if (t.rank() == 1) memory->commit(std::size_t{1} << 29, (1 << 19) + 4096);
                                    t.barrier(tag(CollectiveKind::barrier, 2));
                                  }),
                    Catch::Contains("block data") && Catch::Contains("1048576"));
  CHECK_NOTHROW(run_simulated(
      o, [](Transport& t) { t.map_node_memory(std::size_t{1} << 30, "block data")->commit(0, 1 << 20); }));
}

TEST_CASE("hundreds of ranks, each with a helper") {
  SimulationOptions o;
  o.ranks = 300;
  o.ranks_per_node = 3;
  o.servers = 2;
  std::size_t served = 0;
  const auto result = run_simulated(o, [&](Transport& t) {
    Echo service(t);
    if (t.is_server()) {
      t.serve_forever();
    } else {
      std::vector<std::byte> reply(1000000);
      const std::byte header{1};
      for (int i = 1; i <= 3; ++i) {
        t.request((t.rank() + 3 * i) % 302, std::span(&header, 1), {}, reply, Priority::demand)->wait();
        CHECK(t.sum(t.rank(), tag(CollectiveKind::sum, i)) == 300.0 * 299 / 2);
      }
      const std::byte mine{static_cast<unsigned char>(t.rank() % 7)};
      const auto all = t.all_gather(std::span(&mine, 1), tag(CollectiveKind::gather, 4));
      for (std::size_t r = 0; r < 300; ++r) REQUIRE(all[r] == std::vector{static_cast<std::byte>(r % 7)});
    }
    served += service.order.size();
  });
  CHECK(served == 900);
  CHECK(result.requests == 900);
}
