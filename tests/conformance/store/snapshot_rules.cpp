// What outlives a program, or is copied while it runs: saved arrays, held blocks.
#include <algorithm>
#include <thread>

#include "suite.h"

namespace sial::suite {

namespace {

void labels_outlive_programs(Job& j) {
  for (int i = j.rank; i < 20; i += j.ranks) j.put(ArrayId(0), at(i), of(i));
  j.barrier();
  j.store->snapshots().save_at_end(ArrayId(0), "kept", {j.program, 10});
  j.store->synchronization().end_program({j.program, 11});
  for (int p = 1; p <= 2; ++p) {
    j.begin(j.program + 1);
    EXPECT(j.store->snapshots().has_label("kept"));
    j.store->snapshots().restore(ArrayId(1), "kept", {j.program, 12});
    j.barrier();
    for (int i = 0; i < 20; ++i) {
      j.get(ArrayId(1), at(i), 20);
      EXPECT(j.read(ArrayId(1), at(i), 20) == of(i));
    }
    j.barrier();
    for (int i = 0; i < 20; ++i) j.accumulate(ArrayId(1), at(i), of(1));
    j.barrier();
    for (int i = 0; i < 20; ++i) {
      j.get(ArrayId(1), at(i), 20);
      EXPECT(j.read(ArrayId(1), at(i), 20) == of(i + j.ranks));
    }
    j.store->synchronization().end_program({j.program, 13});
  }
  j.begin(j.program + 1);
  j.store->snapshots().drop_labels_except({});
  j.meet();
  EXPECT(j.everything_freed());
}

void labels_loaded_by_one_are_known_to_all(Job& j) {
  if (j.rank == j.ranks - 1)
    for (int i = 0; i < 15; ++i) j.store->snapshots().load_saved_block("file", at(i), of(i));
  j.barrier();
  EXPECT(j.store->snapshots().has_label("file"));
  const double listed = j.transport.sum(static_cast<double>(j.store->snapshots().saved_blocks("file").size()),
                                        {CollectiveKind::sum, {j.program, 20}});
  EXPECT(listed == 15);
  EXPECT(j.store->snapshots().saved_block("file", at(3)) == of(3));
  j.store->snapshots().restore(ArrayId(2), "file", {j.program, 21});
  j.barrier();
  for (int i = 0; i < 15; ++i) {
    j.get(ArrayId(2), at(i), 20);
    EXPECT(j.read(ArrayId(2), at(i), 20) == of(i));
  }
  j.barrier();
  j.store->snapshots().drop_labels_except({});
}

void restore_replaces_and_moves(Job& j) {
  if (j.rank == 0) j.store->snapshots().load_saved_block("one", at(1), of(1));
  j.barrier();
  if (j.rank == j.ranks - 1) j.put(ArrayId(0), at(2), of(2));
  j.barrier();
  j.store->snapshots().restore(ArrayId(0), "one", {j.program, 30});
  j.store->snapshots().restore(ArrayId(1), "one", {j.program, 31});
  j.barrier();
  j.get(ArrayId(0), at(2), 20);
  EXPECT(refused([&] { j.read(ArrayId(0), at(2), 20); }));
  for (int a = 0; a < 2; ++a) {
    j.get(ArrayId(a), at(1), 20);
    EXPECT(j.read(ArrayId(a), at(1), 20) == of(1));
  }
  j.barrier();
  if (j.rank == 0) j.store->update().scale(ArrayId(0), at(1), 20, 9, j.next());
  j.barrier();
  for (int a = 0; a < 2; ++a) {
    j.get(ArrayId(a), at(1), 20);
    EXPECT(j.read(ArrayId(a), at(1), 20) == of(a == 0 ? 9 : 1));
  }
  j.store->snapshots().drop_labels_except({});
}

void arrays_are_copied_out_and_in(Job& j) {
  for (int i = j.rank; i < 15; i += j.ranks) j.put(ArrayId(0), at(i), of(i));
  j.barrier();
  // Each block is listed by one rank, which passes it to the next array.
  const std::vector<BlockIndex> mine = j.store->snapshots().array_blocks(ArrayId(0));
  EXPECT(j.transport.sum(static_cast<double>(mine.size()), {CollectiveKind::sum, {j.program, 20}}) == 15);
  for (const BlockIndex& block : mine)
    j.store->snapshots().load_array_block(ArrayId(1), block,
                                          j.store->snapshots().array_block(ArrayId(0), block).value());
  EXPECT(j.store->snapshots().restored_from(ArrayId(1)).empty());
  EXPECT(!j.store->snapshots().is_as_restored(ArrayId(1), at(3)));
  j.barrier();
  for (int i = 0; i < 15; ++i) {
    j.get(ArrayId(1), at(i), 20);
    EXPECT(j.read(ArrayId(1), at(i), 20) == of(i));
  }
  j.barrier();
  j.store->synchronization().erase(ArrayId(0), j.next());
  j.barrier();
  EXPECT(j.store->snapshots().array_blocks(ArrayId(0)).empty());
  EXPECT(j.transport.sum(static_cast<double>(j.store->snapshots().array_blocks(ArrayId(1)).size()),
                         {CollectiveKind::sum, {j.program, 21}}) == 15);
}

/// A thread beside the rank reads what is held, and gives it up, while the ranks change the blocks.
void held_blocks_stay_as_they_are(Job& j) {
  constexpr int n = 24;
  for (int i = j.rank; i < n; i += j.ranks)
    for (int a = 0; a < 2; ++a) j.put(ArrayId(a), at(i), of(100 * a + i));
  j.barrier();
  std::vector<std::pair<double, LeasedValues>> held;
  for (int a = 0; a < 2; ++a)
    for (const BlockIndex& block : j.store->snapshots().array_blocks(ArrayId(a)))
      held.emplace_back(100 * a + block.segment[0], j.store->snapshots().hold_array_block(ArrayId(a), block).value());
  EXPECT(j.transport.sum(static_cast<double>(held.size()), {CollectiveKind::sum, {j.program, 20}}) == 2 * n);
  int wrong = 0;
  const auto give_up = [&] {
    for (auto& [x, h] : held) {
      wrong += std::count_if(h.values.begin(), h.values.end(), [x = x](double y) { return y != x; }) > 0;
      h = {};
    }
  };
  std::jthread writer;
  if (j.transport.has_real_time()) writer = std::jthread(give_up);
  const double number = 3;
  for (int i = j.rank; i < n; i += j.ranks) {
    BlockUpdate& update = j.store->update();
    switch (i % 5) {
      case 0: j.put(ArrayId(0), at(i), of(-i)); break;
      case 1: j.accumulate(ArrayId(0), at(i), of(1)); break;
      case 2: update.fill(ArrayId(0), at(i), 20, number, j.next()); break;
      case 3: update.increment(ArrayId(0), at(i), 20, number, j.next()); break;
      default: update.scale(ArrayId(0), at(i), 20, number, j.next());
    }
  }
  j.store->synchronization().erase(ArrayId(1), j.next());
  j.barrier();
  for (int i = j.rank; i < n; i += j.ranks) j.put(ArrayId(1), at(i), of(-1));
  j.barrier();
  for (int i = 0; i < n; ++i) {
    j.get(ArrayId(0), at(i), 20);
    const double now[] = {-1.0 * i, i + 1.0, number, i + number, i * number};
    EXPECT(j.read(ArrayId(0), at(i), 20) == of(now[i % 5]));
  }
  if (writer.joinable()) writer.join();
  else give_up();
  EXPECT(wrong == 0);
  j.barrier();
}

void restored_blocks_are_known(Job& j) {
  if (j.rank == 0)
    for (int i = 0; i < 10; ++i) j.store->snapshots().load_saved_block("label", at(i), of(i));
  j.barrier();
  j.store->snapshots().restore(ArrayId(0), "label", {j.program, 30});
  j.barrier();
  if (j.rank == j.ranks - 1) {
    j.put(ArrayId(0), at(3), of(-3));
    j.accumulate(ArrayId(0), at(4), of(1));
    j.put(ArrayId(0), at(12), of(12));
  }
  j.barrier();
  EXPECT(j.store->snapshots().restored_from(ArrayId(0)) == "label");
  for (const BlockIndex& block : j.store->snapshots().array_blocks(ArrayId(0)))
    EXPECT(j.store->snapshots().is_as_restored(ArrayId(0), block) ==
           (block != at(3) && block != at(4) && block != at(12)));
  j.barrier();
  j.store->synchronization().erase(ArrayId(0), j.next());
  j.barrier();
  EXPECT(j.store->snapshots().restored_from(ArrayId(0)).empty());
  j.store->snapshots().drop_labels_except({});
}

void a_label_may_be_empty(Job& j) {
  if (j.rank == j.ranks - 1) j.store->snapshots().load_label("empty");
  j.barrier();
  EXPECT(j.store->snapshots().has_label("empty"));
  EXPECT(j.store->snapshots().labels() == std::vector<std::string>{"empty"});
  EXPECT(j.store->snapshots().saved_blocks("empty").empty());
  j.store->snapshots().restore(ArrayId(0), "empty", {j.program, 30});
  j.barrier();
  EXPECT(j.store->snapshots().array_blocks(ArrayId(0)).empty());
  j.store->snapshots().drop_labels_except({});
}

}  // namespace

const std::vector<Rule>& snapshot_rules() {
  static const std::vector<Rule> all = {
      {"labels outlive programs", labels_outlive_programs},
      {"labels loaded by one are known to all", labels_loaded_by_one_are_known_to_all},
      {"restore replaces and moves", restore_replaces_and_moves},
      {"arrays are copied out and in", arrays_are_copied_out_and_in},
      {"held blocks stay as they are", held_blocks_stay_as_they_are},
      {"restored blocks are known", restored_blocks_are_known},
      {"a label may be empty", a_label_may_be_empty},
  };
  return all;
}

}  // namespace sial::suite
