// What must stop the job, and with which words: the phase rule in check mode, deletes that differ, memory.
#include <catch2/catch.hpp>

#include "runtime/core/base/error.h"
#include "runtime/core/transport/simulated.h"
#include "runtime/core/transport/threads.h"
#include "suite.h"

using namespace sial;
using suite::Job;
using suite::Values;

namespace {

const BlockIndex b{2, {2, 3}};
const Values v(10, 1.0);

enum class Use { get, put, accumulate, fill, increment, scale };
constexpr Use all_uses[] = {Use::get, Use::put, Use::accumulate, Use::fill, Use::increment, Use::scale};

void use(Job& j, Use u, int pc) {
  const Place place{0, pc};
  switch (u) {
    case Use::get:
      j.store->fetch().get(ArrayId(0), b, 10, place);
      j.store->fetch().read(ArrayId(0), b, 10, place);
      break;
    case Use::put: j.store->update().put(ArrayId(0), b, 10, v.data(), place); break;
    case Use::accumulate: j.store->update().accumulate(ArrayId(0), b, 10, v.data(), place); break;
    case Use::fill: j.store->update().fill(ArrayId(0), b, 10, 2, place); break;
    case Use::increment: j.store->update().increment(ArrayId(0), b, 10, 2, place); break;
    case Use::scale: j.store->update().scale(ArrayId(0), b, 10, 2, place); break;
  }
}

char kind(Use u) { return u == Use::get ? 'r' : u == Use::accumulate || u == Use::increment ? 'a' : 'w'; }

StoreOptions checked() {
  StoreOptions o;
  o.memory_per_rank = 1 << 20;
  o.check = true;
  return o;
}

// Runs `body` on each rank and returns the error's text and hint.
template <class Run>
std::string error_of(Run run) {
  try {
    run();
  } catch (const SialError& e) { return std::string(e.what()) + " / " + e.hint(); }
  return "";
}

}  // namespace

TEST_CASE("check mode: two ranks use a block in one phase") {
  for (const int per_node : {0, 1})
    for (const Use first : all_uses)
      for (const Use second : all_uses) {
        INFO("uses " << static_cast<int>(first) << " and " << static_cast<int>(second) << ", " << per_node
                     << " per node");
        SimulationOptions o;
        o.ranks = 2;
        o.ranks_per_node = per_node;
        const std::string error = error_of([&] {
          run_simulated(o, [&](Transport& t) {
            Job j(t, checked());
            if (j.rank == 0) j.put(ArrayId(0), b, v);
            j.barrier();
            if (j.rank == 0) use(j, first, 11);
            t.sum(0, {});  // in line, but the same phase; a put to another node may still be on its way
            if (j.rank == 0) j.get(ArrayId(1), {1, {1}}, 1);
            for (int i = 0; i < 3000; ++i) t.pause();
            t.sum(0, {});
            if (j.rank == 1) use(j, second, 22);
            j.barrier();
            if (j.rank == 1) use(j, first, 33);  // a new phase
            j.store->synchronization().end_program({0, 40});
          });
        });
        const bool allowed = kind(first) == kind(second) && kind(first) != 'w';
        if (allowed) {
          CHECK(error == "");
          continue;
        }
        CHECK_THAT(error, Catch::Contains("b[2,3]") || Catch::Contains("a[2,3]"));
        CHECK_THAT(error,
                   Catch::Contains("by rank 0 at prog0.sialx:11") && Catch::Contains("by rank 1 at prog0.sialx:22"));
        CHECK_THAT(error, Catch::Contains("sip_barrier between"));
      }
}

TEST_CASE("check mode: what one rank does alone is allowed") {
  for (const int per_node : {0, 1})
    for (const Use first : all_uses)
      for (const Use second : all_uses)
        for (const Use third : all_uses) {
          SimulationOptions o;
          o.ranks = 2;
          o.ranks_per_node = per_node;
          CHECK_NOTHROW(run_simulated(o, [&](Transport& t) {
            Job j(t, checked());
            if (j.rank == 1) j.put(ArrayId(0), b, v);
            j.barrier();
            if (j.rank == 0) use(j, first, 11), use(j, second, 12), use(j, third, 13);
            j.store->synchronization().end_program({0, 40});
          }));
        }
}

TEST_CASE("check mode: a deleted array begins anew within the phase") {
  SimulationOptions o;
  o.ranks = 3;
  o.ranks_per_node = 2;
  CHECK_NOTHROW(run_simulated(o, [&](Transport& t) {
    Job j(t, checked());
    if (j.rank == 0) j.put(ArrayId(0), b, v);
    j.barrier();
    j.get(ArrayId(0), b, 10);
    j.read(ArrayId(0), b, 10);
    j.store->synchronization().erase(ArrayId(0), {0, 5});
    j.accumulate(ArrayId(0), b, v);
    j.store->synchronization().end_program({0, 40});
  }));
}

TEST_CASE("ranks that have not deleted the same arrays are told at the barrier") {
  for (const int per_node : {0, 1}) {
    SimulationOptions o;
    o.ranks = 3;
    o.ranks_per_node = per_node;
    const std::string error = error_of([&] {
      run_simulated(o, [&](Transport& t) {
        Job j(t, checked());
        if (j.rank != 1) j.store->synchronization().erase(ArrayId(0), {0, 5});
        j.barrier();
      });
    });
    CHECK_THAT(error, Catch::Contains("deleted") && Catch::Contains("all workers"));
  }
}

TEST_CASE("a full node names the block; a small shared memory its reason") {
  for (const int per_node : {0, 1, -1}) {  // -1: a server
    SimulationOptions o;
    o.ranks = 2;
    o.ranks_per_node = std::max(per_node, 0);
    o.servers = per_node < 0 ? 1 : 0;
    const auto fill = [](Transport& t) {
      if (t.is_server()) return suite::serve(t, checked());
      Job j(t, checked());
      for (int i = 0; i < 1000; ++i) j.store->update().fill(ArrayId(0), {2, {i, j.rank}}, 5000, 1, j.next());
      j.barrier();
    };
    std::string error = error_of([&] { run_simulated(o, fill); });
    CHECK_THAT(error, Catch::Contains("out of memory for block a[") && Catch::Contains("--memory"));
    o.commit_limit = 1 << 20;
    error = error_of([&] { run_simulated(o, fill); });
    CHECK_THAT(error, Catch::Contains("may use 1048576 bytes") || Catch::Contains("1.05 MB"));
  }
}

TEST_CASE("a mistake of one rank ends the others, wherever they wait") {
  for (const int per_node : {0, 1}) {
    const std::string error = error_of([&] {
      run_threads({3, per_node, 0}, [&](Transport& t) {
        Job j(t, checked());
        if (j.rank == 1) j.read(ArrayId(0), b, 10);
        j.accumulate(ArrayId(0), b, v);
        j.barrier();
      });
    });
    CHECK_THAT(error, Catch::Contains("a[2,3]") && Catch::Contains("not fetched"));
  }
}
