// Ranks that disagree, give up, throw, or wait for each other, within one process: told in one error, never a hang.
#include <catch2/catch.hpp>

#include <atomic>

#include "runtime/core/base/error.h"
#include "runtime/core/transport/simulated.h"
#include "runtime/core/transport/threads.h"
#include "tests/unit/core/transport/tag.h"

using namespace sial;
using Catch::Contains;

namespace {

void named(Transport& t) {
  t.set_place_namer([](Place p) { return "p.sialx:" + std::to_string(p.pc); });
}

using Main = std::function<void(Transport&)>;

/// The message with which the job ends, in the simulator (several seeds must agree) and on threads.
std::string message_of(int ranks, int per_node, const Main& main, bool also_threads = true) {
  std::string text;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SimulationOptions o;
    o.ranks = ranks;
    o.ranks_per_node = per_node;
    o.seed = seed;
    try {
      run_simulated(o, main);
      FAIL("seed " << seed << ": no error");
    } catch (const std::exception& e) { text = e.what(); }
  }
  if (also_threads) {
    try {
      run_threads({ranks, per_node, 0}, main);
      FAIL("threads: no error");
    } catch (const std::exception& e) { text += std::string("\nthreads: ") + e.what(); }
  }
  return text;
}

class Refusing final : public Service {
 public:
  explicit Refusing(Transport& t) : transport_(t) { transport_.set_service(this); }
  ~Refusing() override { transport_.set_service(nullptr); }
  Refusing(const Refusing&) = delete;
  Refusing& operator=(const Refusing&) = delete;
  std::span<std::byte> payload_buffer(int, std::span<const std::byte>, std::size_t) override { return {}; }
  Reply serve(int, std::span<const std::byte>, std::span<std::byte>) override {
    transport_.pause();
    throw SialError("refused");
  }

 private:
  Transport& transport_;
};

}  // namespace

TEST_CASE("mismatched collectives name both places") {
  const auto text = message_of(2, 0, [](Transport& t) {
    named(t);
    t.barrier(tag(CollectiveKind::barrier, 1));
    if (t.rank() == 1) t.sum(1, tag(CollectiveKind::sum, 8));
    t.barrier(tag(CollectiveKind::barrier, 10));
  });
  CHECK_THAT(text, Contains("rank 0 is at a barrier (p.sialx:10), rank 1 is at a `collective` sum (p.sialx:8)"));
  CHECK_THAT(text, Contains("threads: the workers disagree"));
}

TEST_CASE("same kind at another place, root or size is a mismatch too") {
  CHECK_THAT(message_of(2, 0, [](Transport& t) { named(t), t.barrier(tag(CollectiveKind::barrier, t.rank())); }),
             Contains("rank 0 is at a barrier (p.sialx:0), rank 1 is at a barrier (p.sialx:1)"));
  CHECK_THAT(message_of(2, 0,
                        [](Transport& t) {
                          std::byte data[2] = {};
                          t.broadcast(data, t.rank(), tag(CollectiveKind::broadcast, 3));
                        }),
             Contains("2 bytes from rank 0 against 2 bytes from rank 1"));
  CHECK_THAT(message_of(2, 0,
                        [](Transport& t) {
                          std::byte data[2] = {};
                          t.broadcast(std::span(data, static_cast<std::size_t>(1 + t.rank())), 0,
                                      tag(CollectiveKind::broadcast, 3));
                        }),
             Contains("1 bytes from rank 0 against 2 bytes from rank 0"));
}

TEST_CASE("a rank that ends early") {
  const auto text = message_of(3, 1, [](Transport& t) {
    named(t);
    if (t.rank() != 1) t.barrier(tag(CollectiveKind::barrier, 10));
  });
  CHECK_THAT(text, Contains("is at a barrier (p.sialx:10)"));
  CHECK_THAT(text, Contains("rank 1 is at the end of the job"));
}

TEST_CASE("an abort or exception of one rank unwinds the others") {
  for (const int per_node : {0, 1}) {
    std::atomic<int> unwound{0};
    struct Guard {
      std::atomic<int>& count;
      ~Guard() { ++count; }
    };
    const auto text = message_of(4, per_node, [&](Transport& t) {
      const Guard guard{unwound};
      if (t.rank() == 1) t.abort_job("gives up", 7);
      if (t.rank() == 2)
        while (true) t.pause();
      t.barrier(tag(CollectiveKind::barrier, 10));
    });
    CHECK(text == "gives up\nthreads: gives up");
    CHECK(unwound >= 21);
  }
  CHECK_THROWS_AS(run_threads({2, 0, 0},
                              [](Transport& t) {
                                if (t.rank() == 0) throw EnvironmentError("disk");
                                t.barrier(tag(CollectiveKind::barrier, 1));
                              }),
                  EnvironmentError);
  try {
    run_simulated({}, [](Transport& t) { t.abort_job("gives up", 7); });
    FAIL("no error");
  } catch (const JobAborted& e) { CHECK(e.exit_code() == 7); }
}

TEST_CASE("an exception in a service ends the job") {
  const auto text = message_of(3, 1, [](Transport& t) {
    const Refusing service(t);
    std::byte data[100] = {};
    if (t.rank() == 0) t.request(2, {}, {}, data, Priority::demand)->wait();
    t.barrier(tag(CollectiveKind::barrier, 1));
  });
  CHECK(text == "refused\nthreads: refused");
}

TEST_CASE("the simulator finds deadlocks and says who waits for what") {
  // A rank polls for something that never comes.
  auto text = message_of(
      2, 0,
      [](Transport& t) {
        named(t);
        t.barrier(tag(CollectiveKind::barrier, 4));
        if (t.rank() == 1)
          while (true) t.pause();
        t.barrier(tag(CollectiveKind::barrier, 10));
      },
      false);
  CHECK_THAT(text, Contains("deadlock"));
  CHECK_THAT(text, Contains("rank 0 waits for other ranks at a barrier (p.sialx:10)"));
  CHECK_THAT(text, Contains("rank 1 polls, last collective: a barrier (p.sialx:4)"));
  // A request that nobody serves.
  text = message_of(
      2, 1,
      [](Transport& t) {
        named(t);
        if (t.rank() == 0) t.request(1, {}, {}, {}, Priority::demand)->wait();
        t.barrier(tag(CollectiveKind::barrier, 10));
      },
      false);
  CHECK_THAT(text, Contains("rank 0 waits for a reply from rank 1"));
  CHECK_THAT(text, Contains("rank 1 waits for other ranks at a barrier (p.sialx:10)"));
}
