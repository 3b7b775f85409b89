// The report of a known program: what is counted, how sizes are written, and that text and JSON show the same value.
#include <catch2/catch.hpp>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "compiler/pipeline.h"
#include "compiler/report/model.h"
#include "runtime/base/error.h"

using namespace sial;
using Catch::Matchers::Contains;

namespace {

report::Report report_of(const char* name) {
  SourceManager sources;
  Emitter emitter;
  const CompileResult result = compile_file(std::string(SIALX_SOURCE_DIR "/tests/lang/ir/") + name, {}, sources, emitter);
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
  for (const char* part : {"program data (", "distributed", "norb*norb*2", "never used: c", "values the job must give", "pardo p,q", "fill_block_sequential wr"})
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

TEST_CASE("statistics of a run") {
  const File good(R"({"ranks": 2, "hit_ratio": 0.75, "total": {"gets": 8, "wall_time": 1.5},
    "lines": [{"program": "data", "file": "data.sialx", "line": 3, "executions": 4, "seconds": 0.1},
              {"program": "data", "file": "data.sialx", "line": 9, "executions": 1, "seconds": 0.5},
              {"program": "other", "file": "other.sialx", "line": 1, "executions": 1, "seconds": 9.0}],
    "remote_accesses": [{"program": "data", "file": "data.sialx", "line": 3, "array": "d", "accesses": 8, "blocked": 2, "bytes": 64, "wait_seconds": 0.01}]})");
  report::Report r = report_of("data.sialx");
  r.run = report::read_run(good.path, r.program);
  CHECK(r.run->ranks == 2);
  REQUIRE(r.run->lines.size() == 2);
  CHECK(r.run->lines[0].place == "data.sialx:9");
  CHECK_THAT(to_text(r), Contains("run on 2 ranks, hit ratio 0.7500") && Contains("d at data.sialx:3"));
  CHECK(nlohmann::json::parse(to_json(r))["run"]["remote_accesses"][0]["blocked"] == 2);
}

TEST_CASE("files that are no statistics") {
  CHECK_THROWS_AS(report::read_run("/nonexistent/run.json", "p"), WorldError);
  CHECK_THROWS_AS(report::read_run("/", "p"), WorldError);
  const File text("hello"), incomplete(R"({"ranks": 1})");
  CHECK_THROWS_WITH(report::read_run(text.path, "p"), Contains("is not a statistics file"));
  CHECK_THROWS_WITH(report::read_run(incomplete.path, "p"), Contains("is not a statistics file"));
}
