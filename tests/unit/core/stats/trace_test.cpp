// The record of spans: what is kept when it is full, that nothing is lost from the totals, and the file.
#include <catch2/catch.hpp>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "runtime/core/base/error.h"
#include "runtime/core/stats/trace.h"

using namespace sial;

TEST_CASE("a record that is full keeps the long spans and the time of the others") {
  Trace trace(100, 1.0);
  double compute = 0, puts = 0;
  for (int i = 0; i < 10000; ++i) {
    const double begin = 1.0 + i, length = i % 100 == 0 ? 0.9 : 0.001 * (i % 7);
    const bool put = i % 3 == 0;
    trace.add(put ? TraceKind::put : TraceKind::compute, {0, i}, begin, begin + length);
    (put ? puts : compute) += length;
  }
  CHECK(trace.spans().size() < 100);
  CHECK(trace.spans().size() > 10);
  std::int64_t spans = 0;
  for (const TraceSpan& s : trace.spans()) {
    CHECK(s.begin >= 0);
    CHECK(s.end - s.begin > 0.5);  // hundred of the long ones fill the record
    (s.kind == TraceKind::put ? puts : compute) -= s.end - s.begin;
    ++spans;
  }
  for (const Trace::Dropped& d : trace.dropped()) spans += d.count;
  CHECK(spans == 10000);
  CHECK(trace.dropped()[static_cast<int>(TraceKind::put)].seconds == Approx(puts));
  CHECK(trace.dropped()[static_cast<int>(TraceKind::compute)].seconds == Approx(compute));
}

TEST_CASE("equally long spans do not fill the record for ever") {
  Trace trace(10, 0);
  for (int i = 0; i < 1000; ++i) trace.add(TraceKind::compute, {0, i}, i, i + 0.5);
  CHECK(trace.spans().size() < 10);
}

TEST_CASE("the file has a process per rank, a lane per kind, and nesting survives rounding") {
  const std::string path = std::tmpnam(nullptr);
  TraceWriter writer(
      path, 2, [](const TraceSpan& s) { return TraceName{"a \"name\"", "p.sialx:" + std::to_string(s.place.pc)}; });
  const TraceSpan outer{0.1234567894, 0.2000000006, {0, 3}, TraceKind::put},
      inner{0.1234567894, 0.2000000006, {0, 3}, TraceKind::fetch_wait};
  writer.spans(1, std::vector<TraceSpan>{inner, outer});
  std::array<Trace::Dropped, trace_kinds> dropped{};
  dropped[static_cast<int>(TraceKind::barrier)] = {4, 0.5};
  writer.dropped(1, dropped);
  writer.finish();
  const auto j = nlohmann::json::parse(std::ifstream(path));
  std::remove(path.c_str());
  std::vector<nlohmann::json> spans;
  int processes = 0, lanes = 0;
  for (const auto& e : j["traceEvents"]) {
    if (e["ph"] == "X") spans.push_back(e);
    processes += e["name"] == "process_name";
    lanes += e["name"] == "thread_name";
    if (e["name"] == "left_out") CHECK(e["args"]["microseconds"] == 500000.0);
  }
  CHECK(processes == 2);
  CHECK(lanes == 8);
  REQUIRE(spans.size() == 2);
  CHECK(spans[0]["ts"] == spans[1]["ts"]);
  CHECK(spans[0]["dur"] == spans[1]["dur"]);
  CHECK(spans[0]["tid"] == spans[1]["tid"]);
  CHECK(spans[0]["pid"] == 1);
  CHECK(spans[0]["name"] == "a \"name\"");
  CHECK(spans[0]["args"]["at"] == "p.sialx:3");
  CHECK_THROWS_AS([] { TraceWriter("/no/such/folder/t.json", 1, {}).finish(); }(), EnvironmentError);
}
