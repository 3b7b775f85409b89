// One rule of the store each, on all ranks of a job.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <random>

#include "runtime/core/base/error.h"
#include "suite.h"

namespace sial::suite {

std::unique_ptr<BlockStore> real_store(Transport& transport, const StoreOptions& options) {
  return make_block_store(transport, nullptr, options);
}

Job::Job(Transport& t, const StoreOptions& options, const StoreMaker& make)
    : transport(t), rank(t.rank()), ranks(t.size()), store(make(t, options)) {
  begin(0);
}

void Job::begin(std::int32_t p) {
  program = p;
  std::vector<RemoteArrayInfo> arrays;
  for (int a = 0; a < n_arrays; ++a) arrays.push_back({ArrayId(a), std::string(1, static_cast<char>('a' + a))});
  store->synchronization().begin_program(program, arrays, [](Place place) {
    return "prog" + std::to_string(place.program) + ".sialx:" + std::to_string(place.pc);
  });
}

void Job::meet() { transport.barrier({CollectiveKind::other, {program, 0}}); }

Values Job::read(ArrayId array, const BlockIndex& block, std::int64_t size) {
  const double* p = store->fetch().read(array, block, size, next());
  return {p, p + size};
}

bool Job::everything_freed() {
  using Clock = std::chrono::steady_clock;
  // What is on its way to a disk takes its time, on a busy machine several seconds.
  const auto end = Clock::now() + std::chrono::seconds(60);
  for (int i = 0; (i < 100000 || Clock::now() < end) && store->buffers().stats().bytes_in_use != 0; ++i) {
    transport.charge_compute(1e-4);
    store->fetch().end_statement();
    transport.pause();
  }
  return store->buffers().stats().bytes_in_use == 0;
}

void serve(Transport& transport, const StoreOptions& options, const StoreMaker& make) {
  const auto store = make(transport, options);
  transport.serve_forever();
}

bool refused(const std::function<void()>& f) {
  try {
    f();
  } catch (const EnvironmentError&) { throw; } catch (const SialError&) {
    return true;
  }
  return false;
}

namespace {

void all_see_puts(Job& j) {
  for (int i = j.rank; i < 40; i += j.ranks) j.put(ArrayId(0), at(i), of(i));
  j.barrier();
  for (int i = 0; i < 40; ++i) {
    j.get(ArrayId(0), at(i), 20);
    EXPECT(j.read(ArrayId(0), at(i), 20) == of(i));
  }
}

void caller_may_reuse_its_buffer(Job& j) {
  Values v = of(j.rank);
  for (int i = 0; i < 30; ++i) {
    std::fill(v.begin(), v.end(), j.rank * 100 + i);
    j.put(ArrayId(0), at(j.rank, i), v);
  }
  std::fill(v.begin(), v.end(), -1);
  j.barrier();
  for (int r = 0; r < j.ranks; ++r)
    for (int i = 0; i < 30; ++i) {
      j.get(ArrayId(0), at(r, i), 20);
      EXPECT(j.read(ArrayId(0), at(r, i), 20) == of(r * 100 + i));
    }
}

// What can be computed again is kept for all ranks of a node, and goes when blocks need the memory.
void cached_blocks_yield(Job& j) {
  constexpr int blocks = 60;
  constexpr std::int64_t size = 2000;
  const auto is = [](const double* x, int i) {
    return std::all_of(x, x + size, [i](double value) { return value == i; });
  };
  for (int round = 0; round < 3; ++round)
    for (int i = 0; i < blocks; ++i) {
      const double* x = j.store->integral_cache().find_cached(at(i, 7), size);
      if (!x) {
        double* room = j.store->integral_cache().allocate_cached(size);
        EXPECT(room != nullptr);
        std::fill_n(room, size, i);
        j.store->integral_cache().keep_block(at(i, 7), room);
        x = room;
      }
      EXPECT(is(x, i));
      j.store->integral_cache().release_cached(x);
    }
  EXPECT(j.store->integral_cache().find_cached(at(0, 7), size - 1) == nullptr);
  EXPECT(j.store->integral_cache().find_cached(at(0, 8), size) == nullptr);
  const double* held = j.store->integral_cache().find_cached(at(3, 7), size);
  EXPECT(held != nullptr);
  j.meet();
  std::vector<double*> taken;
  bool full = false;
  for (int i = 0; i < 300 * j.ranks && !full; ++i) {
    try {
      taken.push_back(j.store->buffers().allocate(size));
    } catch (const EnvironmentError&) { full = true; }
  }
  EXPECT(full);
  for (std::size_t i = 0; i < taken.size(); ++i) std::fill_n(taken[i], size, -1.0 - static_cast<double>(i));
  EXPECT(is(held, 3));
  j.store->integral_cache().release_cached(held);
  j.meet();
  for (int i = 0; i < blocks; ++i) EXPECT(j.store->integral_cache().find_cached(at(i, 7), size) == nullptr);
  EXPECT(j.store->integral_cache().allocate_cached(size) == nullptr);
  for (std::size_t i = 0; i < taken.size(); ++i)
    EXPECT(taken[i][0] == -1.0 - static_cast<double>(i) && taken[i][size - 1] == taken[i][0]);
  j.meet();
  for (double* p : taken) j.store->buffers().deallocate(p, size);
}

// All begin with an absent block: nobody's contribution may get lost in its creation.
void first_additions_race(Job& j) {
  for (int round = 0; round < 10; ++round) {
    j.accumulate(ArrayId(0), at(round), of(j.rank + 1));
    j.store->update().increment(ArrayId(0), at(round), 20, 0.5, j.next());
  }
  j.barrier();
  const double sum = j.ranks * (j.ranks + 1) / 2.0 + 0.5 * j.ranks;
  for (int round = 0; round < 10; ++round) {
    j.get(ArrayId(0), at(round), 20);
    EXPECT(j.read(ArrayId(0), at(round), 20) == of(sum));
  }
}

void large_additions(Job& j) {
  Values v(30000);
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = static_cast<double>(i);
  for (int round = 0; round < 5; ++round) j.accumulate(ArrayId(0), at(1), v);
  j.barrier();
  j.get(ArrayId(0), at(1), 30000);
  const Values sum = j.read(ArrayId(0), at(1), 30000);
  for (std::size_t i = 0; i < v.size(); ++i) EXPECT(sum[i] == v[i] * 5 * j.ranks);
}

// Even if another rank breaks the phase rule, a fetched value does not change under the reader.
void values_stay_until_the_barrier(Job& j) {
  for (int i = j.rank; i < 5; i += j.ranks) j.put(ArrayId(0), at(i), of(i + 1));
  j.barrier();
  for (int i = 0; i < 5; ++i) j.get(ArrayId(0), at(i), 20);
  for (int i = 0; i < 5; ++i) EXPECT(j.read(ArrayId(0), at(i), 20) == of(i + 1));
  j.meet();
  if (j.rank == j.ranks - 1) {
    j.put(ArrayId(0), at(0), of(100));
    j.accumulate(ArrayId(0), at(1), of(100));
    j.store->update().fill(ArrayId(0), at(2), 20, 100, j.next());
    j.store->update().increment(ArrayId(0), at(3), 20, 100, j.next());
    j.store->update().scale(ArrayId(0), at(4), 20, 100, j.next());
  }
  j.meet();
  for (int i = 0; i < 5; ++i) EXPECT(j.read(ArrayId(0), at(i), 20) == of(i + 1));
  j.barrier();
  const double expected[5] = {100, 102, 100, 104, 500};
  for (int i = 0; i < 5; ++i) {
    j.get(ArrayId(0), at(i), 20);
    EXPECT(j.read(ArrayId(0), at(i), 20) == of(expected[i]));
  }
}

void one_rank_sees_its_own_puts_in_order(Job& j) {
  const BlockIndex b = at(7, j.rank);
  j.put(ArrayId(0), b, of(1));
  j.put(ArrayId(0), b, of(2));
  j.accumulate(ArrayId(0), b, of(3));
  j.accumulate(ArrayId(0), b, of(4));
  j.store->update().scale(ArrayId(0), b, 20, 2, j.next());
  j.get(ArrayId(0), b, 20);
  EXPECT(j.read(ArrayId(0), b, 20) == of(18));
  j.store->update().fill(ArrayId(0), b, 20, 5, j.next());
  EXPECT(j.read(ArrayId(0), b, 20) == of(18));
  j.get(ArrayId(0), b, 20);
  j.put(ArrayId(0), b, of(6));  // a fetch under way is of the time before
  EXPECT(j.read(ArrayId(0), b, 20) == of(5));
  j.get(ArrayId(0), b, 20);
  EXPECT(j.read(ArrayId(0), b, 20) == of(6));
}

void private_copies_stay_private(Job& j) {
  if (j.rank == 0) j.put(ArrayId(0), at(1), of(1));
  j.barrier();
  j.get(ArrayId(0), at(1), 20);
  double* mine = j.store->fetch().private_copy(ArrayId(0), at(1), 20, true, j.next());
  for (int i = 0; i < 20; ++i) mine[i] += j.rank;
  EXPECT(j.read(ArrayId(0), at(1), 20) == of(1 + j.rank));
  j.barrier();
  j.get(ArrayId(0), at(1), 20);
  EXPECT(j.read(ArrayId(0), at(1), 20) == of(1));
}

void what_is_here_is_at_hand(Job& j) {
  for (int i = j.rank; i < 12; i += j.ranks) j.put(ArrayId(0), at(i), of(i));
  j.barrier();
  EXPECT(!j.store->fetch().at_hand(ArrayId(0), at(0), 20));  // not asked for
  for (int i = 0; i < 12; ++i) j.get(ArrayId(0), at(i), 20);
  j.get(ArrayId(0), at(50), 20);
  const std::int64_t accesses = j.store->monitor().stats().accesses;
  for (int i = 0; i < 12; ++i) {
    const double* here = nullptr;
    while (!(here = j.store->fetch().at_hand(ArrayId(0), at(i), 20))) j.transport.pause();
    EXPECT(Values(here, here + 20) == of(i));
    EXPECT(!j.store->fetch().at_hand(ArrayId(0), at(i), 19));
  }
  for (int n = 0; n < 20; ++n) {  // absent: no error before it is used
    EXPECT(!j.store->fetch().at_hand(ArrayId(0), at(50), 20));
    j.transport.pause();
  }
  EXPECT(j.store->monitor().stats().accesses == accesses);
  EXPECT(refused([&] { j.read(ArrayId(0), at(50), 20); }));
  double* mine = j.store->fetch().private_copy(ArrayId(0), at(1), 20, true, j.next());
  mine[0] = -3.0;
  EXPECT(j.store->fetch().at_hand(ArrayId(0), at(1), 20) == mine);
  j.barrier();
  EXPECT(!j.store->fetch().at_hand(ArrayId(0), at(1), 20));
}

void absent_blocks(Job& j) {
  j.get(ArrayId(0), at(1), 20);
  EXPECT(refused([&] { j.read(ArrayId(0), at(1), 20); }));
  EXPECT(refused([&] { j.read(ArrayId(0), at(2), 20); }));
  EXPECT(refused([&] { j.store->fetch().private_copy(ArrayId(0), at(2), 20, true, j.next()); }));
  j.barrier();
}

// One rank after the other deletes, without a barrier; the others read the old blocks until their turn, while those who
// have deleted already work on the new ones.
void generations(Job& j) {
  for (int i = j.rank; i < 12; i += j.ranks) j.put(ArrayId(0), at(i), of(i, 5000));
  j.barrier();
  for (int turn = 0; turn < j.ranks; ++turn) {
    if (turn <= j.rank)
      for (int i = 0; i < 12; ++i) {
        j.get(ArrayId(0), at(i), 5000);
        EXPECT(j.read(ArrayId(0), at(i), 5000) == of(i, 5000));
      }
    j.meet();
    if (turn == j.rank) {
      j.store->synchronization().erase(ArrayId(0), j.next());
      EXPECT(!j.store->fetch().held(ArrayId(0), at(0)));
      j.get(ArrayId(0), at(0), 5000);
      EXPECT(refused([&] { j.read(ArrayId(0), at(0), 5000); }));
      j.put(ArrayId(0), at(100 + j.rank), of(1000 + j.rank, 5000));
    }
    j.meet();
  }
  j.barrier();
  for (int r = 0; r < j.ranks; ++r) {
    j.get(ArrayId(0), at(100 + r), 5000);
    EXPECT(j.read(ArrayId(0), at(100 + r), 5000) == of(1000 + r, 5000));
  }
  j.get(ArrayId(0), at(3), 5000);
  EXPECT(refused([&] { j.read(ArrayId(0), at(3), 5000); }));
  j.store->synchronization().erase(ArrayId(0), j.next());
  j.barrier();
  EXPECT(j.everything_freed());
}

void deletes_do_not_leak(Job& j) {
  for (int round = 0; round < 30; ++round) {
    for (int i = 0; i < 4; ++i) j.accumulate(ArrayId(0), at(i), of(1, 20000));
    j.store->synchronization().erase(ArrayId(0), j.next());
    if (round % 5 == 4) j.meet();  // a rank far ahead needs memory for all generations that the others still have
  }
  j.barrier();
  EXPECT(j.everything_freed());
}

// More than one rank's share, which the node has.
void full_shares_take_from_others(Job& j) {
  if (j.transport.node_size() < 2 || j.transport.home_nodes() != std::vector<NodeId>{j.transport.node()} ||
      j.ranks > j.transport.node_size())
    return;
  const int n = static_cast<int>((std::size_t{6} << 20) / 80000);
  if (j.rank == 0)
    for (int i = 0; i < n; ++i) j.store->update().fill(ArrayId(0), at(i), 10000, i, j.next());
  j.barrier();
  for (int i = j.rank; i < n; i += j.ranks) {
    j.get(ArrayId(0), at(i), 10000);
    EXPECT(j.read(ArrayId(0), at(i), 10000) == of(i, 10000));
  }
  j.barrier();
  j.store->synchronization().erase(ArrayId(0), j.next());
  j.barrier();
  EXPECT(j.everything_freed());
}

void attention_of_one_reaches_all(Job& j) {
  const auto barrier = [&](bool wanted) { return j.store->synchronization().barrier({j.program, 1}, wanted); };
  EXPECT(!barrier(false));
  EXPECT(barrier(j.rank == 0));
  EXPECT(barrier(j.rank == j.ranks - 1));
  EXPECT(barrier(true));
  // Beside what else the number of the barrier says.
  j.store->synchronization().erase(ArrayId(0), j.next());
  if (j.rank == 0) j.store->snapshots().load_saved_block("attention", at(1), of(1));
  EXPECT(barrier(j.rank == j.ranks - 1));
  EXPECT(j.store->snapshots().has_label("attention"));
  EXPECT(!barrier(false));
  j.store->snapshots().drop_labels_except({});
}

void a_second_get_sends_nothing(Job& j) {
  if (j.rank == 0)
    for (int i = 0; i < 10; ++i) j.put(ArrayId(0), at(i), of(i));
  j.barrier();
  for (int i = 0; i < 10; ++i) j.get(ArrayId(0), at(i), 20);
  const auto sent = j.store->monitor().stats().messages_sent;
  for (int i = 0; i < 10; ++i) {
    j.get(ArrayId(0), at(i), 20);
    EXPECT(j.read(ArrayId(0), at(i), 20) == of(i));
    j.get(ArrayId(0), at(i), 20);
  }
  EXPECT(j.store->monitor().stats().messages_sent == sent);
}

// Leases cost no copy; fetched blocks arrive where they are read from.
void gets_do_not_copy(Job& j) {
  if (j.rank == 0)
    for (int i = 0; i < 10; ++i) j.put(ArrayId(0), at(i), of(i));
  j.barrier();
  const auto before = j.store->monitor().stats();
  for (int i = 0; i < 10; ++i) {
    j.get(ArrayId(0), at(i), 20);
    j.read(ArrayId(0), at(i), 20);
  }
  const auto after = j.store->monitor().stats();
  EXPECT(after.bytes_copied == before.bytes_copied);
  EXPECT(after.bytes_leased - before.bytes_leased + after.bytes_received - before.bytes_received == 10 * 20 * 8);
  if (j.transport.node_count() == 1) EXPECT(after.messages_sent == 0);
}

void fetches_not_used_are_completed(Job& j) {
  if (j.rank == 0)
    for (int i = 0; i < 10; ++i) j.put(ArrayId(0), at(i), of(i));
  j.barrier();
  for (int i = 0; i < 20; ++i) j.get(ArrayId(0), at(i), 20);  // half of them absent
  j.barrier();
  for (int i = 0; i < 10; ++i) j.get(ArrayId(0), at(i), 20);
  j.store->synchronization().erase(ArrayId(0), j.next());
  j.barrier();
  EXPECT(j.everything_freed());
}

}  // namespace

const std::vector<Rule>& rules() {
  static const std::vector<Rule> all = {
      {"all see puts", all_see_puts},
      {"a caller may reuse its buffer", caller_may_reuse_its_buffer},
      {"first additions race", first_additions_race},
      {"large additions", large_additions},
      {"values stay until the barrier", values_stay_until_the_barrier},
      {"one rank sees its own puts in order", one_rank_sees_its_own_puts_in_order},
      {"private copies stay private", private_copies_stay_private},
      {"what is here is at hand", what_is_here_is_at_hand},
      {"absent blocks", absent_blocks},
      {"generations", generations},
      {"deletes do not leak", deletes_do_not_leak},
      {"full shares take from others", full_shares_take_from_others},
      {"attention of one reaches all", attention_of_one_reaches_all},
      {"a second get sends nothing", a_second_get_sends_nothing},
      {"gets do not copy", gets_do_not_copy},
      {"cached blocks yield", cached_blocks_yield},
      {"fetches not used are completed", fetches_not_used_are_completed},
  };
  return all;
}

void run_rules(Transport& transport, StoreOptions options, const StoreMaker& make) {
  options.memory_per_rank = 4 << 20;
  if (transport.is_server()) return serve(transport, options, make);
  Job job(transport, options, make);
  std::vector<Rule> all = rules();
  all.insert(all.end(), rules_of_elision().begin(), rules_of_elision().end());
  all.insert(all.end(), prefetch_rules().begin(), prefetch_rules().end());
  all.insert(all.end(), snapshot_rules().begin(), snapshot_rules().end());
  all.insert(all.end(), incoming_rules().begin(), incoming_rules().end());
  for (const Rule& rule : all) {
    try {
      rule.run(job);
    } catch (const SialError& e) { throw std::runtime_error(std::string(rule.name) + ": " + e.what()); }
    job.store->synchronization().end_program({job.program, 90});
    EXPECT(job.everything_freed());
    job.meet();
    job.begin(job.program + 1);
  }
  job.store->synchronization().end_program({job.program, 91});
}

void deterministic_sum(Transport& transport, std::uint64_t seed) {
  StoreOptions options;
  options.memory_per_rank = 4 << 20;
  options.deterministic = true;
  if (transport.is_server()) return serve(transport, options);
  Job job(transport, options);
  // The same numbers for every schedule seed: what differs is only the order in which they arrive. Those of a phase are
  // added before the next ones, also where nobody reads in between.
  constexpr int per_phase = 3, phases = 2, blocks = 8;
  const auto number = [](int rank, int k, int block) {
    std::mt19937_64 random(static_cast<std::uint64_t>((block * 100 + rank) * 100 + k));
    return std::ldexp(static_cast<double>(random() % 1000003) / 1000003 - 0.5, static_cast<int>(random() % 60) - 30);
  };
  std::mt19937_64 pause(seed * 64 + static_cast<std::uint64_t>(job.rank));
  std::array<double, blocks> sum{}, sum2{};
  for (int phase = 0; phase < phases; ++phase) {
    for (int k = phase * per_phase; k < (phase + 1) * per_phase; ++k) {
      for (std::uint64_t i = pause() % 4; i > 0; --i) transport.pause();
      for (int b = 0; b < blocks; ++b) {
        job.accumulate(ArrayId(0), at(b), of(number(job.rank, k, b)));
        if (k % 2) job.store->update().increment(ArrayId(0), at(b, 1), 20, number(job.rank, k, b), job.next());
      }
    }
    job.barrier();
    for (int r = 0; r < job.ranks; ++r)
      for (int k = phase * per_phase; k < (phase + 1) * per_phase; ++k)
        for (int b = 0; b < blocks; ++b) {
          sum[b] += number(r, k, b);
          if (k % 2) sum2[b] += number(r, k, b);
        }
  }
  for (int b = 0; b < blocks; ++b) {
    job.get(ArrayId(0), at(b), 20);
    job.get(ArrayId(0), at(b, 1), 20);
    EXPECT(job.read(ArrayId(0), at(b), 20) == of(sum[b]));
    EXPECT(job.read(ArrayId(0), at(b, 1), 20) == of(sum2[b]));
  }
  job.store->synchronization().end_program({0, 92});
}

}  // namespace sial::suite
