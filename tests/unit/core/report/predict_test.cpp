// Predictions: what machines are read, loops played by hand, and a program whose run is made up.
#include <catch2/catch.hpp>

#include <set>

#include "compiler/pipeline/pipeline.h"
#include "compiler/report/prediction/predict.h"
#include "compiler/report/prediction/timeline.h"
#include "compiler/report/program_parts.h"
#include "runtime/core/base/error.h"
#include "tests/unit/main/source_path.h"
#include "tests/unit/program/job/folder.h"

using namespace sial;
using namespace sial::report;
using Catch::Matchers::Contains;

namespace {

/// Work of 1 ms in each iteration, which gets `gets` blocks of 1 MB from the only server; `ahead`: in its slice.
TimedLoop loop_of(int iterations, int gets, bool ahead, const Target& t) {
  TimedLoop loop;
  loop.tuples = iterations;
  loop.work = 1e-3 * iterations;
  for (int i = 0; i < iterations; ++i) {
    LoopIteration& iteration = loop.iterations.emplace_back();
    iteration.tuple = i;
    for (int g = 0; g < gets; ++g) {
      LoopGet get;
      get.block = static_cast<std::uint64_t>(100 * i + g);
      get.node = t.nodes();
      get.server = t.ranks;
      get.bytes = 1e6;
      get.ahead = ahead;
      get.begins_group = g == 0;
      iteration.gets.push_back(get);
    }
  }
  return loop;
}

Target machine(int ranks, int servers) {
  Target t;
  t.ranks = ranks;
  t.servers = servers;
  t.latency = 1e-4;
  t.bandwidth = 1e10;
  return t;
}

constexpr double ask = 2e-4 + 1e-6;  // another node for iterations

Module compiled_at(const std::string& path) {
  SourceManager sources;
  Emitter emitter;
  const CompileResult result = compile_file(path, {}, sources, emitter);
  REQUIRE(result.module.has_value());
  return *result.module;
}

/// The stream program on one rank: 3 phases of 4 iterations with 2 blocks each; a second in each contraction.
Run stream_run(const Module& m) {
  Run run;
  run.path = "run.json";
  run.ranks = 1;
  run.job = JobValues{{{"length", 2}, {"phases", 3}, {"workers", 4}}, {}, {{"ao", {10, 10}}, {"mo", {10}}}};
  run.options = {{"schedule", "dynamic"}};
  const auto line = [&](int number, std::int64_t executions, double seconds) {
    run.lines.push_back({m.files[0], number, executions, seconds, seconds, seconds, 0});
  };
  for (std::size_t pc = 0; pc < m.code.size(); ++pc) {
    const int number = m.places[pc].line;
    if (m.code[pc].op == Opcode::get) line(number, 24, 0);
    if (m.code[pc].op == Opcode::block_contract) line(number, 24, 24);
    if (m.code[pc].op == Opcode::barrier) line(number, number > 40 ? 3 : 1, 0);
    if (m.code[pc].op == Opcode::pardo_next) line(number, 12, 0);
    if (m.code[pc].op == Opcode::pardo_begin) line(number, 12, 0);
  }
  return run;
}

}  // namespace

TEST_CASE("machines are read") {
  const Target t = read_target("ranks=64,latency=2us,bandwidth=12GB/s,ranks-per-node=8,servers=2,look-ahead=4");
  CHECK(t.ranks == 64);
  CHECK(t.nodes() == 8);
  CHECK(t.servers == 2);
  CHECK(t.latency == Approx(2e-6));
  CHECK(t.bandwidth == Approx(12e9));
  CHECK(t.look_ahead == 4);
  CHECK(read_target("ranks=5,ranks-per-node=0").nodes() == 1);
  CHECK(read_target("ranks=5,ranks-per-node=2").nodes() == 3);
  CHECK(read_target("ranks=1").look_ahead == Target::automatic);
  CHECK(read_target("ranks=1,look-ahead=off").look_ahead == 0);
  for (const char* wrong : {"", "ranks", "ranks=0", "ranks=1.5", "ranks=2,", "ranks=1,latency=3",
                            "ranks=1,latency=1GB/s", "ranks=1,bandwidth=-1GB/s", "ranks=1,bandwidth=0B/s",
                            "ranks=1,wide=3", "ranks=1,ranks=2", "ranks=1,latency=nan s", "ranks=1,look-ahead=maybe"}) {
    INFO(wrong);
    if (std::string(wrong) == "ranks=2,") CHECK_NOTHROW(read_target(wrong));
    else CHECK_THROWS_AS(read_target(wrong), SialError);
  }
}

TEST_CASE("iterations are divided, and the others are asked at the end") {
  const Target t = machine(2, 0);
  RanksState state(t);
  const LoopTimes times = run_loop(loop_of(10, 0, false, t), t, state);
  CHECK(times.work == Approx(5e-3));
  CHECK(times.draws == Approx(ask));
  CHECK(state.longest() == Approx(5e-3 + ask));
  // 3 iterations on 2 nodes: the first has one and takes none of the other's, which has begun them.
  RanksState uneven(t);
  run_loop(loop_of(3, 0, false, t), t, uneven);
  CHECK(uneven.longest() == Approx(2e-3 + ask));
  CHECK(uneven.mean() < uneven.longest());
}

TEST_CASE("ranks without work take what others have left") {
  const Target t = machine(2, 0);
  TimedLoop loop = loop_of(20, 0, false, t);
  loop.iterations.erase(loop.iterations.begin(),
                        loop.iterations.begin() + 10);  // where clauses leave nothing of the first node's
  RanksState state(t);
  const LoopTimes times = run_loop(loop, t, state);
  CHECK(times.work == Approx(loop.work / 2));
  CHECK(state.longest() < 0.8 * loop.work);
}

TEST_CASE("every rank, and the cyclic rule") {
  const Target t = machine(4, 0);
  TimedLoop loop = loop_of(6, 0, false, t);
  loop.division = PardoMode::everywhere;
  RanksState state(t);
  CHECK(run_loop(loop, t, state).work == Approx(6e-3));
  CHECK(state.longest() == Approx(6e-3));
  loop.division = PardoMode::cyclic;
  state.meet(true, {});
  CHECK(run_loop(loop, t, state).work == Approx(1.5e-3));
  CHECK(state.longest() == Approx(2e-3));
}

TEST_CASE("without look-ahead every fetch is waited for, those of a group together") {
  Target t = machine(1, 1);
  t.look_ahead = 0;
  RanksState state(t);
  const LoopTimes one = run_loop(loop_of(5, 1, true, t), t, state);
  CHECK(one.wait == Approx(5 * trip_seconds(t, 1e6)));
  CHECK(one.fetches == 5);
  CHECK(one.bytes == Approx(5e6));
  state.meet(true, {});
  const LoopTimes two = run_loop(loop_of(5, 2, true, t), t, state);
  CHECK(two.wait > one.wait);
  CHECK(two.wait < 2 * one.wait);  // the second is under way meanwhile
}

TEST_CASE("look-ahead hides all but the first fetch where there is work enough") {
  const Target t = machine(1, 1);
  RanksState state(t);
  CHECK(run_loop(loop_of(20, 1, true, t), t, state).wait == Approx(trip_seconds(t, 1e6)));
  RanksState other(t);
  CHECK(run_loop(loop_of(20, 1, false, t), t, other).wait == Approx(20 * trip_seconds(t, 1e6)));
  TimedLoop busy = loop_of(200, 1, true, t);
  busy.work = 0;  // then the transfers decide
  RanksState third(t);
  CHECK(run_loop(busy, t, third).wait > 200 * 1e6 / t.bandwidth);
}

TEST_CASE("what is fetched is held until a barrier, kept arrays longer") {
  const Target t = machine(1, 1);
  const TimedLoop loop = loop_of(3, 1, true, t);
  RanksState state(t);
  CHECK(run_loop(loop, t, state).fetches == 3);
  state.meet(false, {});
  CHECK(run_loop(loop, t, state).fetches == 0);
  state.meet(true, {ArrayId(0)});
  CHECK(run_loop(loop, t, state).fetches == 0);
  state.meet(true, {});
  CHECK(run_loop(loop, t, state).fetches == 3);
}

TEST_CASE("an owner answers one after the other") {
  Target t = machine(8, 1);
  t.look_ahead = 0;
  RanksState state(t);
  const LoopTimes times = run_loop(loop_of(8, 1, true, t), t, state);
  CHECK(times.wait > trip_seconds(t, 1e6) + 3 * 1e6 / t.bandwidth);
}

TEST_CASE("parts and synchronizations of a program") {
  const Module m = compiled_at(source_path("tests/bench/prefetch/stream.sialx"));
  const Parts parts(m);
  using What = Parts::What;
  std::vector<std::pair<What, Parts::Turn>> found;
  for (const Parts::Event& e : parts.events())
    if (e.what != What::keep) found.emplace_back(e.what, e.turn);
  using Turn = Parts::Turn;
  CHECK(found == std::vector<std::pair<What, Turn>>{{What::part, Turn::every},
                                                    {What::barrier, Turn::every},
                                                    {What::part, Turn::first},
                                                    {What::barrier, Turn::first},
                                                    {What::part, Turn::other},
                                                    {What::barrier, Turn::other}});
}

TEST_CASE("a program is predicted from its run") {
  const Module m = compiled_at(source_path("tests/bench/prefetch/stream.sialx"));
  const Run run = stream_run(m);
  Target t = machine(2, 1);
  t.look_ahead = 0;
  const Prediction p = predict(m, run, t, std::nullopt);
  CHECK(p.from.total() == Approx(24));
  CHECK(p.times.work == Approx(12).epsilon(0.01));
  CHECK(p.fetches == 24);
  CHECK(p.bytes == Approx(24 * 800));
  CHECK(p.times.wait >= 12 * trip_seconds(t, 800));
  REQUIRE(p.parts.size() == 3);
  CHECK(p.parts[0].indices == "p");
  CHECK(p.parts[0].instances == 3);
  CHECK(p.parts[0].iterations == 4);
  double sum = 0;
  for (const PredictedPart& part : p.parts) sum += part.total();
  CHECK(sum == Approx(p.times.total()));
  CHECK_FALSE(p.measured);
  // The same machine, no slower network, more ranks than iterations.
  const Prediction many = predict(m, run, machine(16, 1), std::nullopt);
  CHECK(many.times.total() == Approx(6).epsilon(0.01));
  CHECK(many.times.synchronization > 4);
}

TEST_CASE("gets on both sides of a product are waited for one by one, whatever the plan has made of the product") {
  const Folder folder;
  const std::string path = folder.write(
      "gets.sialx",
      "sial gets\nmoindex i = 1:4\nmoindex k = 1:4\nscalar x\nstatic w[k,k]\ndistributed a[i,k]\ndistributed b[i,k]\n"
      "temp c[i,k]\nmoindex l = 1:4\npardo i, k\ndo l\nget a[i,l]\nc[i,k] = a[i,l] * w[l,k]\nget b[i,l]\n"
      "c[i,k] = b[i,l] * w[l,k]\nenddo l\nendpardo i, k\nendsial gets\n");
  Module m = compiled_at(path);
  Run run;
  run.path = "run.json";
  run.ranks = 1;
  run.job = JobValues{{}, {}, {{"mo", {10, 10, 10, 10}}}};
  run.options = {{"schedule", "dynamic"}};
  std::set<int> lines;
  for (const SourcePlace& place : m.places)
    if (lines.insert(place.line).second) run.lines.push_back({m.files[0], place.line, 64, 1.0, 1.0, 1.0, 0});
  Target t = machine(4, 1);
  t.look_ahead = 0;
  const double plain = predict(m, run, t, std::nullopt).times.wait;
  CHECK(plain > 0);
  int products = 0;
  for (Instruction& in : m.code)
    if (in.op == Opcode::block_contract) in = {Opcode::contract_scaled, in.a, in.b, in.c, 0}, ++products;
  REQUIRE(products == 2);
  CHECK(predict(m, run, t, std::nullopt).times.wait == Approx(plain));
}

TEST_CASE("a second run is set beside the prediction") {
  const Module m = compiled_at(source_path("tests/bench/prefetch/stream.sialx"));
  const Run run = stream_run(m);
  Run real = run;
  const Prediction p = predict(m, run, machine(1, 0), real);
  REQUIRE(p.measured);
  CHECK(p.measured->times.total() == Approx(24));
  CHECK(p.times.total() == Approx(24));
  CHECK_THAT(predict_text(p, run, real), Contains("+0.0 %") && Contains("measured"));
  CHECK_THROWS_WITH(predict(m, run, machine(2, 0), real), Contains("ran on 1 ranks"));
  real.job->ints["length"] = 3;
  CHECK_THROWS_WITH(predict(m, run, machine(1, 0), real), Contains("other values or segments"));
  Run bare = run;
  bare.job.reset();
  CHECK_THROWS_WITH(predict(m, bare, machine(1, 0), std::nullopt), Contains("does not say what values"));
  bare = run;
  bare.lines.clear();
  CHECK_THROWS_WITH(predict(m, bare, machine(1, 0), std::nullopt), Contains("no times of lines"));
}
