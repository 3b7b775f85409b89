// Movement of small sequences, counted by hand.
#include "runtime/core/tier/replay/replay.h"

#include <catch2/catch.hpp>

#include "runtime/core/tier/replay/lower_bound.h"

using namespace sial;

namespace {

/// One array of blocks of 10 bytes; each access is a group of its own.
struct Blocks {
  AccessSequence sequence;
  explicit Blocks(int n, std::int64_t bytes = 10) {
    const std::uint32_t array = sequence.add_array("a");
    for (int b = 0; b < n; ++b) sequence.add_block(array, bytes);
  }
  void access(int block, AccessKind kind) {
    sequence.begin_group(0);
    sequence.access(static_cast<std::uint32_t>(block), kind, 0);
  }
  void sweep(int n, AccessKind kind) {
    for (int b = 0; b < n; ++b) access(b, kind);
  }
};

ReplayResult planned(const AccessSequence& s, std::int64_t capacity) { return replay(s, {.capacity = capacity}); }
ReplayResult recent(const AccessSequence& s, std::int64_t capacity) {
  return replay(s, {.capacity = capacity, .rule = SpillRule::least_recently_used});
}

}  // namespace

TEST_CASE("what fits does not move") {
  Blocks b(8);
  b.sweep(8, AccessKind::write);
  b.sweep(8, AccessKind::read);
  const ReplayResult r = planned(b.sequence, 80);
  CHECK(r.total.bytes() == 0);
  CHECK(r.max_resident == 80);
  CHECK(r.max_below == 0);
  CHECK(r.max_in_use[0].bytes == 10);
}

TEST_CASE("repeated sweeps with room for half of the blocks") {
  Blocks b(8);
  b.sweep(8, AccessKind::write);
  for (int k = 0; k < 3; ++k) b.sweep(8, AccessKind::read);
  // The first three stay and one place is passed on; a sweep reads five blocks, or four where the last one is still
  // there. Each block that leaves once is written once.
  const ReplayResult plan = planned(b.sequence, 40);
  const ReplayResult optimum = offline_optimum(b.sequence, 40);
  CHECK(recent(b.sequence, 40).total.bytes_read == 3 * 80);
  CHECK(recent(b.sequence, 40).total.bytes_written == 80);
  CHECK(plan.total.bytes_read < 3 * 60);
  CHECK(plan.total.bytes_read >= lower_bound(b.sequence, 40).bytes_read);
  CHECK(lower_bound(b.sequence, 40).bytes_written == 40);
  CHECK(optimum.total.bytes() <= plan.total.bytes());
  CHECK(plan.max_resident == 40);
}

TEST_CASE("what is written once and never read leaves once") {
  Blocks b(8);
  b.sweep(8, AccessKind::write);
  const ReplayResult plan = planned(b.sequence, 30);
  CHECK(plan.total.bytes_written == 50);
  CHECK(plan.total.bytes_read == 0);
  CHECK(plan.max_below == 50);
  CHECK(offline_optimum(b.sequence, 30).total.bytes() == 0);
  CHECK(lower_bound(b.sequence, 30).bytes() == 0);
}

TEST_CASE("what died is not written, and its place in the tier is free") {
  Blocks b(4);
  for (int k = 0; k < 5; ++k) {
    b.sweep(4, AccessKind::write);
    b.sweep(4, AccessKind::dies);
  }
  CHECK(planned(b.sequence, 40).total.bytes() == 0);
  const ReplayResult short_of_memory = planned(b.sequence, 30);
  CHECK(short_of_memory.total.bytes_written == 50);
  CHECK(short_of_memory.max_below == 10);
}

TEST_CASE("a fill needs no read, an update does") {
  Blocks b(2);
  b.access(0, AccessKind::write);
  b.access(1, AccessKind::write);
  b.access(0, AccessKind::write);
  b.access(1, AccessKind::update);
  const ReplayResult r = planned(b.sequence, 10);
  CHECK(r.total.reads == 1);
  CHECK(r.total.writes == 3);
  CHECK(offline_optimum(b.sequence, 10).total.writes == 1);
  CHECK(lower_bound(b.sequence, 10).bytes() == 20);
}

TEST_CASE("what frees its memory at the least cost leaves by weight") {
  Blocks b(3);
  b.sweep(2, AccessKind::write);
  b.access(2, AccessKind::write);
  for (int k = 0; k < 2; ++k) b.access(2, AccessKind::read);
  b.access(1, AccessKind::read);
  b.access(0, AccessKind::write);
  // There is room for two of three: block 0, never read, costs one transfer and block 1 two.
  const ReplayResult weighted = replay(b.sequence, {.capacity = 20, .rule = SpillRule::weighted});
  CHECK(weighted.total.writes == 2);
  CHECK(weighted.total.reads == 0);
  CHECK(weighted.total.bytes_in_vain == 20);
  CHECK(offline_optimum(b.sequence, 20).total.bytes() == 0);
}

TEST_CASE("blocks that come back unchanged leave without being written") {
  Blocks b(2);
  b.sweep(2, AccessKind::write);
  for (int k = 0; k < 10; ++k) b.sweep(2, AccessKind::read);
  const ReplayResult r = planned(b.sequence, 10);
  CHECK(r.total.writes == 2);
  CHECK(r.total.reads == 20);
}

TEST_CASE("what a group accesses stays until the rank's next group") {
  AccessSequence s;
  const std::uint32_t a = s.add_array("a"), c = s.add_array("c");
  for (int b = 0; b < 3; ++b) s.add_block(a, 10);
  s.add_block(c, 100);
  for (std::uint32_t b = 0; b < 4; ++b) {
    s.begin_group(0);
    s.access(b, AccessKind::write, 7);
  }
  s.begin_group(0);
  for (std::uint32_t b = 0; b < 3; ++b) s.access(b, AccessKind::read, 8);
  s.begin_group(1);
  s.access(3, AccessKind::read, 9);
  const ReplayResult r = planned(s, 115);
  CHECK(r.max_in_use[0].bytes == 130);
  CHECK(r.max_in_use[0].place == 9);
  CHECK(r.max_resident == 130);
  CHECK(r.by_array.size() == 2);
  CHECK(r.by_array[0].bytes_read + r.by_array[1].bytes_read == r.total.bytes_read);

  AccessSequence apart = s;
  apart.begin_phase();
  apart.begin_group(1);
  apart.access(3, AccessKind::read, 9);
  CHECK(planned(apart, 1000).total.bytes() == 0);
}

TEST_CASE("a barrier ends what is in use") {
  AccessSequence s;
  const std::uint32_t a = s.add_array("a");
  for (int b = 0; b < 2; ++b) s.add_block(a, 10);
  s.begin_group(0);
  s.access(0, AccessKind::write, 1);
  s.begin_phase();
  s.begin_group(1);
  s.access(1, AccessKind::write, 2);
  CHECK(planned(s, 10).max_in_use[0].bytes == 10);
  CHECK(planned(s, 10).max_resident == 10);
}

TEST_CASE("parts of a sequence have memory of their own") {
  Blocks b(4);
  b.sequence.begin_part();
  b.sweep(4, AccessKind::write);
  b.sequence.begin_phase();
  b.sequence.begin_part();
  b.sweep(4, AccessKind::read);
  b.sequence.begin_phase();
  b.sequence.begin_part();
  b.sweep(4, AccessKind::read);
  CHECK(replay(b.sequence, {.capacity = 40}).total.bytes() == 0);
  // Three leave when the second part begins, the first one for the second; then each makes room for the next.
  const Capacity little_in_between(std::vector<std::int64_t>{40, 10, 40});
  const ReplayResult r = replay(b.sequence, {.capacity = little_in_between});
  CHECK(r.total.writes == 4);
  CHECK(r.total.reads == 6);
  CHECK(r.max_in_use.size() == 3);
  const TrafficBound bound = lower_bound(b.sequence, little_in_between);
  CHECK(bound.bytes_written == 30);
  CHECK(bound.bytes_read == 60);
}

TEST_CASE("within a group only what changes something is kept") {
  Blocks b(1);
  b.access(0, AccessKind::read);
  for (const AccessKind kind : {AccessKind::read, AccessKind::update, AccessKind::update, AccessKind::read})
    b.sequence.access(0, kind, 0);
  CHECK(b.sequence.accesses().size() == 2);
  b.sequence.access(0, AccessKind::dies, 0);
  b.sequence.access(0, AccessKind::write, 0);
  CHECK(b.sequence.accesses().size() == 4);
}

TEST_CASE("beyond its limit a sequence is not known") {
  AccessSequence s(3);
  s.add_block(s.add_array("a"), 8);
  for (int k = 0; k < 4; ++k) {
    CHECK(s.known());
    s.begin_group(0);
    s.access(0, AccessKind::update, 0);
  }
  CHECK_FALSE(s.known());
  CHECK(s.accesses().size() == 3);
}

TEST_CASE("a million accesses at random") {
  constexpr int blocks = 20'000;
  Blocks b(blocks, 1000);
  b.sweep(blocks, AccessKind::write);
  std::uint64_t x = 1;
  for (int k = 0; k < 980'000; ++k) {
    x = x * 6364136223846793005U + 1442695040888963407U;
    b.access(static_cast<int>((x >> 33) % blocks), (x >> 60) == 0 ? AccessKind::update : AccessKind::read);
  }
  const std::int64_t capacity = blocks * 500;
  const TrafficBound bound = lower_bound(b.sequence, capacity);
  const std::int64_t plan = planned(b.sequence, capacity).total.bytes();
  CHECK(bound.bytes() <= plan);
  const std::int64_t optimum = offline_optimum(b.sequence, capacity).total.bytes();
  CHECK(bound.bytes() <= optimum);
  CHECK(optimum <= plan);
  CHECK(static_cast<double>(plan) <= 1.25 * static_cast<double>(bound.bytes()));
  CHECK(planned(b.sequence, capacity).total.bytes_read == bound.bytes_read);
  CHECK(plan < recent(b.sequence, capacity).total.bytes());
}
