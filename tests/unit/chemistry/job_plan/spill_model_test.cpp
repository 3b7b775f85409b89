// Movement of small programs between memory and disk, counted by hand. All blocks have 100 doubles.
#include "runtime/core/model/spill/spill_model.h"

#include <sstream>

#include "module_of.h"
#include "runtime/core/model/spill/job_accesses.h"

using namespace sial;
using namespace sial::test;

namespace {

constexpr std::int64_t block_bytes = 896;  // of the heap
constexpr int segments = 4;
constexpr std::int64_t blocks = segments * segments;

const std::string arrays = std::string(four_indices) +
                           "distributed a[i,j]\ndistributed b[i,j]\ntemp t[i,j]\nindex n = 1:5\nscalar x\nscalar y\n";
const std::string put_all = "pardo i, j\nput a[i,j] = 1.0\nendpardo i, j\nsip_barrier\n";
const std::string get_all = "pardo i, j\nget a[i,j]\nx += a[i,j]*a[i,j]\nendpardo i, j\nsip_barrier\n";

using Programs = std::vector<std::shared_ptr<const Module>>;

Programs program(const std::string& statements) {
  return {std::make_shared<const Module>(module_of(arrays, statements))};
}

PlanSetting setting_of(int ranks = 1, std::int64_t memory = 0) {
  PlanSetting setting;
  setting.ranks = ranks;
  setting.memory_per_rank = static_cast<std::size_t>(memory);
  setting.keep_saved = false;
  return setting;
}

JobAccesses accesses_of(const Programs& programs, const PlanSetting& setting = setting_of()) {
  return follow_accesses(programs, job_of(segments, 10), {}, setting, NodeId(0));
}

TierTraffic moved(const std::string& statements, std::int64_t capacity_blocks) {
  const JobAccesses accesses = accesses_of(program(statements));
  CHECK(accesses.known);
  CHECK(accesses.exact);
  return replay(accesses.sequence, {.capacity = capacity_blocks * block_bytes}).total;
}

SpillModel model(const Programs& programs, const PlanSetting& setting) {
  const JobData job = job_of(segments, 10);
  return model_spill(programs, job, {}, setting, model_memory(programs, job, {}, setting));
}

std::string verdict(const SpillModel& spill, const PlanSetting& setting) {
  std::ostringstream text;
  print_spill(spill, setting, text);
  return text.str();
}

}  // namespace

TEST_CASE("each iteration accesses its blocks, in the order of the program") {
  const JobAccesses accesses = accesses_of(program(put_all + get_all));
  CHECK(accesses.exact);
  // Written, read by get and the statement behind it, dead at the end of the program.
  REQUIRE(accesses.sequence.accesses().size() == 3 * blocks);
  for (std::uint32_t b = 0; b < blocks; ++b) {
    CHECK(accesses.sequence.accesses()[b].block == b);
    CHECK(accesses.sequence.accesses()[b].kind == AccessKind::write);
    CHECK(accesses.sequence.accesses()[blocks + b].block == b);
    CHECK(accesses.sequence.accesses()[blocks + b].kind == AccessKind::read);
    CHECK(accesses.sequence.accesses()[2 * blocks + b].kind == AccessKind::dies);
  }
  CHECK(accesses.sequence.blocks()[0].bytes == block_bytes);
  CHECK(accesses.sequence.arrays() == std::vector<std::string>{"a"});
  CHECK(accesses.sequence.phases() == std::vector<std::size_t>{blocks, 2 * blocks});
}

TEST_CASE("sweeps over an array with room for half of it") {
  // Seven blocks stay while the others are written, the eighth place is passed on. In the sweep those seven, which
  // nobody reads again, make room: they are written, since that they die is not known yet.
  const TierTraffic once = moved(put_all + get_all, blocks / 2);
  CHECK(once.reads == blocks / 2);
  CHECK(once.writes == blocks / 2 + 7);
  CHECK(once.bytes_in_vain == 7 * block_bytes);
  const TierTraffic five = moved(put_all + "do n\n" + get_all + "enddo n\n", blocks / 2);
  CHECK(five.writes <= blocks);
  CHECK(five.reads >= 5 * blocks / 2 - 5);
  CHECK(five.reads <= 5 * blocks / 2 + 5);
  CHECK(moved(put_all + "do n\n" + get_all + "enddo n\n", blocks).bytes() == 0);
}

TEST_CASE("what is written and never read is written once, and in vain") {
  const TierTraffic t = moved(put_all, 6);
  CHECK(t.reads == 0);
  CHECK(t.writes == blocks - 6);
  CHECK(t.bytes_in_vain == t.bytes_written);
}

TEST_CASE("what is deleted before it is used again does not move") {
  const std::string both =
      put_all + "delete a\nsip_barrier\npardo i, j\nput b[i,j] = 1.0\nendpardo i, j\nsip_barrier\n";
  CHECK(moved(both, blocks).bytes() == 0);
  CHECK(moved(put_all + "pardo i, j\nput b[i,j] = 1.0\nendpardo i, j\nsip_barrier\n", blocks).writes == blocks);
}

TEST_CASE("sums read what has left, fills do not") {
  const std::string fill = "pardo i, j\nput a[i,j] = 2.0\nendpardo i, j\nsip_barrier\n";
  const std::string sum = "pardo i, j\nput a[i,j] += 2.0\nendpardo i, j\nsip_barrier\n";
  CHECK(moved(put_all + fill, 1).reads == 0);
  CHECK(moved(put_all + sum, 1).reads == blocks);
}

TEST_CASE("where clauses and ints of the program are followed") {
  const JobAccesses triangle =
      accesses_of(program("pardo i, j\nwhere i <= j\nput a[i,j] = 1.0\nendpardo i, j\nsip_barrier\n"));
  CHECK(triangle.sequence.accesses().size() == 2 * segments * (segments + 1) / 2);
  const JobAccesses twice = accesses_of(program(put_all + "do n\nif n < 3\n" + get_all + "endif\nenddo n\n"));
  CHECK(twice.exact);
  CHECK(twice.sequence.accesses().size() == 4 * blocks);
}

TEST_CASE("where data decide the accesses are not exact") {
  const std::string either = put_all + get_all + "if x < 1.0\n" + get_all + "else\n" + get_all + "endif\n";
  const JobAccesses both = accesses_of(program(either));
  CHECK_FALSE(both.exact);
  CHECK(both.sequence.accesses().size() == 5 * blocks);
  const JobAccesses elsewhere = accesses_of(program(put_all + get_all + "if x < 1.0\ny = 1.0\nendif\n" + get_all));
  CHECK(elsewhere.exact);
}

TEST_CASE("a loop that data end takes twelve trips") {
  const std::string more = std::string(arrays) + "index m = 1:40\n";
  const std::string until = put_all + "do m\n" + get_all + "if x < 0.5\nexit\nendif\nenddo m\n";
  const JobAccesses accesses = accesses_of({std::make_shared<const Module>(module_of(more, until))});
  CHECK_FALSE(accesses.exact);
  CHECK(accesses.sequence.accesses().size() == (1 + 12 + 1) * blocks);
}

TEST_CASE("iterations go to the ranks of a node in turn") {
  const JobAccesses accesses = accesses_of(program(put_all + get_all), setting_of(3));
  CHECK(accesses.sequence.ranks() == 3);
  for (std::uint32_t b = 0; b < blocks; ++b) CHECK(accesses.sequence.accesses()[b].rank == b % 3);
  const ReplayResult r = replay(accesses.sequence, {.capacity = blocks * block_bytes});
  CHECK(r.max_in_use[0].bytes == 3 * block_bytes);
}

TEST_CASE("a node accesses what lies on it") {
  PlanSetting setting = setting_of(2);
  setting.ranks_per_node = 1;
  const Programs programs = program(put_all + get_all);
  std::size_t all = 0;
  for (int node = 0; node < 2; ++node)
    all += follow_accesses(programs, job_of(segments, 10), {}, setting, NodeId(node)).sequence.accesses().size();
  CHECK(all == 3 * blocks);
}

TEST_CASE("saved arrays go on to the programs that restore them") {
  Programs chain = program(put_all + "set_persistent a \"kept\"\n");
  chain.push_back(program("restore_persistent a \"kept\"\n" + get_all + put_all).front());
  const JobAccesses accesses = accesses_of(chain);
  CHECK(accesses.exact);
  CHECK(accesses.first_places.size() == 2);
  // Written; read; of the label until a put replaces it: the label's block lives on, and dies with the job.
  std::size_t deaths = 0, writes = 0, reads = 0;
  for (const BlockAccess& a : accesses.sequence.accesses()) {
    deaths += a.kind == AccessKind::dies;
    writes += a.kind == AccessKind::write;
    reads += a.kind == AccessKind::read;
  }
  CHECK(reads == blocks);
  CHECK(writes == 2 * blocks);
  CHECK(deaths == 2 * blocks);
  CHECK(place_text(chain, accesses, accesses.first_places[1] + 1) ==
        "test.sialx:" + std::to_string(chain[1]->places[1].line));

  // A results file keeps what was saved, and reads all of it.
  PlanSetting setting = setting_of();
  setting.keep_saved = true;
  const JobAccesses kept = accesses_of(chain, setting);
  CHECK(kept.sequence.accesses().back().kind == AccessKind::read);
}

TEST_CASE("too many accesses are not known") {
  const Programs programs = program(put_all + "do n\n" + get_all + "enddo n\n");
  const auto limited = [&](const AccessLimits& limits) {
    return follow_accesses(programs, job_of(segments, 10), {}, setting_of(), NodeId(0), limits);
  };
  CHECK(limited({}).known);
  CHECK_FALSE(limited({.accesses = 20, .steps = 1'000'000}).known);
  CHECK_FALSE(limited({.accesses = 1'000'000, .steps = 100}).known);
}

TEST_CASE("the verdict") {
  const Programs programs = program(put_all + get_all);
  // What is fixed does not depend on memory. Of eleven blocks' bytes gaps take a part.
  PlanSetting setting = setting_of(1, 1000);
  setting.memory_per_rank = static_cast<std::size_t>(model(programs, setting).fixed[0] + 11 * block_bytes);
  const SpillModel spill = model(programs, setting);
  CHECK(spill.known);
  CHECK(spill.exact);
  CHECK(spill.fixed[0] + spill.capacity[0] <= static_cast<std::int64_t>(setting.memory_per_rank));
  CHECK(spill.moved.max_in_use[0].bytes == block_bytes);
  CHECK(spill.least == spill.fixed[0] + block_bytes + block_bytes / 16 + block_bytes);
  CHECK(spill.fits(setting.memory_per_rank));
  CHECK(spill.fits(static_cast<std::size_t>(spill.least)));
  CHECK_FALSE(spill.fits(static_cast<std::size_t>(spill.least - 1)));
  CHECK(spill.capacity[0] / block_bytes == 10);
  CHECK(spill.moved.total.writes ==
        replay(accesses_of(programs).sequence, {.capacity = 10 * block_bytes}).total.writes);

  CHECK(verdict(spill, setting).starts_with("with `--spill DIR`: "));
  setting.spill = {{TierKind::disk, "/scratch", 0}};
  const std::string with = verdict(model(programs, setting), setting);
  CHECK(with.find("\nfits with --spill: ") != std::string::npos);
  setting.spill[0].bytes = static_cast<std::uint64_t>(spill.moved.max_below);
  CHECK(model(programs, setting).fits(setting.memory_per_rank));
  setting.spill[0].bytes -= 1;
  CHECK_FALSE(model(programs, setting).fits(setting.memory_per_rank));
  CHECK(verdict(model(programs, setting), setting).find("\ndoes not fit with --spill: ") != std::string::npos);

  PlanSetting little = setting_of(1, 1000);
  CHECK(verdict(model(programs, little), little).starts_with("with `--spill DIR`: needs --memory "));
}

TEST_CASE("pardos run in the order that is chosen when memory is short") {
  const std::string product =
      "pardo i, j, k\nget a[i,k]\nget a[k,j]\nt[i,j] = a[i,k]*a[k,j]\nput b[i,j] += t[i,j]\nendpardo i, j, k\nsip_barrier\n";
  const Programs programs = program(put_all + product);
  PlanSetting setting = setting_of(1, 9 * block_bytes);
  const JobAccesses chosen = accesses_of(programs, setting);
  setting.orders_pardos = false;
  const JobAccesses written = accesses_of(programs, setting);
  REQUIRE(chosen.orders.size() == 1);
  CHECK(chosen.orders[0].bytes < chosen.orders[0].bytes_as_written);
  CHECK(chosen.orders[0].place.starts_with("test.sialx:"));
  CHECK(written.orders.empty());
  CHECK(chosen.sequence.blocks().size() == written.sequence.blocks().size());
  const ReplaySetting memory{.capacity = 9 * block_bytes};
  CHECK(replay(chosen.sequence, memory).total.bytes() < replay(written.sequence, memory).total.bytes());
  setting.deterministic = setting.orders_pardos = true;
  CHECK(accesses_of(programs, setting).orders.empty());
}

TEST_CASE("more memory never moves more") {
  const JobAccesses accesses = accesses_of(program(
      put_all +
      "do n\npardo i, j, k\nget a[i,k]\nget a[k,j]\nt[i,j] = a[i,k]*a[k,j]\nput b[i,j] += t[i,j]\nendpardo i, j, k\nsip_barrier\nenddo n\n"));
  std::int64_t before = std::int64_t{1} << 60, optimum_before = before;
  for (std::int64_t n = 3; n <= 2 * blocks; ++n) {
    const std::int64_t moved = replay(accesses.sequence, {.capacity = n * block_bytes}).total.bytes();
    const std::int64_t optimum = offline_optimum(accesses.sequence, n * block_bytes).total.bytes();
    const std::int64_t bound = lower_bound(accesses.sequence, n * block_bytes).bytes();
    CHECK(moved <= before);
    CHECK(bound <= optimum);
    CHECK(optimum <= moved);
    CHECK(bound <= optimum_before);
    before = moved;
    optimum_before = optimum;
  }
  CHECK(before == 0);
}
