// The record of what is done to blocks, and the offline optimum that comes of it.
#include "runtime/store/spill/use_record.h"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include "runtime/store/spill/use_optimum.h"
#include "runtime/transport/loopback.h"

using namespace sial;

namespace {

constexpr std::int64_t doubles = 100, bytes = 8 * doubles;
const auto in_memory = static_cast<std::int64_t>(NodeHeap::chunk_bytes(doubles));
/// Memory for so many blocks, and the gaps that are taken off.
std::int64_t room_for(std::int64_t blocks) { return (blocks * in_memory + 15) / 16 * 17 + 17; }

struct Recorded {
  explicit Recorded(std::uint64_t limit = UseRecord::max_words)
      : transport(make_loopback()), record(*transport, limit), rank(record, 0, false) {}
  void use(Entry& e, BlockEvent event) {
    rank.begin_group();
    rank.note(e, event, doubles);
  }
  void sweep(BlockEvent event) {
    for (Entry& e : entries) use(e, event);
  }
  /// "w0 r0 d0": accesses with their blocks' numbers.
  std::string accesses() const {
    std::string text;
    const RecordedUses recorded = recorded_uses(record, 0, room_for(100));
    for (const BlockAccess& a : recorded.sequence.accesses())
      text += (text.empty() ? "" : " ") + std::string(1, "rwud"[static_cast<int>(a.kind)]) + std::to_string(a.block);
    return text;
  }

  std::unique_ptr<Transport> transport;
  UseRecord record;
  UseRecorder rank;
  std::vector<Entry> entries{8};
};

}  // namespace

TEST_CASE("record: uses become accesses in their order") {
  Recorded r;
  Entry &a = r.entries[0], &b = r.entries[1];
  r.use(a, BlockEvent::write);
  r.use(b, BlockEvent::write);
  r.use(a, BlockEvent::update);
  r.rank.begin_group();
  r.rank.note_read(b.recorded);
  r.use(a, BlockEvent::dies);
  CHECK(a.recorded == 0);
  r.use(a, BlockEvent::dies);  // it is gone
  r.use(a, BlockEvent::write);
  CHECK(r.accesses() == "w0 w1 u0 r1 d0 w2");
  CHECK(r.record.uses() == 6);
  CHECK(r.record.unrecorded() == 0);
}

TEST_CASE("record: blocks that share a value part when one is changed") {
  Recorded r;
  Entry &array = r.entries[0], &label = r.entries[1];
  r.use(label, BlockEvent::write);
  r.rank.begin_group();
  r.rank.note_shared(array, label.recorded, doubles);
  r.use(array, BlockEvent::read);
  r.use(array, BlockEvent::update);  // of a value of its own, made from the label's
  r.use(array, BlockEvent::update);
  r.use(array, BlockEvent::dies);
  r.use(label, BlockEvent::read);
  r.use(label, BlockEvent::dies);
  CHECK(r.accesses() == "w0 r0 r0 w1 u1 d1 r0 d0");
}

TEST_CASE("record: a value dies with the last block that has it") {
  Recorded r;
  Entry &array = r.entries[0], &label = r.entries[1];
  r.use(label, BlockEvent::write);
  r.rank.note_shared(array, label.recorded, doubles);
  r.use(label, BlockEvent::dies);
  r.use(array, BlockEvent::read);
  r.use(array, BlockEvent::write);  // nobody else has it: it is replaced
  r.use(array, BlockEvent::dies);
  CHECK(r.accesses() == "w0 r0 w0 d0");
}

TEST_CASE("record: what a statement uses stays until the rank's next statement, whatever others do") {
  Recorded r;
  UseRecorder other(r.record, 1, false);
  for (Entry& e : r.entries) r.use(e, BlockEvent::write);
  r.rank.begin_group();
  r.rank.note_read(r.entries[0].recorded);
  other.begin_group();
  other.note_read(r.entries[1].recorded);
  r.rank.note_read(r.entries[2].recorded);
  const auto recorded = recorded_uses(r.record, 0, room_for(100));
  const auto accesses = recorded.sequence.accesses();
  REQUIRE(accesses.size() == 11);
  CHECK(accesses[8].group == accesses[10].group);
  CHECK(accesses[8].group != accesses[9].group);
  CHECK(accesses[9].rank == 1);
}

TEST_CASE("record: the optimum of repeated sweeps") {
  Recorded r;
  r.sweep(BlockEvent::write);
  for (int k = 0; k < 3; ++k) r.sweep(BlockEvent::read);
  r.rank.note_moved(1);
  // Of eight blocks four find room: four leave before they are read, and a sweep reads as many at least.
  const TierOptimum best = take_optimum(r.record, 0, room_for(4));
  CHECK(best.uses == 32);
  CHECK(best.bytes_moved == 1);
  CHECK(best.bytes_written >= 4 * bytes);
  CHECK(best.bytes_written <= 8 * bytes);
  CHECK(best.bytes_read >= 3 * 4 * bytes);
  CHECK(best.bytes_read <= 3 * 6 * bytes);
  CHECK(best.bytes_read % bytes == 0);  // what lies around a block's data in memory does not move
}

TEST_CASE("record: nothing is computed where nothing moved, and each run begins anew") {
  Recorded r;
  r.sweep(BlockEvent::write);
  r.sweep(BlockEvent::read);
  const TierOptimum none = take_optimum(r.record, 0, room_for(2));
  CHECK(none.uses == 16);
  CHECK(none.bytes_moved == 0);
  CHECK(none.bytes_read == 0);
  r.sweep(BlockEvent::read);  // blocks that were there before
  r.sweep(BlockEvent::dies);
  CHECK(r.record.uses() == 16);
  CHECK(take_optimum(r.record, 0, room_for(2)).uses == 16);
  CHECK(r.record.words().empty());
}

TEST_CASE("record: beyond its limit uses are counted, and what moves does not belong to it") {
  Recorded r(3 * 8 + 8 + 4);  // definitions and uses of eight blocks, and four uses
  r.sweep(BlockEvent::write);
  r.rank.note_moved(1000);
  r.sweep(BlockEvent::read);
  r.rank.note_moved(500);
  const TierOptimum best = take_optimum(r.record, 0, room_for(8));
  CHECK(best.uses == 12);
  CHECK(best.unrecorded == 4);
  CHECK(best.bytes_moved == 1000);
  r.sweep(BlockEvent::read);
  CHECK(r.record.uses() == 8);
  CHECK(r.record.bytes_moved() == 0);
}

TEST_CASE("record: memory of a phase is what the ranks' own blocks leave") {
  Recorded r;
  UseRecorder other(r.record, 1, false);
  const std::int64_t budget = 1700;
  r.sweep(BlockEvent::write);
  r.rank.end_phase(340, 100);
  r.sweep(BlockEvent::read);  // in the next phase
  other.end_phase(340, 0);
  other.end_phase(0, 0);
  r.rank.end_phase(1700, 1234);
  const RecordedUses recorded = recorded_uses(r.record, 0, budget);
  CHECK(recorded.capacity == std::vector<std::int64_t>{960, 1234, 1600});
  CHECK(recorded.sequence.parts() == std::vector<std::size_t>{0, 8, 16});
  CHECK(recorded.sequence.phases() == std::vector<std::size_t>{8, 16});
}
