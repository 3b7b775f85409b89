// The report of a known program: what is counted, how sizes are written, and that text and JSON show the same value.
#include <fmt/format.h>
#include <catch2/catch.hpp>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "compiler/pipeline/pipeline.h"
#include "compiler/report/advice/advice.h"
#include "compiler/report/model.h"
#include "runtime/core/base/error.h"
#include "tests/unit/main/source_path.h"

using namespace sial;
using Catch::Matchers::Contains;

namespace {

report::Report report_of(const char* name) {
  SourceManager sources;
  Emitter emitter;
  const CompileResult result = compile_file(source_path("tests/lang/ir/") + name, {}, sources, emitter);
  REQUIRE(result.module.has_value());
  return report::describe(*result.module);
}

const report::ArrayLine& array(const report::Report& r, const std::string& name) {
  for (const report::ArrayLine& a : r.arrays)
    if (a.name == name) return a;
  FAIL("no array " << name);
  return r.arrays.front();
}

struct File {
  explicit File(const std::string& text) { std::ofstream(path) << text; }
  ~File() { std::remove(path.c_str()); }
  std::string path = std::string(std::tmpnam(nullptr)) + ".json";
};

}  // namespace

TEST_CASE("arrays are counted by what statements do with them") {
  const report::Report r = report_of("data.sialx");
  const report::Uses& d = array(r, "d").uses;
  CHECK(d.fetched == 1);
  CHECK(d.put == 3);
  CHECK(d.accumulated == 4);
  CHECK(d.written == 1);
  CHECK(d.whole == 1);
  CHECK(array(r, "s").uses.whole == 5);
  CHECK(array(r, "c").uses.none());
  CHECK(array(r, "d3").blocks == "norb*norb*2");
  CHECK(r.expected_ints == std::vector<std::string>{"norb"});
  CHECK(r.specials.size() == 4);
}

TEST_CASE("loops are listed in the order of the code with their nesting") {
  const report::Report r = report_of("control.sialx");
  REQUIRE(r.loops.size() == 5);
  CHECK(r.loops[0].kind == "do");
  CHECK(r.loops[0].wheres == 1);
  CHECK(r.loops[1].indices == "k,p,q");
  CHECK(r.loops[1].trips == "norb*norb*norb");
  CHECK(r.loops[1].pragma == "default_loop_manager");
  CHECK(r.loops[4].part == "outer");
  CHECK(report_of("blocks.sialx").loops[4].depth == 2);
}

TEST_CASE("text") {
  const std::string text = to_text(report_of("data.sialx"));
  for (const char* part : {"program data (", "distributed", "norb*norb*2", "never used: c", "values the job must give",
                           "pardo p,q", "fill_block_sequential wr"})
    CHECK_THAT(text, Contains(part));
}

TEST_CASE("json carries the same value") {
  const report::Report r = report_of("data.sialx");
  const auto j = nlohmann::json::parse(to_json(r));
  CHECK(j["program"] == "data");
  CHECK(j["arrays"].size() == r.arrays.size());
  CHECK(j["loops"].size() == r.loops.size());
  CHECK_FALSE(j.contains("run"));
}

namespace {

/// run.json of two ranks of data.sialx, with something changed in the text.
std::string statistics(const std::string& from = "", const std::string& to = "") {
  const report::Report r = report_of("data.sialx");
  std::string indices;
  for (const report::IndexLine& i : r.indices)
    indices += (indices.empty() ? "" : ",") + std::string(R"({"name": ")") + i.name +
               R"(", "kind": "aoindex", "count": 3, "mean_extent": 4.5})";
  std::string text =
      R"({"format": 2, "sialrun": "1.0", "nodes": 1, "servers": 0, "options": {"store": "share"}, "machine": {"processor": "x"},
    "programs": [{"program": "data", "source_hash": ")" +
      r.source_hash + R"(", "optimisation": 2, "indices": [)" + indices + R"(]},
                 {"program": "other", "source_hash": "0", "optimisation": 2, "indices": []}],
    "ranks": 2, "hit_ratio": 0.75, "total": {"gets": 8, "wall_time": 1.5},
    "per_rank": [{"wall_time": 1.5, "compute_time": 1.0, "barrier_time": 0.25, "overhead_time": 0.25}, {"wall_time": 1.5, "compute_time": 0.5, "fetch_wait_time": 1.0}],
    "lines": [{"program": "data", "file": "data.sialx", "line": 3, "executions": 4, "seconds": 0.1, "compute_seconds": 0, "slowest_rank_seconds": 0.1, "flops": 0},
              {"program": "data", "file": "data.sialx", "line": 9, "executions": 1, "seconds": 0.5, "compute_seconds": 0.4, "slowest_rank_seconds": 0.3, "flops": 0},
              {"program": "other", "file": "other.sialx", "line": 1, "executions": 1, "seconds": 9.0, "compute_seconds": 0, "slowest_rank_seconds": 9, "flops": 0}],
    "remote_accesses": [{"program": "data", "file": "data.sialx", "line": 3, "array": "d", "accesses": 8, "blocked": 2, "bytes": 64, "bytes_moved": 32,
                         "bytes_in_place": 32, "wait_seconds": 0.01, "first_wait_seconds": 0.008}],
    "block_copies": [{"program": "data", "file": "data.sialx", "line": 9, "array": "t", "copied": 2, "bytes_copied": 4000, "elided": 1, "bytes_elided": 2000},
                     {"program": "data", "file": "data.sialx", "line": 3, "array": "d", "copied": 1, "bytes_copied": 500, "elided": 0, "bytes_elided": 0},
                     {"program": "other", "file": "other.sialx", "line": 1, "array": "t", "copied": 9, "bytes_copied": 9, "elided": 0, "bytes_elided": 0}]})";
  if (!from.empty()) {
    REQUIRE(text.find(from) != std::string::npos);
    text.replace(text.find(from), from.size(), to);
  }
  return text;
}

RemarkRow remark(RemarkKind kind, const std::string& name, std::int32_t line, const Cost& bytes,
                 const Cost& executions) {
  RemarkRow r;
  r.kind = kind;
  r.pass = "pass";
  r.name = name;
  r.place = {0, line, 1};
  r.text = "text of " + name;
  r.bytes = bytes;
  r.executions = executions;
  return r;
}

Module compiled(const char* name) {
  SourceManager sources;
  Emitter emitter;
  CompileResult result = compile_file(source_path("tests/lang/ir/") + name, {}, sources, emitter);
  REQUIRE(result.module.has_value());
  result.module->remarks.clear();
  return std::move(*result.module);
}

}  // namespace

TEST_CASE("statistics of a run") {
  const File good(statistics());
  report::Report r = report_of("data.sialx");
  report::bind(r, report::read_run(good.path, r.program));
  CHECK(r.run->ranks == 2);
  REQUIRE(r.run->lines.size() == 2);
  CHECK(r.run->lines[0].line == 9);
  CHECK(r.run->sizes.at(r.indices[0].name).extent == 4.5);
  CHECK_THAT(to_text(r), Contains("on 2 ranks, hit ratio 0.7500") && Contains("d at data.sialx:3") &&
                             Contains("computed 1.33 times the mean"));
  const auto j = nlohmann::json::parse(to_json(r));
  CHECK(j["run"]["remote_accesses"][0]["blocked"] == 2);
  CHECK(j["run"]["remote_accesses"][0]["mean_wait_seconds"] == 0.00125);
  CHECK(j["run"]["breakdown"][1]["fetch wait"] == 1.0);
}

TEST_CASE("block copies of a run stand beside the remarks that explain them") {
  Module m = compiled("data.sialx");
  m.remarks = {remark(RemarkKind::missed, "has-to-stay", 9, Cost::constant(8), Cost::constant(1)),
               remark(RemarkKind::passed, "another", 3, Cost::constant(8), Cost::constant(1))};
  report::Report r = report::describe(m);
  std::string run = statistics();
  const std::string as_named = "\"file\": \"data.sialx\"", as_compiled = "\"file\": \"" + r.files[0] + "\"";
  for (std::size_t at = 0; (at = run.find(as_named, at)) != std::string::npos; at += as_compiled.size())
    run.replace(at, as_named.size(), as_compiled);
  const File good(run);
  report::bind(r, report::read_run(good.path, r.program));
  const std::string text = to_text(r);
  CHECK_THAT(text, Contains("block copies of this program: 3 (" + report::bytes_number(4500) + "), spared 1 (" +
                            report::bytes_number(2000) + ")"));
  CHECK_THAT(text, Contains(fmt::format("{:>12} {:>10}  {:<40} {}\n", report::bytes_number(4000), 2,
                                        "t at " + r.files[0] + ":9", "has-to-stay")));
  CHECK_THAT(text, Contains("2 copies of `t` (" + report::bytes_number(4000) + "), 1 spared (" +
                            report::bytes_number(2000) + ")") &&
                       Contains("d at " + r.files[0] + ":3"));
  const auto j = nlohmann::json::parse(to_json(r));
  REQUIRE(j["run"]["block_copies"].size() == 2);  // not those of other programs
  CHECK(j["run"]["block_copies"][0]["bytes_copied"] == 4000);
  // Runs of versions that did not count them are read all the same.
  const std::string with = statistics();
  std::string without = with.substr(0, with.find(",\n    \"block_copies\"")) + "}";
  const File older(without);
  report::bind(r, report::read_run(older.path, r.program));
  CHECK(r.run->copies.empty());
  CHECK_THAT(to_text(r), !Contains("block copies of this program"));
}

TEST_CASE("transfers to and from a device, most bytes first, and what its memory had to do with them") {
  const auto row = [](const std::string& program, int line, const std::string& array, int in, int out) {
    return fmt::format(
        R"({{"program": "{}", "file": "data.sialx", "line": {}, "array": "{}", "in": {}, "bytes_in": {}, "out": {}, "bytes_out": {}, "in_unoptimized": 70,
      "bytes_in_unoptimized": 5600, "out_unoptimized": 70, "bytes_out_unoptimized": 5600, "in_lower_bound": 1, "bytes_in_lower_bound": 80, "out_lower_bound": 0, "bytes_out_lower_bound": 0}})",
        program, line, array, in, 80 * in, out, 80 * out);
  };
  const std::string rows = "\"device_transfers\": [" + row("data", 3, "d", 2, 1) + "," + row("data", 9, "t", 0, 5) +
                           "," + row("other", 1, "x", 9, 9) + "], \"block_copies\"";
  std::string text = statistics("\"block_copies\"", rows);
  const std::string total = "\"total\": {";
  text.replace(
      text.find(total), total.size(),
      total +
          R"("device_operations": 30, "device_bytes_in": 160, "device_bytes_out": 480, "device_bytes_in_unoptimized": 11200, "device_bytes_out_unoptimized": 11200,
               "device_bytes_in_lower_bound": 160, "device_in_lower_bound": 400, "device_allocations": 200, "device_allocation_hits": 199, "device_memory_high_water": 2560,
               "device_evictions": 4, "device_pinned_bytes": 8388608, "device_pins_refused": 2, "device_on_host_instead": 3, "device_self_checks": 6,
               "device_received_direct": 7, "device_bytes_received_direct": 560, "device_received_pipelined": 6, "device_bytes_received_pipelined": 480, "device_pieces_early": 17, "device_ahead": 5, "device_bytes_ahead": 400, "device_ahead_used": 3, "device_bytes_ahead_used": 240,
               "device_deferred_puts": 9, "device_deferred_puts_awaited": 1, "device_sent_direct": 2, "device_bytes_sent_direct": 1600, "device_sent_pipelined": 1, "device_bytes_sent_pipelined": 800,
               "device_starts": 21, "device_waited": 25, "device_batches": 4, "device_batched": 13, )");
  const File good(text);
  report::Report r = report_of("data.sialx");
  report::bind(r, report::read_run(good.path, r.program));
  REQUIRE(r.run->transfers.size() == 2);  // not those of other programs
  CHECK(r.run->transfers[0].array == "t");
  const auto bytes = [](double n) { return report::bytes_number(n); };
  const std::string out = to_text(r);
  CHECK_THAT(out, Contains("device: 30 operations of it, blocks moved in the whole job: as written " + bytes(22400) +
                           ", made " + bytes(640) + ", at least " + bytes(160)));
  CHECK_THAT(out, Contains(bytes(2560) + " in use at most; 200 requests, 99.50 % of them"));
  CHECK_THAT(out, Contains("registered with it: " + bytes(8388608) + ", refused 2 times"));
  CHECK_THAT(out, Contains("received from other nodes straight in its memory: 7 blocks (" + bytes(560) + ")"));
  CHECK_THAT(out, Contains("through the host: 6 blocks (" + bytes(480) +
                           "), in 17 pieces that set off before the rest had come\n"));
  CHECK_THAT(out, Contains("brought before their use: 5 blocks (" + bytes(400) + "), 2 of them for nothing"));
  CHECK_THAT(out, Contains("  9 puts of what only it had left for later, 1 of them waited for in the end\n"));
  CHECK_THAT(out, Contains("sent to other nodes: 2 blocks straight from its memory (" + bytes(1600) +
                           "), 1 block through the host in overlapped pieces (" + bytes(800) + ")"));
  CHECK_THAT(
      out,
      Contains(
          "  21 starts of kernels and products; of small work 25 pieces waited, 13 of them together with others of their shape, in 4 groups\n"));
  CHECK_THAT(out, Contains("4 blocks left for want of room") && Contains("3 operations ran on the host") &&
                      Contains("6 results compared"));
  CHECK_THAT(out, Contains(fmt::format("  {:>10} {:>12} {:>10} {:>12} {:>14} {:>12}  t at data.sialx:9\n", 0, bytes(0),
                                       5, bytes(400), bytes(11200), bytes(80))));
  const auto j = nlohmann::json::parse(to_json(r));
  REQUIRE(j["run"]["device_transfers"].size() == 2);
  CHECK(j["run"]["device_transfers"][1]["bytes_in"] == 160);
  // Its time is not zero where it was not measured.
  CHECK_THAT(out, Contains("time at kernels and copies: not measured (`--device-times`)\n"));
  CHECK(j["run"]["device_times"].is_null());
  text.replace(
      text.find(total), total.size(),
      total +
          R"("device_timed": 7, "device_kernel_time": 2.0, "device_in_time": 0.5, "device_out_time": 0.25, "device_copy_time": 0.625,
               "device_overlap_time": 0.5, "device_wait_time": 0.125, )");
  const File timed(text);
  report::bind(r, report::read_run(timed.path, r.program));
  CHECK_THAT(
      to_text(r),
      Contains(
          "  time: 2 s at kernels, 500 ms at copies to it, 250 ms at copies from it, 80.0 % of copying beside kernels; ranks waited 125 ms for it\n") &&
          !Contains("not measured"));
  CHECK(
      nlohmann::json::parse(to_json(r))["run"]["device_times"] ==
      nlohmann::json::parse(
          R"({"kernel_seconds": 2.0, "in_seconds": 0.5, "out_seconds": 0.25, "copy_seconds": 0.625, "overlapped_seconds": 0.5, "overlap": 0.8, "waited_seconds": 0.125})"));
  const File without(statistics());  // no device
  report::bind(r, report::read_run(without.path, r.program));
  CHECK_THAT(to_text(r), !Contains("device:"));
  CHECK(nlohmann::json::parse(to_json(r))["run"]["device_transfers"].empty());
}

TEST_CASE("kernels of a run: contractions below half of the fastest are marked, with what to change") {
  const std::string source = source_path("tests/lang/analysis/kernels.sialx");
  SourceManager sources;
  Emitter emitter;
  CompileOptions options;
  options.optimisation = 0;
  const CompileResult result = compile_file(source, options, sources, emitter);
  REQUIRE(result.module.has_value());
  report::Report r = report::describe(*result.module);
  const auto line_of = [&](const std::string& form) {
    for (const report::ContractionLayout& l : r.layouts)
      if (l.statement.find(form) != std::string::npos) return l.place.line;
    return 0;
  };
  const int fast = line_of("u[a,i,k,n]"), packed = line_of("w2[b,k,j]"), outer = line_of("o[a,i,b,j] = f[a,i]"),
            half = line_of("y[j,b,k]");
  REQUIRE(fast * packed * outer * half > 0);
  nlohmann::json j;
  for (const report::IndexLine& i : r.indices)
    j["programs"][0]["indices"].push_back({{"name", i.name}, {"kind", i.kind}, {"count", 2}, {"mean_extent", 2.0}});
  j["programs"][0].update({{"program", "kernels"}, {"source_hash", r.source_hash}, {"optimisation", 0}});
  j.update({{"format", 2}, {"sialrun", "1"}, {"nodes", 1}, {"servers", 0}, {"ranks", 1}, {"hit_ratio", 1.0}});
  for (const char* name : {"options", "machine", "total"}) j[name] = nlohmann::json::object();
  for (const char* name : {"per_rank", "lines", "remote_accesses", "block_copies"}) j[name] = nlohmann::json::array();
  j["kernels"]["code"] = {{"state", "off"}, {"asked", 7},  {"compiled", 0},
                          {"from_disk", 0}, {"failed", 0}, {"compile_seconds", 0.0}};
  const auto row = [&](int line, const char* method, double flops, double bytes, double seconds,
                       const char* program = "kernels") {
    j["kernels"]["choices"].push_back({{"program", program},
                                       {"file", r.files[0]},
                                       {"line", line},
                                       {"way", method},
                                       {"why", "as it is"},
                                       {"calls", 3},
                                       {"flops", flops},
                                       {"bytes", bytes},
                                       {"seconds", seconds}});
  };
  row(fast, "tiles", 40e9, 1, 1);
  row(packed, "tiles", 19e9, 1, 1.5);
  row(half, "tiles", 20e9, 1, 1);  // just at half
  row(outer, "blas", 1e9, 1, 0.5);
  row(fast, "copy", 0, 2e9, 0.25);        // no contraction
  row(1, "tiles", 900e9, 1, 1, "other");  // another program's does not count
  const File file(j.dump());
  report::bind(r, report::read_run(file.path, "kernels"));
  REQUIRE(r.run->kernels.size() == 5);
  CHECK(r.run->kernels[0].line == packed);  // the longest
  for (const report::KernelLine& k : r.run->kernels) CHECK(k.slow == (k.line == packed || k.line == outer));
  CHECK_THAT(r.run->kernels[0].advice, Contains("whether another declaration pays over all uses"));
  const std::string text = to_text(r);
  CHECK_THAT(text, Contains("generated code: off; 7 asked for") && Contains("40.00 GFLOP/s") && Contains("8.00 GB/s") &&
                       Contains("below half of the fastest contraction; the orders of its operands' indices") &&
                       Contains("as an outer product it is bound by memory"));
  CHECK_THAT(text, Contains("3 matrix products of 6.33 Gflop each"));
  const auto out = nlohmann::json::parse(to_json(r));
  CHECK(out["run"]["kernels"][0]["slow"] == true);
  CHECK(out["run"]["kernels"][4]["gflop_per_second"].is_null());
  CHECK(out["run"]["generated_code"]["state"] == "off");
  // With the whole job looked at, they say what was found over all uses.
  auto job = std::make_shared<report::JobAdvice>();
  set_job(r, job);
  CHECK(r.run->kernels[0].advice == "nothing: over all uses of the arrays no other declaration pays");
  job = std::make_shared<report::JobAdvice>();
  report::Advice advice;
  advice.kind = "declaration";
  advice.change = "declare `v[a,k,i]` as `v[a,i,k]`";
  advice.seconds = 0.5;
  advice.lines = {{"kernels", r.run->kernels[0].file, packed}};
  job->advice.push_back(advice);
  set_job(r, job);
  CHECK(r.run->kernels[0].advice == "declare `v[a,k,i]` as `v[a,i,k]` (predicted gain over all uses: 500 ms)");
}

TEST_CASE("remarks are ranked by what they cost in all, by the sizes of a run when there is one") {
  Module m = compiled("data.sialx");
  const Cost i = Cost::extent(IndexId(0));
  m.remarks = {remark(RemarkKind::missed, "once-but-large", 3, i * i * 8.0, Cost::constant(1)),  // 8 e^2
               remark(RemarkKind::missed, "small-but-often", 9, Cost::constant(8),
                      Cost::count(IndexId(0)) * Cost::count(IndexId(0)) * Cost::count(IndexId(0))),  // 8 n^3
               remark(RemarkKind::passed, "unknown-often", 9, Cost::constant(8), {})};
  report::Report r = report::describe(m);
  REQUIRE(r.remarks.size() == 3);
  CHECK(r.remarks[0].name == "small-but-often");  // 10^3 against 20^2
  CHECK(r.remarks[2].name == "unknown-often");
  CHECK(r.remarks[2].executions.text.empty());
  CHECK_FALSE(r.remarks[0].all_bytes.value.has_value());
  const File few(statistics());
  report::bind(r, report::read_run(few.path, r.program));
  CHECK(r.remarks[0].name == "small-but-often");  // 3^3 against 4.5^2
  CHECK(r.remarks[0].all_bytes.value == 8 * 27);
  std::string large = statistics();
  for (std::size_t at = 0; (at = large.find("4.5}", at)) != std::string::npos;) large.replace(at, 4, "45}");
  const File larger(large);
  report::bind(r, report::read_run(larger.path, r.program));
  CHECK(r.remarks[0].name == "once-but-large");
  CHECK(r.remarks[0].all_bytes.value == 8 * 45 * 45);
  // Each line knows its remarks, also where no code stands.
  for (const report::SourceLine& l : r.lines)
    for (const std::size_t k : l.remarks) CHECK(r.remarks[k].place.line == l.line);
  report::Filter filter;
  filter.only = "passed";
  report::apply(r, filter);
  REQUIRE(r.remarks.size() == 1);
  CHECK(r.remarks[0].name == "unknown-often");
}

TEST_CASE("numbers are written with their units") {
  CHECK(report::bytes_number(0) == "0 bytes");
  CHECK(report::bytes_number(999) == "999 bytes");
  CHECK(report::bytes_number(999.9) == "1.00 kB");
  CHECK(report::bytes_number(1234567) == "1.23 MB");
  CHECK(report::bytes_number(99960) == "100 kB");
  CHECK(report::flops_number(2.5e12) == "2.50 Tflop");
  CHECK(report::seconds_number(0.00125) == "1.25 ms");
  CHECK(report::seconds_number(3e-9) == "0.00 us");
  CHECK(report::count_number(1e6) == "1000000");
}

TEST_CASE("statistics of earlier formats are read in the present words") {
  const std::string old_names = R"("total": {"device_late_puts": 3, "device_in_least": 40, "near_ahead": 5, )";
  const std::string names =
      R"("total": {"device_deferred_puts": 3, "device_in_lower_bound": 40, "cache_prefetches": 5, )";
  for (const char* format : {"2", "3", "4"}) {
    const bool present = *format == '4';
    std::string text = statistics("\"total\": {", present ? names : old_names);
    text.replace(text.find("\"format\": 2"), 11, std::string("\"format\": ") + format);
    const File file(text);
    const report::Run run = report::read_run(file.path, "data");
    CHECK(run.counter("device_deferred_puts") == 3);
    CHECK(run.counter("device_in_lower_bound") == 40);
    CHECK(run.counter("cache_prefetches") == 5);
    CHECK(run.counter("gets") == 8);
  }
  const File later(statistics("\"format\": 2", "\"format\": 6"));
  CHECK_THROWS_WITH(report::read_run(later.path, "data"), Contains("has format 6") && Contains("reads formats 2 to 5"));
}

TEST_CASE("files that are no statistics") {
  CHECK_THROWS_AS(report::read_run("/nonexistent/run.json", "p"), InputError);
  CHECK_THROWS_AS(report::read_run("/", "p"), InputError);
  const File text("hello"), incomplete(R"({"format": 2, "ranks": 1})"), old(R"({"ranks": 1, "per_rank": []})");
  CHECK_THROWS_WITH(report::read_run(text.path, "p"), Contains("is not a statistics file"));
  CHECK_THROWS_WITH(report::read_run(incomplete.path, "p"), Contains("is not a statistics file"));
  CHECK_THROWS_WITH(report::read_run(old.path, "p"), Contains("written by an earlier sialrun"));
  const File fine(statistics()), wrong(statistics("\"ranks\": 2", "\"ranks\": \"two\""));
  CHECK_THROWS_WITH(report::read_run(fine.path, "p"), Contains("is no run of program `p`"));
  CHECK_THROWS_WITH(report::read_run(wrong.path, "data"), Contains("is not a statistics file"));
  report::Report other = report_of("control.sialx");
  CHECK_THROWS_WITH(report::bind(other, report::read_run(fine.path, "data")), Contains("another version"));
}
