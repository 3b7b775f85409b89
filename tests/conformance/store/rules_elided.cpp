// One rule each of what plans may use instead of plain gets and puts: sums sent later, copies that outlive a barrier,
// shared blocks.
#include <algorithm>

#include "suite.h"

namespace sial::suite {

namespace {

// Home or not, alone or not: what a rank adds later arrives, and before anything else that it does to the block.
void later_additions_arrive(Job& j) {
  for (int round = 0; round < 4; ++round)
    for (int i = 0; i < 10; ++i) j.accumulate_later(ArrayId(0), at(i), of(j.rank + i));
  j.barrier();
  for (int i = 0; i < 10; ++i) {
    j.get(ArrayId(0), at(i), 20);
    EXPECT(j.read(ArrayId(0), at(i), 20) == of(4 * (j.ranks * (j.ranks - 1) / 2 + i * j.ranks)));
  }
}

void later_additions_come_before_what_follows(Job& j) {
  // Several blocks: some lie elsewhere.
  for (int i = 0; i < 6; ++i) {
    const BlockIndex b = at(i, j.rank);
    const auto twice = [&](double x) {
      j.accumulate_later(ArrayId(0), b, of(x));
      j.accumulate_later(ArrayId(0), b, of(x));
    };
    twice(1);
    j.get(ArrayId(0), b, 20);
    EXPECT(j.read(ArrayId(0), b, 20) == of(2));
    twice(2);
    EXPECT(j.read(ArrayId(0), b, 20) == of(2));  // as it was got
    j.get(ArrayId(0), b, 20);
    EXPECT(j.read(ArrayId(0), b, 20) == of(6));
    j.store->update().scale(ArrayId(0), b, 20, 2, j.next());
    twice(1);
    j.store->update().increment(ArrayId(0), b, 20, 1, j.next());
    j.get(ArrayId(0), b, 20);
    EXPECT(j.read(ArrayId(0), b, 20) == of(15));
    twice(7);
    j.put(ArrayId(0), b, of(3));
    twice(1);
    j.accumulate(ArrayId(0), b, of(1));
    j.get(ArrayId(0), b, 20);
    EXPECT(j.read(ArrayId(0), b, 20) == of(6));
    twice(100);
    j.store->update().fill(ArrayId(0), b, 20, 4, j.next());
    twice(1);
    *j.store->fetch().private_copy(ArrayId(0), b, 20, false, j.next()) = 50;
  }
  j.barrier();
  for (int r = 0; r < j.ranks; ++r)
    for (int i = 0; i < 6; ++i) {
      j.get(ArrayId(0), at(i, r), 20);
      EXPECT(j.read(ArrayId(0), at(i, r), 20) == of(6));
    }
}

void later_additions_to_a_deleted_array_go_with_it(Job& j) {
  for (int i = 0; i < 6; ++i) j.accumulate_later(ArrayId(0), at(i), of(1));
  j.store->synchronization().erase(ArrayId(0), {j.program, 60});
  for (int i = 0; i < 6; ++i) j.accumulate_later(ArrayId(0), at(i), of(2));
  j.barrier();
  for (int i = 0; i < 6; ++i) {
    j.get(ArrayId(0), at(i), 20);
    EXPECT(j.read(ArrayId(0), at(i), 20) == of(2 * j.ranks));
  }
}

// More than a rank may hold back, and more than there is room for beside the array itself.
/// The next get leaves a private change of the block alone, although the one before has sent what was held back.
void a_get_behind_later_additions_counts(Job& j) {
  for (int i = j.rank; i < 8; i += j.ranks) j.put(ArrayId(0), at(i), of(i));
  j.barrier();
  for (int i = j.rank; i < 8; i += j.ranks) {
    j.accumulate_later(ArrayId(0), at(i), of(10));
    j.get(ArrayId(0), at(i), 20);
    EXPECT(j.read(ArrayId(0), at(i), 20) == of(i + 10));
    double* own = j.store->fetch().private_copy(ArrayId(0), at(i), 20, false, j.next());
    std::fill_n(own, 20, 77.0);
    j.get(ArrayId(0), at(i), 20);
    EXPECT(j.read(ArrayId(0), at(i), 20) == of(77));
  }
  j.barrier();
}

void many_later_additions_keep_to_their_share(Job& j) {
  constexpr int n = 30;
  for (int round = 0; round < 3; ++round)
    for (int i = 0; i < n; ++i) j.accumulate_later(ArrayId(1), at(i, j.rank), Values(3000, i));
  j.store->update().relieve_sums();
  j.barrier();
  for (int i = 0; i < n; ++i) {
    j.get(ArrayId(1), at(i, j.rank), 3000);
    EXPECT(j.read(ArrayId(1), at(i, j.rank), 3000) == Values(3000, 3 * i));
  }
}

void retained_copies_need_a_get(Job& j) {
  for (int i = j.rank; i < 12; i += j.ranks) j.put(ArrayId(0), at(i), of(i));
  j.barrier();
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 12; ++i) {
      EXPECT(!j.store->fetch().held(ArrayId(0), at(i)));
      EXPECT(refused([&] { j.read(ArrayId(0), at(i), 20); }));
      j.get(ArrayId(0), at(i), 20);
      EXPECT(j.read(ArrayId(0), at(i), 20) == of(i));
    }
    j.get(ArrayId(0), at(99), 20);  // absent, now and later
    EXPECT(refused([&] { j.read(ArrayId(0), at(99), 20); }));
    j.store->synchronization().keep_copies(ArrayId(0), KeepCopies::unchanged);
    j.barrier();
  }
  // All came once, but for what lies on this node and needs no copy.
  const std::int64_t received = j.store->monitor().stats().bytes_received;
  for (int i = 0; i < 12; ++i) j.get(ArrayId(0), at(i), 20);
  for (int i = 0; i < 12; ++i) EXPECT(j.read(ArrayId(0), at(i), 20) == of(i));
  EXPECT(j.store->monitor().stats().bytes_received == received);
  j.barrier();  // not kept over this one
  for (int i = j.rank; i < 12; i += j.ranks) j.put(ArrayId(0), at(i), of(-i));
  j.barrier();
  for (int i = 0; i < 12; ++i) {
    j.get(ArrayId(0), at(i), 20);
    EXPECT(j.read(ArrayId(0), at(i), 20) == of(-i));
  }
}

void retained_copies_yield_to_changes(Job& j) {
  for (int i = 0; i < 8; ++i) j.put(ArrayId(0), at(i, j.rank), of(i));
  j.barrier();
  for (int r = 0; r < j.ranks; ++r)
    for (int i = 0; i < 8; ++i) j.get(ArrayId(0), at(i, r), 20);
  j.store->synchronization().keep_copies(ArrayId(0), KeepCopies::unchanged);
  j.barrier();
  // The rank's own change shows in its next get, also when the copy is of before.
  j.put(ArrayId(0), at(0, j.rank), of(10));
  j.accumulate_later(ArrayId(0), at(1, j.rank), of(10));
  j.store->update().scale(ArrayId(0), at(2, j.rank), 20, 10, j.next());
  double* own = j.store->fetch().private_copy(ArrayId(0), at(3, j.rank), 20, false, j.next());
  std::fill_n(own, 20, 77.0);
  for (int i = 0; i < 4; ++i) j.get(ArrayId(0), at(i, j.rank), 20);
  const double expected[4] = {10, 11, 20, 77};
  for (int i = 0; i < 4; ++i) EXPECT(j.read(ArrayId(0), at(i, j.rank), 20) == of(expected[i]));
  j.barrier();
  for (int r = 0; r < j.ranks; ++r)
    for (int i = 0; i < 4; ++i) {
      j.get(ArrayId(0), at(i, r), 20);
      EXPECT(j.read(ArrayId(0), at(i, r), 20) == of(i == 3 ? 3 : expected[i]));
    }
  j.store->synchronization().keep_copies(ArrayId(0), KeepCopies::unchanged);
  j.store->synchronization().erase(ArrayId(0), {j.program, 60});
  j.barrier();
  j.get(ArrayId(0), at(5, j.rank), 20);
  EXPECT(refused([&] { j.read(ArrayId(0), at(5, j.rank), 20); }));
}

/// Stands for a block of a device: values in memory of their own, which is poisoned when nobody needs it any more.
class Elsewhere final : public OutgoingBlock {
 public:
  struct Count {
    int alive = 0, in_place = 0, copied = 0;
  };
  Elsewhere(Count& count, const Values& values, bool straight) : count_(count), values_(values), straight_(straight) {
    ++count_.alive;
  }
  ~Elsewhere() override {
    std::fill(values_.begin(), values_.end(), -99.0);
    --count_.alive;
  }
  const double* in_place() override { return straight_ ? (++count_.in_place, values_.data()) : nullptr; }
  void copy_to(double* to) override {
    ++count_.copied;
    to_ = to;
  }
  std::size_t ready() override {
    if (!to_) return ++asked_ > 2 ? values_.size() * 8 : 0;  // as long as it is computed
    if (++asked_ % 2) come();
    return there_ * 8;
  }
  void complete() override {
    while (to_ && there_ < values_.size()) come();
  }
  std::size_t piece() const override { return to_ ? 3 * 8 : values_.size() * 8; }

 private:
  void come() {
    for (std::size_t n = std::min<std::size_t>(3, values_.size() - there_); n > 0; --n, ++there_)
      to_[there_] = values_[there_];
  }
  Count& count_;
  Values values_;
  const bool straight_;
  double* to_ = nullptr;
  std::size_t there_ = 0;
  int asked_ = 0;
};

// They arrive, in order with all else that this rank does to the block, and are dropped by the barrier.
void values_from_elsewhere_arrive(Job& j) {
  Elsewhere::Count count;
  for (const bool straight : {true, false}) {
    const auto send = [&](bool add, int i, double x) {
      if (!j.store->update().leaves_node(ArrayId(0), at(i, j.rank))) {
        add ? j.accumulate(ArrayId(0), at(i, j.rank), of(x)) : j.put(ArrayId(0), at(i, j.rank), of(x));
        return;
      }
      const auto before = count;
      const std::int64_t puts = j.store->monitor().stats().puts, additions = j.store->monitor().stats().accumulates;
      j.store->update().put_from(std::make_unique<Elsewhere>(count, of(x), straight), add, ArrayId(0), at(i, j.rank),
                                 20, j.next());
      EXPECT(count.in_place == before.in_place + straight && count.copied == before.copied + !straight);
      EXPECT(j.store->monitor().stats().puts == puts + !add &&
             j.store->monitor().stats().accumulates == additions + add);
    };
    for (int i = 0; i < 10; ++i) {
      send(false, i, 5.0 + i);
      if (i % 3 == 0) send(false, i, 1.0 + i);  // replaces it
      if (i % 3 == 1) send(true, i, 2.0), send(true, i, 3.0);
      if (i % 3 == 2)
        j.accumulate_later(ArrayId(0), at(i, j.rank), of(4.0)), send(true, i, 1.0),
            j.store->update().scale(ArrayId(0), at(i, j.rank), 20, 2.0, j.next());
    }
    send(true, 20, 7.0);                   // makes the block
    j.get(ArrayId(0), at(4, j.rank), 20);  // sees what was sent before it
    EXPECT(j.read(ArrayId(0), at(4, j.rank), 20) == of(14.0));
    j.barrier();
    EXPECT(count.alive == 0);
    for (int r = 0; r < j.ranks; ++r) {
      for (int i = 0; i < 10; ++i) {
        j.get(ArrayId(0), at(i, r), 20);
        EXPECT(j.read(ArrayId(0), at(i, r), 20) == of(i % 3 == 0 ? 1.0 + i : i % 3 == 1 ? 10.0 + i : 2.0 * (10.0 + i)));
      }
      j.get(ArrayId(0), at(20, r), 20);
      EXPECT(j.read(ArrayId(0), at(20, r), 20) == of(7.0));
    }
    j.store->synchronization().erase(ArrayId(0), {j.program, 60});
    j.barrier();
  }
  if (j.transport.node_count() == 1) EXPECT(count.in_place + count.copied == 0);
}

// What the plan wants kept over the barrier goes by the host, and is there in the next phase without a message.
void values_from_elsewhere_are_kept(Job& j) {
  Elsewhere::Count count;
  for (const int round : {1, 2}) {
    int sent = 0;
    for (int i = 0; i < 6; ++i) {
      if (j.store->update().leaves_node(ArrayId(0), at(i, j.rank))) {
        j.store->update().put_from(std::make_unique<Elsewhere>(count, of(round * i), true), false, ArrayId(0),
                                   at(i, j.rank), 20, j.next());
        ++sent;
      } else {
        j.put(ArrayId(0), at(i, j.rank), of(round * i));
      }
    }
    EXPECT((round == 1 ? count.in_place : count.copied) ==
           sent);  // from the first barrier on it is known that they are wanted
    j.store->synchronization().keep_copies(ArrayId(0), KeepCopies::used);
    j.barrier();
    const std::int64_t received = j.store->monitor().stats().bytes_received;
    for (int i = 0; i < 6; ++i) {
      j.get(ArrayId(0), at(i, j.rank), 20);
      EXPECT(j.read(ArrayId(0), at(i, j.rank), 20) == of(round * i));
    }
    if (round == 2) EXPECT(j.store->monitor().stats().bytes_received == received);
    j.barrier();
  }
  if (j.store->update().leaves_node(ArrayId(0), at(0, j.rank))) {
    j.store->update().put_from(std::make_unique<Elsewhere>(count, of(1), true), true, ArrayId(0), at(0, j.rank), 20,
                               j.next());
    j.store->update().drop_outgoing();  // as an error does; waits for the answer
    EXPECT(count.alive == 0);
  }
  j.barrier();
}

// What a rank got or put itself it has in the next phase, whatever happened to other blocks of the array.
void used_copies_outlive_changes_of_others(Job& j) {
  for (const int round : {1, 2, 3}) {
    for (int i = 0; i < 12; ++i) j.put(ArrayId(0), at(i, j.rank), of(round * i));
    j.store->synchronization().keep_copies(ArrayId(0), KeepCopies::used);
    j.barrier();
    const std::int64_t received = j.store->monitor().stats().bytes_received;
    for (int i = 0; i < 12; ++i) {
      EXPECT(!j.store->fetch().held(ArrayId(0), at(i, j.rank)));
      EXPECT(refused([&] { j.read(ArrayId(0), at(i, j.rank), 20); }));
      j.get(ArrayId(0), at(i, j.rank), 20);
      EXPECT(j.read(ArrayId(0), at(i, j.rank), 20) == of(round * i));
    }
    if (round > 1)
      EXPECT(j.store->monitor().stats().bytes_received ==
             received);  // from the first barrier on it is known that they are wanted
    j.store->synchronization().keep_copies(ArrayId(0), KeepCopies::used);
    j.barrier();
    // Read by nobody in this phase, so nothing is known of them behind it; one is added to by others.
    for (int r = 0; r < j.ranks; ++r) j.accumulate(ArrayId(0), at(1, r), of(1));
    j.store->synchronization().keep_copies(ArrayId(0), KeepCopies::used);
    j.barrier();
    j.get(ArrayId(0), at(1, j.rank), 20);
    EXPECT(j.read(ArrayId(0), at(1, j.rank), 20) == of(round + j.ranks));
    j.barrier();
  }
}

// A rank's put, then an addition of its own: what it has put is not the block any more.
void what_a_rank_changes_again_is_not_kept(Job& j) {
  for (const int round : {1, 2}) {
    for (int i = 0; i < 12; ++i) j.put(ArrayId(0), at(i, j.rank), of(i));
    for (int i = 0; i < 3; ++i) j.accumulate(ArrayId(0), at(i, j.rank), of(round));
    for (int i = 3; i < 6; ++i) j.accumulate_later(ArrayId(0), at(i, j.rank), of(round));
    for (int i = 6; i < 8; ++i) j.store->update().scale(ArrayId(0), at(i, j.rank), 20, round + 1, j.next());
    j.put(ArrayId(0), at(8, j.rank), of(100));
    j.get(ArrayId(0), at(9, j.rank), 20);
    j.put(ArrayId(0), at(9, j.rank), of(200));
    EXPECT(j.read(ArrayId(0), at(9, j.rank), 20) == of(9));  // as it was got
    std::fill_n(j.store->fetch().private_copy(ArrayId(0), at(10, j.rank), 20, false, j.next()), 20, 5.0);
    j.store->synchronization().keep_copies(ArrayId(0), round == 1 ? KeepCopies::used : KeepCopies::compared);
    j.barrier();
    for (int i = 0; i < 12; ++i) j.get(ArrayId(0), at(i, j.rank), 20);
    for (int i = 0; i < 12; ++i) {
      const double expected = i < 6 ? i + round : i < 8 ? i * (round + 1) : i == 8 ? 100 : i == 9 ? 200 : i;
      EXPECT(j.read(ArrayId(0), at(i, j.rank), 20) == of(expected));
    }
    j.store->synchronization().keep_copies(ArrayId(0), KeepCopies::used);
    j.barrier();
  }
}

// Copies that others may have changed are asked for, and sent only if so; foreseen or not.
void compared_copies_are_sent_when_they_have_changed(Job& j) {
  for (int i = j.rank; i < 24; i += j.ranks) j.put(ArrayId(0), at(i), of(i));
  j.barrier();
  for (int i = 0; i < 24; ++i) j.get(ArrayId(0), at(i), 20);
  for (int i = 0; i < 24; ++i) EXPECT(j.read(ArrayId(0), at(i), 20) == of(i));
  j.store->synchronization().keep_copies(ArrayId(0), KeepCopies::compared);
  j.barrier();
  for (int i = j.rank; i < 12; i += j.ranks) {
    if (i % 4 == 0) j.put(ArrayId(0), at(i), of(-i));
    if (i % 4 == 1) j.accumulate(ArrayId(0), at(i), of(-2 * i));
    if (i % 4 == 2) j.store->update().scale(ArrayId(0), at(i), 20, -1, j.next());
    if (i % 4 == 3) j.store->update().fill(ArrayId(0), at(i), 20, -i, j.next());
  }
  j.store->synchronization().keep_copies(ArrayId(0), KeepCopies::compared);
  j.barrier();
  const StoreStats before = j.store->monitor().stats();
  for (int i = 12; i < 24; ++i) {
    if (i % 2) j.store->look_ahead().prefetch(ArrayId(0), at(i), 20, j.next());
    j.get(ArrayId(0), at(i), 20);
    EXPECT(j.read(ArrayId(0), at(i), 20) == of(i));
  }
  EXPECT(j.store->monitor().stats().bytes_received - before.bytes_received == 0);
  for (int i = 0; i < 12; ++i) {
    if (i % 2) j.store->look_ahead().prefetch(ArrayId(0), at(i), 20, j.next());
    j.get(ArrayId(0), at(i), 20);
    EXPECT(j.read(ArrayId(0), at(i), 20) == of(-i));
  }
  // Foreseen and not got; then put.
  j.store->synchronization().keep_copies(ArrayId(0), KeepCopies::compared);
  j.barrier();
  j.store->synchronization().keep_copies(ArrayId(0), KeepCopies::compared);
  j.barrier();
  for (int i = 0; i < 24; ++i) j.store->look_ahead().prefetch(ArrayId(0), at(i), 20, j.next());
  for (int i = j.rank; i < 24; i += j.ranks) j.put(ArrayId(0), at(i), of(50 + i));
  for (int i = j.rank; i < 24; i += j.ranks) j.get(ArrayId(0), at(i), 20);
  for (int i = j.rank; i < 24; i += j.ranks) EXPECT(j.read(ArrayId(0), at(i), 20) == of(50 + i));
  j.barrier();
}

void shared_blocks_part_when_one_changes(Job& j) {
  for (int i = 0; i < 12; ++i) j.put(ArrayId(0), at(i, j.rank), of(i));
  j.barrier();
  for (int i = 0; i < 12; ++i) {
    j.get(ArrayId(0), at(i, j.rank), 20);
    const Values v = j.read(ArrayId(0), at(i, j.rank), 20);
    if (!j.store->update().put_held(ArrayId(1), at(i, j.rank), 20, ArrayId(0), at(i, j.rank), j.next()))
      j.put(ArrayId(1), at(i, j.rank), v);
  }
  if (j.transport.node_count() == 1 && j.store->monitor().stats().bytes_leased > 0)
    EXPECT(j.store->monitor().stats().shared_puts >= 12);
  j.barrier();
  for (int i = 0; i < 6; ++i) {
    j.accumulate(ArrayId(0), at(i, j.rank), of(100));
    j.store->update().scale(ArrayId(1), at(i + 6, j.rank), 20, 2, j.next());
  }
  j.barrier();
  for (int r = 0; r < j.ranks; ++r)
    for (int i = 0; i < 12; ++i) {
      j.get(ArrayId(0), at(i, r), 20);
      j.get(ArrayId(1), at(i, r), 20);
      EXPECT(j.read(ArrayId(0), at(i, r), 20) == of(i < 6 ? i + 100 : i));
      EXPECT(j.read(ArrayId(1), at(i, r), 20) == of(i < 6 ? i : 2 * i));
    }
}

void what_is_not_held_as_it_is_is_not_shared(Job& j) {
  j.put(ArrayId(0), at(1, j.rank), of(1));
  j.barrier();
  EXPECT(!j.store->update().put_held(ArrayId(1), at(1, j.rank), 20, ArrayId(0), at(1, j.rank), j.next()));  // not got
  j.get(ArrayId(0), at(1, j.rank), 20);
  std::fill_n(j.store->fetch().private_copy(ArrayId(0), at(1, j.rank), 20, true, j.next()), 20, 5.0);
  EXPECT(!j.store->update().put_held(ArrayId(1), at(1, j.rank), 20, ArrayId(0), at(1, j.rank),
                                     j.next()));  // a private copy
}

}  // namespace

const std::vector<Rule>& rules_of_elision() {
  static const std::vector<Rule> all = {
      {"later additions arrive", later_additions_arrive},
      {"later additions come before what follows", later_additions_come_before_what_follows},
      {"later additions to a deleted array go with it", later_additions_to_a_deleted_array_go_with_it},
      {"a get behind later additions counts", a_get_behind_later_additions_counts},
      {"many later additions keep to their share", many_later_additions_keep_to_their_share},
      {"retained copies need a get", retained_copies_need_a_get},
      {"retained copies yield to changes", retained_copies_yield_to_changes},
      {"values from elsewhere arrive", values_from_elsewhere_arrive},
      {"values from elsewhere are kept", values_from_elsewhere_are_kept},
      {"used copies outlive changes of others", used_copies_outlive_changes_of_others},
      {"what a rank changes again is not kept", what_a_rank_changes_again_is_not_kept},
      {"compared copies are sent when they have changed", compared_copies_are_sent_when_they_have_changed},
      {"shared blocks part when one changes", shared_blocks_part_when_one_changes},
      {"what is not held as it is is not shared", what_is_not_held_as_it_is_is_not_shared},
  };
  return all;
}

}  // namespace sial::suite
