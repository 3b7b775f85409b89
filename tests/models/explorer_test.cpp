// The explorer itself on the shapes by which memory models are known: which outcomes C11 allows, and which not.

#include <catch2/catch.hpp>
#include <set>
#include <vector>

#include "tests/models/protocol.h"

namespace sial::models {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto acquire = std::memory_order_acquire;
constexpr auto release = std::memory_order_release;
constexpr auto acq_rel = std::memory_order_acq_rel;
constexpr auto seq_cst = std::memory_order_seq_cst;

using Body = std::function<Task<>(Thread&)>;

/// Threads that note what they read in registers a, b, c, d.
class Shape : public Protocol {
 public:
  Atomic x = atomic("x"), y = atomic("y");
  Plain data = plain("data");
  std::vector<Ghost> r = {ghost("a"), ghost("b"), ghost("c"), ghost("d")};
  std::vector<Body> bodies;

  int threads() const override { return static_cast<int>(bodies.size()); }
  Task<> run(Thread& t) const override { return bodies[static_cast<std::size_t>(t.number())](t); }

  std::set<std::string> outcomes(int registers, bool with_x = false) {
    std::set<std::string> found;
    const Exploration e = explore(*this, [&](const Memory& m) {
      std::string s;
      for (int i = 0; i < registers; ++i) s += std::to_string(m.value(r[static_cast<std::size_t>(i)]));
      if (with_x) s += "/" + std::to_string(m.last(x)) + std::to_string(m.last(y));
      found.insert(s);
    });
    INFO(e.failure);
    CHECK(e.failure.empty());
    return found;
  }
  std::string failure() { return explore(*this).failure; }
};

std::set<std::string> store_buffering(Orders store, Orders load, bool fences, bool exchanges = false) {
  Shape s;
  const auto body = [&](Atomic mine, Atomic other, int reg) {
    return [&s, mine, other, reg, store, load, fences, exchanges](Thread& t) -> Task<> {
      if (exchanges) co_await t.exchange(mine, 1, store);
      else co_await t.store(mine, 1, store);
      if (fences) co_await t.fence(seq_cst);
      const Value v = co_await t.load(other, load);
      co_await t.note(s.r[static_cast<std::size_t>(reg)], v);
    };
  };
  s.bodies = {body(s.x, s.y, 0), body(s.y, s.x, 1)};
  return s.outcomes(2);
}

TEST_CASE("store buffering") {
  CHECK(store_buffering(relaxed, relaxed, false).contains("00"));
  CHECK(store_buffering(release, acquire, false).contains("00"));
  CHECK(store_buffering(acq_rel, acquire, false, true).contains("00"));
  CHECK(store_buffering(relaxed, relaxed, true) == std::set<std::string>{"01", "10", "11"});
  CHECK(store_buffering(seq_cst, seq_cst, false) == std::set<std::string>{"01", "10", "11"});
  CHECK(store_buffering(seq_cst, acquire, false).contains("00"));
}

std::set<std::string> message_passing(Orders store, Orders load, bool release_fence, bool acquire_fence) {
  Shape s;
  s.bodies = {[&](Thread& t) -> Task<> {
                co_await t.store(s.x, 1, relaxed);
                if (release_fence) co_await t.fence(release);
                co_await t.store(s.y, 1, store);
              },
              [&](Thread& t) -> Task<> {
                const Value flag = co_await t.load(s.y, load);
                if (acquire_fence) co_await t.fence(acquire);
                const Value v = co_await t.load(s.x, relaxed);
                co_await t.note(s.r[0], flag);
                co_await t.note(s.r[1], v);
              }};
  return s.outcomes(2);
}

TEST_CASE("message passing") {
  const std::set<std::string> all{"00", "01", "10", "11"}, right{"00", "01", "11"};
  CHECK(message_passing(release, acquire, false, false) == right);
  CHECK(message_passing(relaxed, acquire, false, false) == all);
  CHECK(message_passing(release, relaxed, false, false) == all);
  CHECK(message_passing(relaxed, acquire, true, false) == right);
  CHECK(message_passing(release, relaxed, false, true) == right);
  CHECK(message_passing(relaxed, relaxed, true, true) == right);
  CHECK(message_passing(relaxed, relaxed, true, false) == all);
}

std::string plain_message(Orders store, Orders load) {
  Shape s;
  s.bodies = {[&](Thread& t) -> Task<> {
                co_await t.write(s.data, 1);
                co_await t.store(s.y, 1, store);
              },
              [&](Thread& t) -> Task<> {
                co_await t.await_equal(s.y, 1, load);
                const Value v = co_await t.read(s.data);
                t.require(v == 1, "the message is there");
              }};
  return s.failure();
}

TEST_CASE("races of plain accesses") {
  CHECK(plain_message(release, acquire).empty());
  CHECK(plain_message(relaxed, acquire).find("races") != std::string::npos);
  CHECK(plain_message(release, relaxed).find("races") != std::string::npos);
}

TEST_CASE("a reader before a writer is a race as well") {
  Shape s;
  s.bodies = {[&](Thread& t) -> Task<> { co_await t.read(s.data); },
              [&](Thread& t) -> Task<> { co_await t.write(s.data, 1); }};
  CHECK(s.failure().find("races") != std::string::npos);
}

TEST_CASE("independent reads of independent writes") {
  const auto outcomes = [](Orders load, bool fences, Orders store) {
    Shape s;
    const auto writer = [&s, store](Atomic a) {
      return [&s, a, store](Thread& t) -> Task<> { co_await t.store(a, 1, store); };
    };
    const auto reader = [&s, load, fences](Atomic first, Atomic second, std::size_t reg) {
      return [&s, load, fences, first, second, reg](Thread& t) -> Task<> {
        const Value a = co_await t.load(first, load);
        if (fences) co_await t.fence(seq_cst);
        const Value b = co_await t.load(second, load);
        co_await t.note(s.r[reg], a);
        co_await t.note(s.r[reg + 1], b);
      };
    };
    s.bodies = {writer(s.x), writer(s.y), reader(s.x, s.y, 0), reader(s.y, s.x, 2)};
    return s.outcomes(4);
  };
  CHECK(outcomes(acquire, false, release).contains("1010"));
  CHECK_FALSE(outcomes(acquire, true, release).contains("1010"));
  CHECK_FALSE(outcomes(seq_cst, false, seq_cst).contains("1010"));
}

TEST_CASE("coherence: a value read is not older than one read before") {
  Shape s;
  s.bodies = {[&](Thread& t) -> Task<> {
                co_await t.store(s.x, 1, relaxed);
                co_await t.store(s.x, 2, relaxed);
              },
              [&](Thread& t) -> Task<> {
                const Value a = co_await t.load(s.x, relaxed);
                const Value b = co_await t.load(s.x, relaxed);
                co_await t.note(s.r[0], a);
                co_await t.note(s.r[1], b);
              }};
  CHECK(s.outcomes(2) == std::set<std::string>{"00", "01", "02", "11", "12", "22"});
}

TEST_CASE("two stores each by two threads may end with both first ones") {
  const auto outcomes = [](Orders store) {
    Shape s;
    const auto body = [&s, store](Atomic first, Atomic second) {
      return [&s, store, first, second](Thread& t) -> Task<> {
        co_await t.store(first, 1, store);
        co_await t.store(second, 2, store);
      };
    };
    s.bodies = {body(s.x, s.y), body(s.y, s.x)};
    return s.outcomes(0, true);
  };
  CHECK(outcomes(release).contains("/11"));
  CHECK_FALSE(outcomes(seq_cst).contains("/11"));
}

TEST_CASE("the order of two threads reaches a third") {
  const auto outcomes = [](Orders store) {
    Shape s;
    s.bodies = {[&](Thread& t) -> Task<> { co_await t.store(s.x, 1, relaxed); },
                [&](Thread& t) -> Task<> {
                  co_await t.await_equal(s.x, 1, relaxed);
                  co_await t.store(s.y, 1, store);
                },
                [&](Thread& t) -> Task<> {
                  co_await t.await_equal(s.y, 1, acquire);
                  const Value v = co_await t.load(s.x, relaxed);
                  co_await t.note(s.r[0], v);
                }};
    return s.outcomes(1);
  };
  CHECK(outcomes(release) == std::set<std::string>{"1"});
  CHECK(outcomes(relaxed) == std::set<std::string>{"0", "1"});
}

TEST_CASE("a release sequence goes on through read-modify-writes, and ends at a store") {
  const auto failure = [](bool store) {
    Shape s;
    s.bodies = {[&](Thread& t) -> Task<> {
                  co_await t.write(s.data, 1);
                  co_await t.store(s.x, 1, release);
                },
                [&s, store](Thread& t) -> Task<> {
                  co_await t.await_equal(s.x, 1, relaxed);
                  if (store) co_await t.store(s.x, 2, relaxed);
                  else co_await t.add(s.x, 1, relaxed);
                },
                [&](Thread& t) -> Task<> {
                  co_await t.await_equal(s.x, 2, acquire);
                  co_await t.read(s.data);
                }};
    return s.failure();
  };
  CHECK(failure(false).empty());
  CHECK(failure(true).find("races") != std::string::npos);
}

TEST_CASE("read-modify-writes are one step") {
  Shape s;
  const auto body = [&](Thread& t) -> Task<> {
    const Value before = co_await t.add(s.x, 1, relaxed);
    Value seen = 0;
    const bool replaced = co_await t.compare(s.y, seen, before + 1, relaxed);
    if (replaced) co_await t.note(s.r[0]);
  };
  s.bodies = {body, body, body};
  const auto found = s.outcomes(1, true);
  CHECK(found == std::set<std::string>{"1/31", "1/32", "1/33"});
}

TEST_CASE("a fence of the first thread does not synchronize with one of the second by itself") {
  Shape s;
  s.bodies = {[&](Thread& t) -> Task<> {
                co_await t.write(s.data, 1);
                co_await t.fence(seq_cst);
              },
              [&](Thread& t) -> Task<> {
                co_await t.fence(seq_cst);
                co_await t.read(s.data);
              }};
  CHECK(s.failure().find("races") != std::string::npos);
}

TEST_CASE("threads that wait for ever are found") {
  Shape s;
  s.bodies = {[&](Thread& t) -> Task<> { co_await t.await_equal(s.x, 1, relaxed); }};
  CHECK(s.failure().find("waits for ever") != std::string::npos);
}

TEST_CASE("load buffering is outside of the model") {
  Shape s;
  const auto body = [&](Atomic from, Atomic to, std::size_t reg) {
    return [&s, from, to, reg](Thread& t) -> Task<> {
      const Value v = co_await t.load(from, relaxed);
      co_await t.store(to, 1, relaxed);
      co_await t.note(s.r[reg], v);
    };
  };
  s.bodies = {body(s.x, s.y, 0), body(s.y, s.x, 1)};
  CHECK(s.outcomes(2) == std::set<std::string>{"00", "01", "10"});
}

}  // namespace
}  // namespace sial::models
