#include "runtime/core/model/time_model.h"

#include <fstream>
#include <iterator>

#include "module_of.h"
#include "runtime/core/model/machine_speed.h"
#include "runtime/core/model/operand_sources.h"
#include "tests/unit/program/job/folder.h"

using namespace sial;
using namespace sial::test;

namespace {

const std::string product = std::string(four_indices) + "distributed a[i,k]\ndistributed b[k,j]\ntemp c[i,j]\n";
const char* const multiply =
    "pardo i, j\nc[i,j] = 0.0\ndo k\nget a[i,k]\nget b[k,j]\nc[i,j] += a[i,k]*b[k,j]\nenddo k\nendpardo i, j";

double seconds(const TimeSetting& setting, const JobData& job, const char* statements = multiply) {
  return TimeModel(setting).time_of(module_of(product, statements), job).seconds;
}

}  // namespace

TEST_CASE("an operand is met again behind what its loop touches") {
  const Module m = module_of(product, multiply);
  const JobData job = job_of(6, 10);
  const BoundProgram bound = bind_program(m, job);
  const WorkCount work = count_work(m, bound, job, 100'000);
  const OperandSources sources(m, bound, work);
  const auto nest_of_product = static_cast<std::int32_t>(work.nests.size()) - 1;
  for (const Instruction& in : m.code) {
    if (in.op != Opcode::block_contract) continue;
    const auto of_c = sources.distances(nest_of_product, in.a), of_a = sources.distances(nest_of_product, in.b),
               of_b = sources.distances(nest_of_product, in.c);
    // c[i,j] was made in this iteration, of three blocks.
    REQUIRE(of_c.size() == 1);
    CHECK(of_c[0].bytes == 3 * 800);
    // a[i,k] comes again when i, which runs fastest, has had all its values; b[k,j] in the next iteration of i.
    double first_b = of_b[0].bytes;
    CHECK(first_b < of_a[0].bytes);
    double parts = 0;
    for (const auto& d : of_b) parts += d.part;
    CHECK(parts == Approx(1.0));
    CHECK(of_b[0].part == Approx(5.0 / 6));
  }
}

TEST_CASE("time follows the work, the caches and the ranks") {
  TimeSetting setting;
  const double small = seconds(setting, job_of(8, 20)), large = seconds(setting, job_of(16, 20));
  CHECK(large > 7 * small);
  CHECK(large < 10 * small);
  CHECK(small > 2.0 * 160 * 160 * 160 / 200e9);  // no core does 200 GFLOP/s
  TimeSetting slow = setting;
  slow.speed.memory_rate /= 10;
  slow.speed.l2_bytes = slow.speed.l3_bytes = 64e3;
  CHECK(seconds(slow, job_of(8, 60)) > 1.2 * seconds(setting, job_of(8, 60)));
  TimeSetting ranks = setting;
  ranks.ranks = 4;
  CHECK(seconds(ranks, job_of(16, 20)) == Approx(large / 4).epsilon(0.1));
  // One iteration cannot be divided.
  CHECK(seconds(ranks, job_of(1, 320)) >= 0.99 * seconds(setting, job_of(1, 320)));
  TimeSetting nodes = ranks;
  nodes.nodes = 4;
  CHECK(seconds(nodes, job_of(16, 20)) > seconds(ranks, job_of(16, 20)));
}

TEST_CASE("tiny blocks cost more than their arithmetic") {
  const TimeSetting setting;
  CHECK(seconds(setting, job_of(40, 2)) > 5 * seconds(setting, job_of(4, 20)));
}

TEST_CASE("every collective that ranks wait in costs what a barrier costs") {
  TimeSetting setting;
  setting.ranks = 8;
  const auto of = [&](const char* statement) {
    return TimeModel(setting)
        .time_of(module_of(std::string(four_indices) + "static s[i,j]\nscalar x\nscalar y\n", statement), job_of(2, 4))
        .seconds;
  };
  const double barrier = of("sip_barrier");
  CHECK(barrier > 1e-5);
  CHECK(of("assert_same x") == Approx(barrier).epsilon(0.01));
  CHECK(of("broadcast_from 0 s") == Approx(barrier).epsilon(0.01));
  CHECK(of("collective x += y") == Approx(barrier).epsilon(0.01));
}

TEST_CASE("a block copied to or from a region of a contiguous array is not for nothing") {
  const auto of = [](const char* statement) {
    const std::string body = "do i\ndo j\nallocate contiguous c[1:norb,1:norb]\nt[i,j] = 1.0\n" +
                             std::string(statement) + "\ndeallocate contiguous c[1:norb,1:norb]\nenddo j\nenddo i";
    return TimeModel({})
        .time_of(
            module_of(std::string(four_indices) + "temp t[i,j]\ntemp u[i,j]\ncontiguous local c[i,j]\n", body.c_str()),
            job_of(2, 200))
        .seconds;
  };
  const double without = of(""), block = of("u[i,j] = t[i,j]") - without;
  CHECK(of("c[i:i,j:j] = t[i,j]") - without > 0.2 * block);
  CHECK(of("c[1:norb,1:norb] = 0.0\nu[i,j] = c[i:i,j:j]") - without > 0.2 * block);
}

TEST_CASE("a program without its values is refused") {
  JobData job = job_of(3, 4);
  job.ints.clear();
  CHECK_THROWS(seconds({}, job));
}

TEST_CASE("what was measured of a processor is kept for this one alone") {
  const Folder f;
  CHECK_FALSE(saved_speed(f.path("none")));
  CHECK_FALSE(saved_speed({}));
  MachineSpeed speed = usual_speed();
  speed.cycles = 4.25e9;
  speed.memory_rate = 7.5e9;
  save_speed(f.path("cache"), speed);
  const auto saved = saved_speed(f.path("cache"));
  REQUIRE(saved);
  CHECK(saved->cycles == 4.25e9);
  CHECK(saved->memory_rate == 7.5e9);
  CHECK(saved->l2_bytes == usual_speed().l2_bytes);
  CHECK(speed_of_this_machine(f.path("cache")).cycles == 4.25e9);
  CHECK(speed_of_this_machine(f.path("none")).cycles == usual_speed().cycles);
  for (const auto& [from, to] : {std::pair<std::string, std::string>{"processor\": \"", "processor\": \"another "},
                                 {"4250000000.0", "-1"},
                                 {"4250000000.0", "\"fast\""},
                                 {"4250000000.0", "1e300"},
                                 {"{", "{{"},
                                 {"sialx speed", "x"}}) {
    save_speed(f.path("cache"), speed);
    std::ifstream in(speed_file(f.path("cache")));
    std::string text{std::istreambuf_iterator<char>(in), {}};
    const auto at = text.find(from);
    REQUIRE(at != std::string::npos);
    f.write("cache/speed.json", text.replace(at, from.size(), to));
    CHECK_FALSE(saved_speed(f.path("cache")));
  }
}

TEST_CASE("constants of contractions are kept with the speed, and a file with one that cannot be is none") {
  const Folder f;
  MachineSpeed speed = usual_speed();
  save_speed(f.path("cache"), speed);
  REQUIRE(saved_speed(f.path("cache")));
  CHECK_FALSE(saved_speed(f.path("cache"))->costs);
  CHECK(costs_text(*saved_speed(f.path("cache"))) == "usual values");
  speed.costs = kernels::usual_costs(8);
  save_speed(f.path("cache"), speed);
  REQUIRE(saved_speed(f.path("cache")));
  CHECK(costs_text(*saved_speed(f.path("cache"))) == "measured, as usual");
  speed.costs->scatter = 2.125, speed.costs->pack_rows_along = 0.1 + 0.2;
  save_speed(f.path("cache"), speed);
  const auto saved = saved_speed(f.path("cache"));
  REQUIRE(saved);
  REQUIRE(saved->costs);
  CHECK(*saved->costs == *speed.costs);  // to the last bit
  CHECK(costs_text(*saved) == "measured, scatter 2.12, pack_rows_along 0.3");
  for (const auto& [from, to] : {std::pair<std::string, std::string>{"\"scatter\": 2.125", "\"scatter\": -2.125"},
                                 {"\"scatter\": 2.125", "\"scatter\": 1e9"},
                                 {"\"scatter\": 2.125", "\"scatter\": null"},
                                 {"\"scatter\": 2.125", "\"scatter\": \"2\""},
                                 {"\"scatter\": 2.125", "\"scatters\": 2.125"},
                                 {"\"width\": 8", "\"width\": 0"},
                                 {"\"width\": 8", "\"width\": 1000"},
                                 {"\"width\": 8", "\"width\": 8.5"},
                                 {"\"width\": 8", "\"breadth\": 8"},
                                 {"\"version\": 2", "\"version\": 1"},
                                 {"\"contractions\": {", "\"contractions\": [], \"more\": {"}}) {
    save_speed(f.path("cache"), speed);
    std::ifstream in(speed_file(f.path("cache")));
    std::string text{std::istreambuf_iterator<char>(in), {}};
    const auto at = text.find(from);
    INFO(from << " becomes " << to);
    REQUIRE(at != std::string::npos);
    f.write("cache/speed.json", text.replace(at, from.size(), to));
    CHECK_FALSE(saved_speed(f.path("cache")));
    CHECK_FALSE(speed_of_this_machine(f.path("cache")).costs);
  }
}

TEST_CASE("predictions of time do not go by measured constants of contractions") {
  TimeSetting setting;
  const double usual = seconds(setting, job_of(8, 20));
  setting.speed.costs = kernels::usual_costs(8);
  for (const kernels::CostField& field : kernels::cost_fields()) *setting.speed.costs.*field.value *= 3;
  CHECK(seconds(setting, job_of(8, 20)) == usual);
}

TEST_CASE("a processor is measured in plausible numbers") {
  const MachineSpeed speed = measure_speed();
  CHECK(speed.cycles > 1e7);
  CHECK(speed.cycles < 1e11);
  CHECK(speed.memory_rate > 1e7);
  CHECK(speed.memory_rate <= speed.l3_rate);
  CHECK(speed.l3_rate <= speed.l2_rate);
  CHECK(speed.l2_rate < 1e13);
}
