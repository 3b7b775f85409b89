#include "runtime/core/model/work_count.h"

#include <cmath>

#include "module_of.h"

using namespace sial;
using namespace sial::test;

namespace {

/// Executions of an opcode, all nests together.
double executions(const Module& m, const WorkCount& work, Opcode op) {
  double sum = 0;
  for (const LoopNest& nest : work.nests)
    nest.executions.for_each(
        [&](std::int32_t pc, double n) { sum += m.code[static_cast<std::size_t>(pc)].op == op ? n : 0.0; });
  return sum;
}

double fills(const std::string& declarations, const std::string& statements, const JobData& job,
             std::int64_t steps = 1'000'000) {
  const Module m = module_of(declarations, statements);
  return executions(m, count_work(m, bind_program(m, job), job, steps), Opcode::block_fill);
}

const std::string temps = std::string(four_indices) + "temp t[i,j]\nindex n = 1:100\nint count\nscalar x\n";

}  // namespace

TEST_CASE("loops multiply, where clauses are followed") {
  const JobData job = job_of(5, 4);
  CHECK(fills(temps, "do i\ndo j\nt[i,j] = 1.0\nenddo j\nenddo i", job) == 25);
  CHECK(fills(temps, "pardo i, j\nwhere i <= j\nt[i,j] = 1.0\nendpardo i, j", job) == 15);
  CHECK(fills(temps, "do i\ndo j\nwhere i < j\ndo k\nt[i,j] = 1.0\nenddo k\nenddo j\nenddo i", job) == 50);
  CHECK(fills(temps, "do i\nif i == 2\ndo j\nt[i,j] = 1.0\nenddo j\nendif\nenddo i", job) == 5);
}

TEST_CASE("procedures count where they are called") {
  const std::string twice = temps + "proc fill\nt[i,j] = 1.0\nendproc fill\n";
  CHECK(fills(twice, "do i\ndo j\ncall fill\nif i == j\ncall fill\nendif\nenddo j\nenddo i", job_of(4, 4)) == 20);
}

TEST_CASE("where data decide both ways count half, and loops that data end a usual number of times") {
  const JobData job = job_of(2, 4);
  CHECK(
      fills(
          temps,
          "do i\ndo j\nt[i,j] = 1.0\nx = t[i,j]*t[i,j]\nif x > 0.5\nt[i,j] = 2.0\nelse\nt[i,j] = 3.0\nendif\nenddo j\nenddo i",
          job) == 8);
  CHECK(fills(temps,
              "do n\ndo i\ndo j\nt[i,j] = 1.0\nx = t[i,j]*t[i,j]\nenddo j\nenddo i\nif x < 0.5\nexit\nendif\nenddo n",
              job) == 12 * 4);
}

TEST_CASE("what only the first iteration does counts once") {
  const std::string fill = "do i\ndo j\nt[i,j] = 1.0\nenddo j\nenddo i\n";
  CHECK(fills(temps, "do n\nif count == 0\n" + fill + "count = 1\nendif\nenddo n", job_of(2, 4)) == 4);
  CHECK(fills(temps, "do n\nif count == 1\n" + fill + "endif\ncount = 1\nenddo n", job_of(2, 4)) == 99 * 4);
}

TEST_CASE("of many iterations a sample stands for all") {
  const std::string statements = "pardo i, j, k, l\nwhere i <= j\nwhere k <= l\nt[i,j] = 1.0\nendpardo i, j, k, l";
  const JobData job = job_of(20, 4);
  const double exact = 210.0 * 210.0;
  CHECK(fills(temps, statements, job, 10'000'000) == exact);
  CHECK(fills(temps, statements, job, 100'000) == Approx(exact).epsilon(0.1));
}

TEST_CASE("a sample stands for all where few iterations pass, and these take long") {
  // 27,405 of 810,000 iterations pass, of which each follows its inner loops.
  const std::string statements =
      "pardo i, j, k, l\nwhere i < j\nwhere j < k\nwhere k < l\ndo n\nif n > 50\nt[i,j] = 1.0\nendif\nenddo n\n"
      "endpardo i, j, k, l";
  const double exact = 30.0 * 29 * 28 * 27 / 24 * 50;
  for (const std::int64_t steps : {300'000, 1'000'000, 3'000'000})
    CHECK(fills(temps, statements, job_of(30, 4), steps) == Approx(exact).epsilon(0.1));
}

TEST_CASE("counting ends, whatever the program") {
  // Long loops inside of each other, all of whose values decide something; and ranges whose product is no number.
  std::string body = "pardo i, j\nif i == count\nt[i,j] = 1.0\nendif\nendpardo i, j\n",
              statements = "do n\nif n == count\ncount = 2\nendif\n";
  for (int k = 0; k < 500; ++k) statements += body;
  const Module outer = module_of(temps, statements + "enddo n");
  const JobData job = job_of(30, 4);
  const WorkCount work = count_work(outer, bind_program(outer, job), job, 1'000'000);
  CHECK(work.steps < 4'000'000);
  CHECK(executions(outer, work, Opcode::pardo_begin) == Approx(100.0 * 500));
  const Module wide = module_of("index x = 1:2000000000\nindex y = 1:2000000000\nindex z = 1:2000000000\nscalar s\n",
                                "pardo x, y, z\nwhere x < y\nwhere y < z\ns += 1.0\nendpardo x, y, z");
  const WorkCount counted = count_work(wide, bind_program(wide, job), job, 100'000);
  CHECK(counted.steps < 400'000);
  CHECK(executions(wide, counted, Opcode::pardo_begin) == 1.0);
  CHECK(std::isfinite(counted.nests.back().iterations));
}

TEST_CASE("an empty range is no iteration") {
  JobData job = job_of(3, 4);
  job.ints["norb"] = 0;
  CHECK(fills(temps, "do i\ndo j\nt[i,j] = 1.0\nenddo j\nenddo i", job) == 0);
}
