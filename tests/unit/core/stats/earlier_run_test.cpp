#include <catch2/catch.hpp>

#include <unistd.h>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "runtime/core/stats/earlier_run.h"

using namespace sial;

namespace {

JobStats run() {
  JobStats job;
  job.facts.programs.resize(2);
  job.facts.programs[0].program = "scf";
  job.facts.programs[0].source_hash = "a1";
  job.facts.programs[1].program = "cc";
  job.facts.programs[1].source_hash = "b2";
  job.facts.job = {{{"norb", 4}}, {{"conv", 1e-8}}, {{"ao", {3, 5}}}};
  job.per_rank.resize(2);
  job.per_rank[0][Counter::wall_time] = 20;
  job.per_rank[1][Counter::wall_time] = 19;
  job.total.lines.push_back({"scf", "scf.sialx", 3, 10, 6.0});
  job.total.lines.push_back({"cc", "cc.sialx", 4, 10, 20.0});
  job.total.lines.push_back({"cc", "cc.sialx", 5, 10, 4.0});
  return job;
}

}  // namespace

TEST_CASE("an earlier run of the same job tells what each program took") {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("sialx_earlier_" + std::to_string(::getpid()) + ".json")).string();
  const std::vector<std::pair<std::string, std::string>> programs{{"scf", "a1"}, {"cc", "b2"}};
  const JobStats was = run();
  CHECK(earlier_program_seconds(path, 2, programs, was.facts.job).empty());
  write_stats_json(was, path);
  const std::vector<double> seconds = earlier_program_seconds(path, 2, programs, was.facts.job);
  REQUIRE(seconds.size() == 2);
  CHECK(seconds[0] == Approx(4));
  CHECK(seconds[1] == Approx(16));
  // Another job, and files that are none.
  CHECK(earlier_program_seconds(path, 3, programs, was.facts.job).empty());
  CHECK(earlier_program_seconds(path, 2, {{"scf", "a1"}}, was.facts.job).empty());
  CHECK(earlier_program_seconds(path, 2, {{"scf", "a1"}, {"cc", "b3"}}, was.facts.job).empty());
  JobFacts other = was.facts.job;
  other.scalars["conv"] = 1e-9;
  CHECK(earlier_program_seconds(path, 2, programs, other).empty());
  other = was.facts.job;
  other.segments["ao"] = {4, 4};
  CHECK(earlier_program_seconds(path, 2, programs, other).empty());
  for (const char* text : {"", "{", "[]", "{\"programs\": 3}"}) {
    std::ofstream(path) << text;
    CHECK(earlier_program_seconds(path, 2, programs, was.facts.job).empty());
  }
  std::remove(path.c_str());
}
