#include <catch2/catch.hpp>

#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>

#include <nlohmann/json.hpp>

#include "runtime/core/base/error.h"
#include "runtime/core/stats/stats.h"

namespace {

sial::Stats sample(double accesses, double blocked, double wall) {
  sial::Stats s;
  s[sial::Counter::accesses] = accesses;
  s[sial::Counter::blocked_accesses] = blocked;
  s[sial::Counter::wall_time] = wall;
  s.lines.push_back({"p", "p.sialx", 7, 3, 0.5, 0.125});
  s.lines[0].flops = 1000;
  s.copies.push_back({"p", "p.sialx", "t", 7, 3, 96, 2, 64});
  s.accesses.push_back({"p", "p.sialx", "d", 9, 4, 1, 128, 64, 32, 1, 0.25, 0.0625 * wall});
  s.kernels.push_back({"p", "p.sialx", "tiles", "because of " + std::to_string(static_cast<int>(wall)), 7, 3, 4e9, 800,
                       wall, 100 * wall});
  s.kernels.push_back({"p", "p.sialx", "copy", "in order", 8, 1, 0, 5e8, 0.5, 5e8});
  s.transfers.push_back({"p", "p.sialx", "t", 7, {1, 80}, {2, 160}, {3, 240}, {4, 320}, {5, 400}, {6, 480}});
  s.code = {"on", 5, 2, 3, 1, 0.25, static_cast<std::uint64_t>(10 * wall)};
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
  REQUIRE(t.copies.size() == 1);
  CHECK(t.copies[0].array == "t");
  CHECK(t.copies[0].line == 7);
  CHECK(t.copies[0].copied == 3);
  CHECK(t.copies[0].bytes_copied == 96);
  CHECK(t.copies[0].elided == 2);
  CHECK(t.copies[0].bytes_elided == 64);
  REQUIRE(t.transfers.size() == 1);
  CHECK(t.transfers[0].array == "t");
  CHECK(t.transfers[0].line == 7);
  CHECK(t.transfers[0].in.transfers == 1);
  CHECK(t.transfers[0].out.bytes == 160);
  CHECK(t.transfers[0].in_unoptimized.transfers == 3);
  CHECK(t.transfers[0].out_unoptimized.bytes == 320);
  CHECK(t.transfers[0].in_lower_bound.bytes == 400);
  CHECK(t.transfers[0].out_lower_bound.transfers == 6);
  REQUIRE(t.kernels.size() == 2);
  CHECK(t.kernels[0].method == "tiles");
  CHECK(t.kernels[0].why == "because of 1");
  CHECK(t.kernels[0].line == 7);
  CHECK(t.kernels[0].calls == 3);
  CHECK(t.kernels[0].flops == 4e9);
  CHECK(t.kernels[0].bytes == 800);
  CHECK(t.kernels[0].seconds == 1.5);
  CHECK(t.kernels[0].largest == 150);
  CHECK(t.code.state == "on");
  CHECK(t.code.asked == 5);
  CHECK(t.code.compiled == 2);
  CHECK(t.code.from_disk == 3);
  CHECK(t.code.failed == 1);
  CHECK(t.code.compile_seconds == 0.25);
  REQUIRE(t.accesses.size() == 1);
  CHECK(t.accesses[0].array == "d");
  CHECK(t.lines[0].compute_seconds == 0.125);
  CHECK(t.lines[0].flops == 1000);
  CHECK(t.accesses[0].bytes == 128);
  CHECK(t.accesses[0].moved == 64);
  CHECK(t.accesses[0].in_place == 32);
  CHECK(t.accesses[0].firsts == 1);
  CHECK(t.accesses[0].first_wait_seconds == s.accesses[0].first_wait_seconds);
}

TEST_CASE("reduction sums counts, takes the longest wall time and merges lines") {
  const sial::JobStats job = sial::reduce_stats({sample(10, 2, 1.5), sample(30, 8, 2.5)});
  CHECK(job.total[sial::Counter::accesses] == 40);
  CHECK(job.total[sial::Counter::wall_time] == 2.5);
  CHECK(job.hit_ratio() == 0.75);
  REQUIRE(job.total.lines.size() == 1);
  CHECK(job.total.lines[0].executions == 6);
  CHECK(job.total.lines[0].seconds == 1.0);
  CHECK(job.total.lines[0].compute_seconds == 0.25);
  CHECK(job.total.lines[0].slowest_seconds == 0.5);
  CHECK(job.total.lines[0].flops == 2000);
  REQUIRE(job.total.copies.size() == 1);  // of both ranks
  CHECK(job.total.copies[0].copied == 6);
  CHECK(job.total.copies[0].bytes_elided == 128);
  CHECK(job.total.accesses[0].firsts == 2);
  CHECK(job.total.accesses[0].first_wait_seconds == 0.25);
  CHECK(job.total.accesses[0].wait_seconds == 0.5);
  CHECK(job.per_rank.size() == 2);
  CHECK(sial::JobStats{}.hit_ratio() == 1.0);
}

TEST_CASE("kernels of a line that went one way are one row, with the reason at the largest") {
  const sial::JobStats job = sial::reduce_stats({sample(1, 0, 3), sample(1, 0, 2)});
  REQUIRE(job.total.kernels.size() == 2);
  const sial::KernelCost& tiles = job.total.kernels[0];
  CHECK(tiles.calls == 6);
  CHECK(tiles.flops == 8e9);
  CHECK(tiles.bytes == 1600);
  CHECK(tiles.seconds == 5);
  CHECK(tiles.why == "because of 3");
  CHECK(job.total.code.state == "on");
  CHECK(job.total.code.from_disk == 6);
  CHECK(job.total.code.compile_seconds == 0.5);
  for (const sial::Stats& rank : job.per_rank) CHECK(rank.kernels.empty());
  sial::Stats later = sample(1, 0, 3);  // of the same engine
  later.code.compiled = 4;
  const sial::CodeCost shared = sial::reduce_stats({sample(1, 0, 3), later, sample(1, 0, 2)}).total.code;
  CHECK(shared.asked == 10);
  CHECK(shared.compiled == 6);
  std::ostringstream text;
  sial::print_kernels(job, text);
  CHECK(
      text.str() ==
      "block kernels, line by line; generated code: on; 10 asked for, 4 compiled in 0.5 s, 6 read from disk, 2 failed\n"
      "p.sialx:7: tiles, 6 calls, 1.60 GFLOP/s: because of 3\n"
      "p.sialx:8: copy, 2 calls, 1.00 GB/s: in order\n");
  std::ostringstream none;
  sial::print_kernels(sial::JobStats{}, none);
  CHECK(none.str() == "block kernels, line by line; generated code: none\nno block operation ran\n");
  CHECK(sial::kernel_speed(sial::KernelCost{}) == "-");
}

TEST_CASE("statistics from before kernels, or transfers, were counted are read") {
  sial::Stats s = sample(10, 2, 1.5);
  s.kernels.clear();
  s.code = {};
  s.transfers.clear();
  std::vector<std::byte> bytes = sial::pack_stats(s);
  bytes.resize(bytes.size() - sizeof(std::uint64_t));
  CHECK(sial::unpack_stats(bytes).transfers.empty());
  // Without the number of rows, the length of the state, four counts, the seconds and the engine.
  bytes.resize(bytes.size() - 8 * sizeof(std::uint64_t));
  const sial::Stats t = sial::unpack_stats(bytes);
  CHECK(t.copies.size() == 1);
  CHECK(t.kernels.empty());
  CHECK(t.code.state.empty());
}

TEST_CASE("rows of one line are one line of their rank") {
  sial::Stats a = sample(1, 0, 1), b = sample(1, 0, 1);
  a.lines.push_back({"p", "p.sialx", 7, 1, 0.75});
  const sial::JobStats job = sial::reduce_stats({a, b});
  REQUIRE(job.total.lines.size() == 1);
  CHECK(job.total.lines[0].seconds == 1.75);
  CHECK(job.total.lines[0].slowest_seconds == 1.25);
}

TEST_CASE("merged rows of a rank reduce to the same totals") {
  sial::Stats rank = sample(1, 0, 1);
  const sial::Stats other = sample(4, 1, 2.5);
  rank.lines.insert(rank.lines.end(), other.lines.begin(), other.lines.end());
  rank.accesses.insert(rank.accesses.end(), other.accesses.begin(), other.accesses.end());
  rank.copies.insert(rank.copies.end(), other.copies.begin(), other.copies.end());
  rank.kernels.insert(rank.kernels.end(), other.kernels.begin(), other.kernels.end());
  rank.transfers.insert(rank.transfers.end(), other.transfers.begin(), other.transfers.end());
  sial::Stats merged = rank;
  sial::merge_rows(merged);
  CHECK(merged.lines.size() == rank.lines.size() / 2);
  CHECK(merged.accesses.size() == rank.accesses.size() / 2);
  CHECK(merged.copies.size() == rank.copies.size() / 2);
  CHECK(merged.kernels.size() == rank.kernels.size() / 2);
  CHECK(merged.transfers.size() == rank.transfers.size() / 2);
  const sial::JobStats once = sial::reduce_stats({rank, other}), twice = sial::reduce_stats({merged, other});
  CHECK(sial::pack_stats(once.total) == sial::pack_stats(twice.total));
  CHECK(once.total.lines[0].slowest_seconds == twice.total.lines[0].slowest_seconds);
}

TEST_CASE("run.json and the summary show the same numbers") {
  sial::JobStats job = sial::reduce_stats({sample(10, 2, 1.5), sample(10, 2, 0.5)});
  job.facts.version = "1.2.3";
  job.facts.options = {{"store", "share"}};
  job.facts.machine = sial::machine_facts();
  job.facts.programs = {{"p", std::string(64, 'a'), 2, {}, {{"i", "aoindex", 4, 2.5}}}};
  const std::string path = std::tmpnam(nullptr);
  sial::write_stats_json(job, path);
  const auto j = nlohmann::json::parse(std::ifstream(path));
  std::remove(path.c_str());
  CHECK(j["format"] == 5);
  CHECK(j["sialrun"] == "1.2.3");
  CHECK(j["options"]["store"] == "share");
  CHECK(std::stoi(j["machine"]["processors"].get<std::string>()) > 0);
  CHECK(j["programs"][0]["indices"][0]["mean_extent"] == 2.5);
  CHECK(j["ranks"] == 2);
  CHECK(j["total"]["accesses"] == 20);
  CHECK(j["lines"][0]["slowest_rank_seconds"] == 0.5);
  CHECK(j["block_copies"][0]["bytes_copied"] == 192);
  CHECK(j["block_copies"][0]["array"] == "t");
  CHECK(j["device_transfers"][0] ==
        nlohmann::json::parse(R"({"program": "p", "file": "p.sialx", "line": 7, "array": "t", "in": 2, "bytes_in": 160,
      "out": 4, "bytes_out": 320, "in_unoptimized": 6, "bytes_in_unoptimized": 480, "out_unoptimized": 8, "bytes_out_unoptimized": 640,
      "in_lower_bound": 10, "bytes_in_lower_bound": 800, "out_lower_bound": 12, "bytes_out_lower_bound": 960})"));
  CHECK(j["kernels"]["code"] ==
        nlohmann::json::parse(
            R"({"state": "on", "asked": 10, "compiled": 4, "from_disk": 6, "failed": 2, "compile_seconds": 0.5})"));
  REQUIRE(j["kernels"]["choices"].size() == 2);
  CHECK(j["kernels"]["choices"][0] ==
        nlohmann::json::parse(
            R"({"program": "p", "file": "p.sialx", "line": 7, "strategy": "tiles", "why": "because of 1",
                                                                "calls": 6, "flops": 8e9, "bytes": 1600.0, "seconds": 2.0})"));
  CHECK(j["remote_accesses"][0]["bytes_moved"] == 128);
  CHECK(j["remote_accesses"][0]["first_wait_seconds"] == 0.0625);  // the mean of 0.09375 and 0.03125
  CHECK(j["per_rank"][0]["wall_time"] == 1.5);
  CHECK(j["lines"][0]["line"] == 7);
  CHECK(j["remote_accesses"][0]["blocked"] == 2);
  std::ostringstream text;
  sial::print_stats(job, text);
  CHECK(text.str().find("hit ratio 0.8000") != std::string::npos);
  CHECK(text.str().find("p.sialx:7") != std::string::npos);
  CHECK(text.str().find("4.00 GFLOP/s  tiles at p.sialx:7") != std::string::npos);
  CHECK(text.str().find("generated code: on; 10 asked for") != std::string::npos);
  CHECK_THROWS_AS(sial::write_stats_json(job, "/no/such/folder/run.json"), sial::EnvironmentError);
}

TEST_CASE("times of a device are printed where somebody took them") {
  const auto printed = [](const sial::JobStats& job) {
    const std::string path = std::tmpnam(nullptr);
    sial::write_stats_json(job, path);
    const auto total = nlohmann::json::parse(std::ifstream(path))["total"];
    std::remove(path.c_str());
    std::ostringstream text;
    sial::print_stats(job, text);
    return std::pair(total, text.str());
  };
  sial::Stats rank;
  const auto [none, no_text] = printed(sial::reduce_stats({rank}));
  CHECK(none["device_timed"] == 0);
  CHECK(none["wall_time"] == 0.0);
  for (const char* name : {"device_kernel_time", "device_in_time", "device_out_time", "device_copy_time",
                           "device_overlap_time", "device_wait_time"})
    CHECK_FALSE(none.contains(name));
  CHECK(no_text.find("at kernels") == std::string::npos);
  rank[sial::Counter::device_timed] = 4;
  rank[sial::Counter::device_kernel_time] = 0.25;
  rank[sial::Counter::device_copy_time] = 0.5;
  const auto [some, text] = printed(sial::reduce_stats({rank, rank}));
  CHECK(some["device_timed"] == 8);
  CHECK(some["device_kernel_time"] == 0.5);
  CHECK(some["device_overlap_time"] == 0.0);  // measured to be none
  CHECK(text.find("device: 0.500 s at kernels") != std::string::npos);
  CHECK(text.find("of 1.000 s of copies 0.000 s beside kernels") != std::string::npos);
}
