// Look-ahead in the store: what it may never change, on any transport and layout.
#include "runtime/core/base/error.h"
#include "suite.h"

namespace sial::suite {

namespace {

constexpr int n_ahead = 24;
BlockIndex ahead_at(int i) { return {2, {i, 7}}; }
Values fifty(double x) { return Values(50, x); }

void put_all(Job& j, double plus) {
  for (int i = j.rank; i < n_ahead; i += j.ranks) j.put(ArrayId(0), ahead_at(i), fifty(i + plus));
  j.barrier();
}

Prefetch ahead(Job& j, int i) { return j.store->look_ahead().prefetch(ArrayId(0), ahead_at(i), 50, {0, 30}); }

/// Every prefetch since `before` is accounted for.
void expect_balance(Job& j, const StoreStats& before) {
  const StoreStats now = j.store->monitor().stats();
  const auto useful = now.prefetches_useful - before.prefetches_useful,
             late = now.prefetches_late - before.prefetches_late,
             useless = now.prefetches_useless - before.prefetches_useless;
  EXPECT(now.prefetches - before.prefetches == useful + late + useless);
  EXPECT(now.prefetch_bytes_useless - before.prefetch_bytes_useless == useless * 400);
}

void prefetched_blocks_are_those_of_the_gets(Job& j) {
  put_all(j, 0.5);
  const StoreStats before = j.store->monitor().stats();
  std::int64_t remote = 0;
  for (int i = 0; i < n_ahead; ++i) {
    const Prefetch p = ahead(j, i);
    EXPECT(p == Prefetch::started || p == Prefetch::here);
    EXPECT(ahead(j, i) == (p == Prefetch::here ? p : Prefetch::held));
    EXPECT(!j.store->fetch().held(ArrayId(0), ahead_at(i)));  // nothing has happened, as far as the program can tell
    remote += p == Prefetch::started ? 1 : 0;
  }
  EXPECT(remote == 0 || j.transport.node_count() > 1);
  EXPECT(j.store->monitor().stats().prefetches - before.prefetches == remote);
  for (int i = 0; i < n_ahead; ++i) {
    j.get(ArrayId(0), ahead_at(i), 50);
    EXPECT(ahead(j, i) != Prefetch::started);
    EXPECT(j.read(ArrayId(0), ahead_at(i), 50) == fifty(i + 0.5));
  }
  const StoreStats after = j.store->monitor().stats();
  EXPECT(after.prefetches_useful + after.prefetches_late - before.prefetches_useful - before.prefetches_late == remote);
  EXPECT(after.accesses - before.accesses == n_ahead);
  expect_balance(j, before);
}

void unused_prefetches_go_at_the_barrier(Job& j) {
  put_all(j, 0);
  const StoreStats before = j.store->monitor().stats();
  std::int64_t started = 0;
  for (int i = 0; i < n_ahead; ++i) started += ahead(j, i) == Prefetch::started ? 1 : 0;
  j.barrier();
  EXPECT(j.store->monitor().stats().prefetches_useless - before.prefetches_useless == started);
  expect_balance(j, before);
  put_all(j, 100);
  for (int i = 0; i < n_ahead; ++i) {
    j.get(ArrayId(0), ahead_at(i), 50);
    EXPECT(j.read(ArrayId(0), ahead_at(i), 50) == fifty(i + 100));
  }
}

void own_puts_make_prefetches_stale(Job& j) {
  put_all(j, 0);
  const StoreStats before = j.store->monitor().stats();
  for (int i = 0; i < n_ahead; ++i) ahead(j, i);
  for (int i = j.rank; i < n_ahead; i += j.ranks) {
    if (i % 3 == 0) j.put(ArrayId(0), ahead_at(i), fifty(-i));
    else if (i % 3 == 1) j.accumulate(ArrayId(0), ahead_at(i), fifty(1));
    else j.store->update().scale(ArrayId(0), ahead_at(i), 50, 2, j.next());
    EXPECT(ahead(j, i) != Prefetch::started);
    j.get(ArrayId(0), ahead_at(i), 50);
    EXPECT(j.read(ArrayId(0), ahead_at(i), 50) == fifty(i % 3 == 0 ? -i : i % 3 == 1 ? i + 1 : 2 * i));
  }
  j.barrier();
  expect_balance(j, before);
}

// A prefetch may find nothing because it came too early; what the get finds counts.
void absent_answers_are_forgotten(Job& j) {
  put_all(j, 0);
  const StoreStats before = j.store->monitor().stats();
  const int mine = 1000 + j.rank;
  ahead(j, mine);
  ahead(j, 2000);
  j.meet();
  j.put(ArrayId(0), ahead_at(mine), fifty(3));
  j.get(ArrayId(0), ahead_at(mine), 50);
  EXPECT(j.read(ArrayId(0), ahead_at(mine), 50) == fifty(3));
  j.get(ArrayId(0), ahead_at(2000), 50);
  bool refused = false;
  try {
    j.read(ArrayId(0), ahead_at(2000), 50);
  } catch (const EnvironmentError&) { throw; } catch (const SialError& e) {
    refused = std::string(e.what()).find("does not exist") != std::string::npos;
  }
  EXPECT(refused);
  j.barrier();
  expect_balance(j, before);
}

void private_copies_come_before_prefetches(Job& j) {
  put_all(j, 0);
  for (int i = 0; i < n_ahead; ++i) {
    ahead(j, i);
    double* p = j.store->fetch().private_copy(ArrayId(0), ahead_at(i), 50, false, j.next());
    std::fill_n(p, 50, 9.0);
    EXPECT(ahead(j, i) != Prefetch::started);
    EXPECT(j.read(ArrayId(0), ahead_at(i), 50) == fifty(9));
  }
}

void deleted_arrays_take_their_prefetches_along(Job& j) {
  put_all(j, 0);
  for (int i = 0; i < n_ahead; ++i) ahead(j, i);
  j.store->synchronization().erase(ArrayId(0), j.next());
  for (int i = 0; i < n_ahead; ++i) EXPECT(ahead(j, i) != Prefetch::held);
  j.barrier();
  EXPECT(j.everything_freed());
  j.meet();
  put_all(j, 7);
  j.get(ArrayId(0), ahead_at(0), 50);
  EXPECT(j.read(ArrayId(0), ahead_at(0), 50) == fifty(7));
}

// One rank looks at what another one changes: no business of the phase rule, whatever the option.
void prefetches_break_no_rule(Job& j) {
  put_all(j, 0);
  if (j.rank == 0)
    for (int i = 0; i < n_ahead; ++i) ahead(j, i);
  j.meet();
  if (j.rank == j.ranks - 1)
    for (int i = 0; i < n_ahead; ++i) j.put(ArrayId(0), ahead_at(i), fifty(5));
  j.barrier();
  j.get(ArrayId(0), ahead_at(3), 50);
  EXPECT(j.read(ArrayId(0), ahead_at(3), 50) == fifty(5));
}

/// Waits for what is on its way.
const double* foreseen(Job& j, int i, std::int64_t size = 50) {
  for (;; j.transport.pause()) {
    const BlockLookAhead::Foreseen f = j.store->look_ahead().foreseen(ArrayId(0), ahead_at(i), size, false);
    EXPECT(!f.data || !f.under_way);
    if (!f.under_way) return f.data;
  }
}
void give_back(Job& j, const double* p) { j.store->buffers().deallocate(const_cast<double*>(p), 50); }

// Where the get has no copy to make it gives the very memory that was foreseen.
void foreseen_values_are_those_of_the_gets(Job& j) {
  put_all(j, 0.5);
  const StoreStats before = j.store->monitor().stats();
  std::int64_t remote = 0;
  for (int i = 0; i < n_ahead; ++i) {
    const bool here = ahead(j, i) == Prefetch::here;
    remote += here ? 0 : 1;
    const BlockLookAhead::Foreseen at_once = j.store->look_ahead().foreseen(ArrayId(0), ahead_at(i), 50, true);
    EXPECT(here || (!at_once.data && at_once.under_way));  // nobody looks whether it has come
    if (at_once.data) {
      EXPECT(Values(at_once.data, at_once.data + 50) == fifty(i + 0.5));
      give_back(j, at_once.data);
    }
    EXPECT(!foreseen(j, i, 49));
    const double* p = foreseen(j, i);
    EXPECT(p || here);
    EXPECT(!j.store->fetch().held(ArrayId(0), ahead_at(i)));
    if (p) EXPECT(Values(p, p + 50) == fifty(i + 0.5));
    const Place place = j.next();
    j.store->fetch().get(ArrayId(0), ahead_at(i), 50, place);
    EXPECT(j.read(ArrayId(0), ahead_at(i), 50) == fifty(i + 0.5));
    EXPECT(j.store->fetch().got_at(ArrayId(0), ahead_at(i)) == place);
    if (!p) continue;
    EXPECT(j.store->fetch().read(ArrayId(0), ahead_at(i), 50, j.next()) == p);
    give_back(j, p);
    const double* again = foreseen(j, i);
    EXPECT(again == p);
    give_back(j, again);
  }
  EXPECT(j.store->monitor().stats().gets - before.gets == n_ahead);
  EXPECT(j.store->monitor().stats().prefetches_useful - before.prefetches_useful == remote);
  expect_balance(j, before);
  j.store->fetch().private_copy(ArrayId(0), ahead_at(0), 50, true, j.next());
  EXPECT(!foreseen(j, 0));
  EXPECT(j.store->fetch().got_at(ArrayId(0), ahead_at(0)).pc < 0);
  EXPECT(!foreseen(j, 3000));
  EXPECT(j.store->fetch().got_at(ArrayId(0), ahead_at(3000)).pc < 0);
}

// What a rank holds as foreseen is not changed under it; what it will get is another value then.
void foreseen_values_stay_what_they_are(Job& j) {
  put_all(j, 0);
  std::vector<const double*> held;
  for (int i = 0; i < n_ahead; ++i) held.push_back(foreseen(j, i));  // of this node
  j.barrier();
  for (int i = j.rank; i < n_ahead; i += j.ranks) {
    if (i % 2 == 0) j.accumulate(ArrayId(0), ahead_at(i), fifty(1));
    else j.put(ArrayId(0), ahead_at(i), fifty(i + 1));
    if (const double* p = foreseen(j, i)) {
      EXPECT(Values(p, p + 50) == fifty(i + 1));
      EXPECT(p != held[static_cast<std::size_t>(i)]);
      give_back(j, p);
    }
  }
  j.barrier();
  for (int i = 0; i < n_ahead; ++i) {
    if (const double* p = held[static_cast<std::size_t>(i)]) {
      EXPECT(Values(p, p + 50) == fifty(i));
      give_back(j, p);
    }
    j.get(ArrayId(0), ahead_at(i), 50);
    EXPECT(j.read(ArrayId(0), ahead_at(i), 50) == fifty(i + 1));
  }
}

}  // namespace

const std::vector<Rule>& prefetch_rules() {
  static const std::vector<Rule> all = {
      {"prefetched blocks are those of the gets", prefetched_blocks_are_those_of_the_gets},
      {"unused prefetches go at the barrier", unused_prefetches_go_at_the_barrier},
      {"own puts make prefetches stale", own_puts_make_prefetches_stale},
      {"absent answers are forgotten", absent_answers_are_forgotten},
      {"private copies come before prefetches", private_copies_come_before_prefetches},
      {"deleted arrays take their prefetches along", deleted_arrays_take_their_prefetches_along},
      {"prefetches break no rule", prefetches_break_no_rule},
      {"foreseen values are those of the gets", foreseen_values_are_those_of_the_gets},
      {"foreseen values stay what they are", foreseen_values_stay_what_they_are},
  };
  return all;
}

}  // namespace sial::suite
