#include <catch2/catch.hpp>

#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>

#include <nlohmann/json.hpp>

#include "runtime/base/error.h"
#include "runtime/stats/stats.h"

namespace {

sial::Stats sample(double accesses, double blocked, double wall) {
  sial::Stats s;
  s[sial::Counter::accesses] = accesses;
  s[sial::Counter::blocked_accesses] = blocked;
  s[sial::Counter::wall_time] = wall;
  s.lines.push_back({"p", "p.sialx", 7, 3, 0.5});
  s.accesses.push_back({"p", "p.sialx", "d", 9, 4, 1, 128, 0.25});
  return s;
}

}  // namespace

TEST_CASE("counter rows have distinct numbers and names") {
  std::set<int> numbers;
  std::set<std::string> names;
  for (const sial::CounterRow& row : sial::counter_rows()) {
    CHECK(numbers.insert(row.number).second);
    CHECK(names.insert(row.name).second);
    CHECK(std::string(row.meaning).size() > 5);
  }
  CHECK(static_cast<int>(numbers.size()) == sial::counter_count);
}

TEST_CASE("statistics survive the journey as bytes") {
  const sial::Stats s = sample(10, 2, 1.5);
  const sial::Stats t = sial::unpack_stats(sial::pack_stats(s));
  CHECK(t.value == s.value);
  REQUIRE(t.lines.size() == 1);
  CHECK(t.lines[0].line == 7);
  CHECK(t.lines[0].executions == 3);
  REQUIRE(t.accesses.size() == 1);
  CHECK(t.accesses[0].array == "d");
  CHECK(t.accesses[0].bytes == 128);
}

TEST_CASE("reduction sums counts, takes the longest wall time and merges lines") {
  const sial::JobStats job = sial::reduce_stats({sample(10, 2, 1.5), sample(30, 8, 2.5)});
  CHECK(job.total[sial::Counter::accesses] == 40);
  CHECK(job.total[sial::Counter::wall_time] == 2.5);
  CHECK(job.hit_ratio() == 0.75);
  REQUIRE(job.total.lines.size() == 1);
  CHECK(job.total.lines[0].executions == 6);
  CHECK(job.total.accesses[0].wait_seconds == 0.5);
  CHECK(job.per_rank.size() == 2);
  CHECK(sial::JobStats{}.hit_ratio() == 1.0);
}

TEST_CASE("run.json and the summary show the same numbers") {
  const sial::JobStats job = sial::reduce_stats({sample(10, 2, 1.5)});
  const std::string path = std::tmpnam(nullptr);
  sial::write_stats_json(job, path);
  const auto j = nlohmann::json::parse(std::ifstream(path));
  std::remove(path.c_str());
  CHECK(j["ranks"] == 1);
  CHECK(j["total"]["accesses"] == 10);
  CHECK(j["per_rank"][0]["wall_time"] == 1.5);
  CHECK(j["lines"][0]["line"] == 7);
  CHECK(j["remote_accesses"][0]["blocked"] == 1);
  std::ostringstream text;
  sial::print_stats(job, text);
  CHECK(text.str().find("hit ratio 0.8000") != std::string::npos);
  CHECK(text.str().find("p.sialx:7") != std::string::npos);
  CHECK_THROWS_AS(sial::write_stats_json(job, "/no/such/folder/run.json"), sial::WorldError);
}
