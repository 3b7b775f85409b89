// The interpreter on modules built by hand: control flow, the life of temps, and how pardos are divided. What can be
// said in SIAL is tested in tests/lang/run.

#include <catch2/catch.hpp>

#include <functional>
#include <map>
#include <set>
#include <sstream>

#include "runtime/core/bytecode/read.h"
#include "runtime/core/interp/job/job_run.h"
#include "runtime/core/transport/loopback.h"
#include "runtime/core/transport/simulated.h"
#include "tests/unit/core/device/altered_device.h"

using namespace sial;

namespace {

/// Writes code with its loops; every instruction lies on a line of its own.
class Code {
 public:
  Code() {
    m.program = "p";
    m.files = {"p.sialx"};
    m.n_int_registers = 4;
    m.n_scalar_registers = 4;
    m.source_hash = std::string(64, '0');
    m.ints = {{"n", false, 0}};
    m.scalars = {{"x", false, 0.0}};
    m.reals = {1.0, 2.5};
    m.indices = {{"i", IndexKind::simple, {false, 1}, {false, 3}, no_index},
                 {"j", IndexKind::simple, {false, 1}, {false, 4}, no_index}};
    m.arrays = {{"t", ArrayKind::temp, false, false, {IndexId(0)}},
                {"v", ArrayKind::local, false, false, {IndexId(1)}}};
    for (const Intent intent : {Intent::read, Intent::write, Intent::update})
      m.refs.push_back({ArrayId(0), intent, {{IndexId(0), false}}});
  }
  int add(Opcode op, int a = 0, int b = 0, int c = 0, int d = 0) {
    m.code.push_back({op, a, b, c, d});
    m.places.push_back({0, static_cast<std::int32_t>(m.code.size()), 1});
    return static_cast<int>(m.code.size()) - 1;
  }
  void loop(LoopKind kind, const std::vector<std::int32_t>& indices, const std::function<void()>& body,
            const std::function<int()>& where = {}, const std::string& pragma = {}) {
    const auto id = static_cast<int>(m.loops.size());
    m.loops.push_back({});
    LoopRow row;
    row.kind = kind;
    for (const std::int32_t i : indices) row.indices.push_back(IndexId(i));
    if (!pragma.empty()) {
      row.pragma = static_cast<std::int32_t>(m.strings.size());
      m.strings.push_back(pragma);
    }
    row.begin = add(kind == LoopKind::pardo ? Opcode::pardo_begin : Opcode::do_begin, id);
    if (where) {
      add(Opcode::where, where(), id);
      row.n_wheres = 1;
    }
    row.body = add(Opcode::body_begin, id);
    current_loop = id;
    body();
    row.next = add(kind == LoopKind::pardo ? Opcode::pardo_next : Opcode::do_next, id);
    row.end = row.next + 1;
    m.loops[id] = row;
  }
  Module m;
  int current_loop = -1;
};

struct Outcome {
  std::string out, err;
  double x = 0;
  std::int32_t n = 0;
};

using MakeDevice = std::function<std::unique_ptr<Device>(Kernels&)>;

Outcome run_on(Transport& transport, const Module& module, const MachineOptions& options, const JobData& data = {},
               const MakeDevice& make_device = {}) {
  const auto queue = make_work_queue(transport);
  const auto store = make_block_store(transport, queue.get(), StoreOptions{});
  const auto kernels = make_kernels("reference", store->buffers());
  RankState state;
  state.all_ranks_print = true;
  std::ostringstream out, err;
  Outcome outcome;
  {
    const std::unique_ptr<Device> device = make_device ? make_device(*kernels) : nullptr;
    Environment environment{data, transport, *store, *queue, *kernels, out, err, state};
    environment.device = device.get();
    Machine machine(module, 0, environment, options);
    machine.run();
    outcome = {out.str(), err.str(), machine.scalar(0), machine.integer(0)};
  }
  transport.finish();
  return outcome;
}

const MachineOptions plain{.print_format = PrintFormat::plain, .look_ahead = {}, .outlook = {}};

Outcome run(const Code& code, const JobData& data = {}) {
  verify_module(code.m, "test");
  return run_on(*make_loopback(), code.m, plain, data);
}

std::map<int, Outcome> run_ranks(const Code& code, int ranks, Schedule schedule, std::uint64_t seed = 1) {
  verify_module(code.m, "test");
  std::map<int, Outcome> outcomes;
  SimulationOptions simulation;
  simulation.ranks = ranks;
  simulation.seed = seed;
  run_simulated(simulation, [&](Transport& transport) {
    Outcome mine = run_on(transport, code.m,
                          {.print_format = PrintFormat::plain, .schedule = schedule, .look_ahead = {}, .outlook = {}});
    outcomes[transport.rank()] = std::move(mine);
  });
  return outcomes;
}

}  // namespace

TEST_CASE("return inside loops leaves the loops opened in the procedure and frees their indices") {
  Code code;
  const int call1 = code.add(Opcode::call, 0);
  code.add(Opcode::call, 0);
  code.loop(LoopKind::do_, {0}, [&] { code.add(Opcode::print_index, 0, 1); });
  code.add(Opcode::halt);
  const int entry = code.add(Opcode::int_const, 1, 1);
  code.loop(LoopKind::do_, {0}, [&] {
    code.loop(LoopKind::do_, {1}, [&] {
      code.add(Opcode::block_fill, 1, 0);
      code.add(Opcode::int_add, 0, 0, 1);
      code.add(Opcode::ret);
    });
  });
  code.add(Opcode::ret);
  code.m.procs = {{"leave", entry, static_cast<std::int32_t>(code.m.code.size())}};
  CHECK(call1 == 0);
  const Outcome o = run(code);
  CHECK(o.n == 2);
  CHECK(o.out == "i = 1\ni = 2\ni = 3\n");
}

TEST_CASE("a temp dies with the iteration that created it, and the error says so") {
  Code code;
  code.loop(LoopKind::do_, {0}, [&] {
    code.add(Opcode::block_fill, 1, 0);
    code.add(Opcode::real_element, 0, 0);
    code.loop(LoopKind::do_, {1}, [&] { code.add(Opcode::block_add_scalar, 2, 0); });
    code.add(Opcode::real_element, 0, 0);
  });
  const int line = static_cast<int>(code.m.code.size()) + 3;
  code.loop(LoopKind::do_, {0}, [&] { code.add(Opcode::real_element, 0, 0); });
  code.add(Opcode::halt);
  try {
    run(code);
    FAIL("no error");
  } catch (const SialError& e) {
    CHECK(std::string(e.what()) == "temp `t[1]` is read before it was written in this iteration of the loop over `i`");
    CHECK(e.where() == "p.sialx:" + std::to_string(line) + ":1");
    CHECK(e.hint().find("local") != std::string::npos);
  }
}

namespace {

/// pardo i, j where i != 2: prints i and j of every iteration.
Code filtered_pardo(const std::string& pragma = {}) {
  Code code;
  const auto where = [&code] {
    code.add(Opcode::int_index, 1, 0);
    code.add(Opcode::int_const, 2, 2);
    code.add(Opcode::int_compare, 3, 1, 2, static_cast<int>(Relop::ne));
    return 3;
  };
  for (int pass = 0; pass < 2; ++pass) {
    code.loop(
        LoopKind::pardo, {0, 1},
        [&] {
          code.add(Opcode::int_index, 1, 0);
          code.add(Opcode::print_int, 1, 0, -1);
          code.add(Opcode::int_index, 1, 1);
          code.add(Opcode::print_int, 1, 1, -1);
        },
        where, pragma);
    if (pass == 0) code.add(Opcode::int_const, 0, 7);
  }
  code.add(Opcode::barrier, 0);
  code.add(Opcode::halt);
  return code;
}

std::multiset<std::string> lines(const std::string& text) {
  std::multiset<std::string> result;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) result.insert(line);
  return result;
}

}  // namespace

TEST_CASE("one rank runs a pardo with the first index fastest") {
  CHECK(run(filtered_pardo()).out == "11\n31\n12\n32\n13\n33\n14\n34\n11\n31\n12\n32\n13\n33\n14\n34\n");
}

TEST_CASE("dynamic pardos run every accepted iteration exactly once") {
  const std::multiset<std::string> expected = lines(run(filtered_pardo()).out);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::multiset<std::string> all;
    for (auto& [rank, outcome] : run_ranks(filtered_pardo(), 3, Schedule::dynamic, seed)) all.merge(lines(outcome.out));
    CHECK(all == expected);
  }
}

TEST_CASE("the static schedule deals accepted iterations round and continues over pardos") {
  // accepted: 11 31 12 32 13 33 14 34 | 11 31 12 ...; rank = count mod 3, counting on: the second pardo begins at 8
  const auto outcomes = run_ranks(filtered_pardo(), 3, Schedule::static_);
  CHECK(outcomes.at(0).out == "11\n32\n14\n31\n13\n34\n");
  CHECK(outcomes.at(1).out == "31\n13\n34\n12\n33\n");
  CHECK(outcomes.at(2).out == "12\n33\n11\n32\n14\n");
}

TEST_CASE("pragmas: everything everywhere, and counting before the where clauses") {
  for (const auto& [rank, outcome] : run_ranks(filtered_pardo("SequentialPardoLoop"), 2, Schedule::dynamic))
    CHECK(outcome.out == run(filtered_pardo()).out);
  // tuples 11 21 31 12 22 32 13 23 33 14 24 34, dealt to two ranks, then filtered
  const auto outcomes = run_ranks(filtered_pardo("StaticTaskAllocParallelPardoLoop"), 2, Schedule::static_);
  CHECK(outcomes.at(0).out == "11\n31\n13\n33\n11\n31\n13\n33\n");
  CHECK(outcomes.at(1).out == "12\n32\n14\n34\n12\n32\n14\n34\n");
}

TEST_CASE("scalar domain errors") {
  const auto one = [](Opcode op, double x, double y) {
    Code code;
    code.m.reals = {x, y};
    code.add(Opcode::real_const, 1, 0);
    code.add(Opcode::real_const, 2, 1);
    code.add(op, 0, 1, op == Opcode::real_sqrt ? 0 : 2);
    code.add(Opcode::halt);
    return run(code).x;
  };
  CHECK(one(Opcode::real_pow, -2.0, 3.0) == -8.0);
  CHECK_THROWS_WITH(one(Opcode::real_pow, -2.0, 0.5), Catch::Contains("fractional power"));
  CHECK_THROWS_WITH(one(Opcode::real_pow, 0.0, -1.0), Catch::Contains("division by zero"));
  CHECK_THROWS_WITH(one(Opcode::real_pow, 1e300, 2.0), Catch::Contains("out of range"));
  CHECK_THROWS_WITH(one(Opcode::real_div, 1.0, 0.0), Catch::Contains("division by zero"));
  CHECK_THROWS_WITH(one(Opcode::real_sqrt, -1.0, 0.0), Catch::Contains("sqrt"));
}

TEST_CASE("(int) rounds to nearest, ties to even, and refuses what does not fit") {
  const auto rounded = [](double x) {
    Code code;
    code.m.reals = {x};
    code.add(Opcode::real_const, 0, 0);
    code.add(Opcode::int_round, 0, 0);
    code.add(Opcode::halt);
    return run(code).n;
  };
  CHECK(rounded(3.75) == 4);
  CHECK(rounded(3.1) == 3);
  CHECK(rounded(-28.444) == -28);
  CHECK(rounded(2.5) == 2);
  CHECK(rounded(3.5) == 4);
  CHECK(rounded(2147483647.4) == 2147483647);
  CHECK_THROWS_WITH(rounded(2147483647.6), Catch::Contains("32 bits"));
  CHECK_THROWS_WITH(rounded(-2147483649.0), Catch::Contains("32 bits"));
}

TEST_CASE("predefined statics take the job's data, start as zeros with a warning, and refuse another shape") {
  Code code;
  code.m.arrays.push_back({"s", ArrayKind::static_, true, false, {IndexId(0)}});
  code.m.n_int_registers = code.m.n_scalar_registers = 1;
  code.add(Opcode::print_array, 2, 0);
  code.add(Opcode::halt);
  JobData data;
  CHECK(run(code, data).out == "s:\n0 0 0\n");
  CHECK(run(code, data).err.find("warning: program `p`: the job gives no data for the predefined static array `s`") ==
        0);
  data.arrays["s"] = {{0, 3}, {}};
  CHECK_THROWS_WITH(run(code, data), Catch::Contains("have extents (0,3), and the program declares (3)"));
  data.arrays["s"] = {{0}, {}};
  data.empty_means_none = true;
  CHECK(run(code, data).out == "s:\n0 0 0\n");
  CHECK(run(code, data).err.find("no data for the predefined static array `s`") != std::string::npos);
  data.arrays["s"] = {{3, 1, 1, 1, 1, 1}, {1, 2, 3}};  // as legacy files write it
  CHECK(run(code, data).out == "s:\n1 2 3\n");
  CHECK(run(code, data).err.empty());
  data.arrays["s"] = {{2}, {1, 2}};
  CHECK_THROWS_WITH(run(code, data), Catch::Contains("have extents (2), and the program declares (3)"));
}

TEST_CASE("small work that finds no room when it is started is told of once") {
  Code code;
  code.loop(LoopKind::do_, {0}, [&] { code.add(Opcode::block_fill, 1, 0); });
  code.add(Opcode::barrier);
  code.loop(LoopKind::do_, {0}, [&] { code.add(Opcode::block_fill, 1, 0); });
  code.add(Opcode::halt);
  verify_module(code.m, "test");
  const auto warnings = [&](int room) {
    const auto narrow = [&](Kernels& kernels) {
      return make_batching_device(std::make_unique<Narrow>(kernels, room), 1000);
    };
    const std::string err = run_on(*make_loopback(), code.m, plain, {}, narrow).err;
    std::ptrdiff_t n = 0;
    for (std::size_t at = err.find("warning:"); at != std::string::npos; at = err.find("warning:", at + 1)) ++n;
    INFO(err);
    CHECK((n == 0 || err.find("p.sialx:5:1: the device had no room for the workspace of ") != std::string::npos));
    return n;
  };
  CHECK(warnings(0) == 1);
  CHECK(warnings(1000) == 0);
}
