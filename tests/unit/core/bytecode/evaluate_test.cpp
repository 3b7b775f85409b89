// What interpreter, access slices and predictions share: arithmetic over known and unknown values, iteration spaces and
// their division, lifetimes of temps, control flow.

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "runtime/core/base/iteration_shares.h"
#include "runtime/core/bytecode/evaluate/arithmetic.h"
#include "runtime/core/bytecode/evaluate/control_flow.h"
#include "runtime/core/bytecode/evaluate/iteration_space.h"
#include "runtime/core/bytecode/evaluate/temp_lifetimes.h"

namespace sial {
namespace {

/// Registers of one kind of values; an index and a literal as operand 0.
template <class Int, class Real>
struct Values {
  std::vector<Int> ints = std::vector<Int>(4);
  std::vector<Real> reals = std::vector<Real>(4);
  Int integer(std::int32_t reg) const { return ints[static_cast<std::size_t>(reg)]; }
  Real scalar(std::int32_t reg) const { return reals[static_cast<std::size_t>(reg)]; }
  Int index(std::int32_t) const { return 7; }
  double constant(std::int32_t) const { return 2.5; }
  void set_int(std::int32_t reg, Int v) { ints[static_cast<std::size_t>(reg)] = v; }
  void set_scalar(std::int32_t reg, Real v) { reals[static_cast<std::size_t>(reg)] = v; }
};
using Numbers = Values<std::int32_t, double>;
using Maybe = Values<std::optional<std::int32_t>, std::optional<double>>;

constexpr std::int32_t edge_ints[] = {INT32_MIN, INT32_MIN + 1, -3, -1, 0, 1, 2, INT32_MAX};
const double edge_reals[] = {-std::numeric_limits<double>::infinity(),
                             -2147483649.0,
                             -2147483648.4,
                             -2.5,
                             -0.0,
                             0.0,
                             0.5,
                             1.5,
                             2147483647.4,
                             2147483647.6,
                             1e300,
                             std::numeric_limits<double>::quiet_NaN()};

std::vector<Opcode> register_opcodes() {
  std::vector<Opcode> list;
#define OPCODE(number, name, ...) \
  if (is_register_arithmetic(Opcode::name)) list.push_back(Opcode::name);
#include "runtime/core/bytecode/opcodes.def"
#undef OPCODE
  return list;
}

bool writes_int(Opcode op) { return opcode_info(op)->operands[0] == OperandKind::iout; }

TEST_CASE("arithmetic over numbers and over optional numbers agrees") {
  for (const Opcode op : register_opcodes())
    for (const std::int32_t x : edge_ints)
      for (const std::int32_t y : edge_ints)
        for (const double u : edge_reals)
          for (const double v : edge_reals) {
            const Instruction in{op, 0, 1, 2, static_cast<std::int32_t>(Relop::le)};
            Numbers numbers;
            numbers.ints = {0, x, y, 0};
            numbers.reals = {0, u, v, 0};
            Maybe maybe;
            maybe.ints = {0, x, y, 0};
            maybe.reals = {0, u, v, 0};
            const ArithmeticError error = evaluate_registers(op, in, numbers);
            CHECK(evaluate_registers(op, in, maybe) == ArithmeticError::none);
            const bool known = writes_int(op) ? maybe.ints[0].has_value() : maybe.reals[0].has_value();
            INFO(opcode_info(op)->name << ' ' << x << ' ' << u);
            REQUIRE(known == (error == ArithmeticError::none));
            if (!known) continue;
            if (writes_int(op)) REQUIRE(*maybe.ints[0] == numbers.ints[0]);
            else CHECK((*maybe.reals[0] == numbers.reals[0] || numbers.reals[0] != numbers.reals[0]));
          }
}

TEST_CASE("what follows from unknown values is unknown") {
  for (const Opcode op : register_opcodes()) {
    const OpcodeInfo& info = *opcode_info(op);
    INFO(info.name);
    for (std::size_t k = 1; k < 3; ++k) {
      if (info.operands[k] != OperandKind::iin && info.operands[k] != OperandKind::sin) continue;
      Maybe maybe;
      maybe.ints = {1, 1, 1, 1};
      maybe.reals = {1.0, 1.0, 1.0, 1.0};
      maybe.ints[k].reset();
      maybe.reals[k].reset();
      evaluate_registers(op, Instruction{op, 0, 1, 2, 0}, maybe);
      CHECK_FALSE((writes_int(op) ? maybe.ints[0].has_value() : maybe.reals[0].has_value()));
    }
  }
}

TEST_CASE("an error of arithmetic leaves the target") {
  Numbers n;
  n.ints = {42, 1, 0, 0};
  CHECK(evaluate_registers(Opcode::int_div, Instruction{Opcode::int_div, 0, 1, 2, 0}, n) ==
        ArithmeticError::division_by_zero);
  CHECK(n.ints[0] == 42);
}

TEST_CASE("iterations are numbered with the first index fastest") {
  IterationSpace space;
  CHECK((space.add(2, 4) && space.add(-1, 0) && space.add(5, 5)));
  CHECK(space.size() == 6);
  std::vector<std::int32_t> walked{2, -1, 5}, found(3);
  for (std::int64_t n = 0; n < space.size(); ++n) {
    space.at(n, [&](std::size_t d, std::int32_t v) { found[d] = v; });
    CHECK(found == walked);
    CHECK(found[0] == 2 + n % 3);
    space.advance([&](std::size_t d) -> std::int32_t& { return walked[d]; });
  }
  CHECK(walked == (std::vector<std::int32_t>{2, -1, 5}));
}

TEST_CASE("iterations dealt to nodes are each numbered once, and follow each other within strips") {
  for (const std::int32_t count : {1, 3, 8, 20})
    for (const std::int64_t nodes : {1, 2, 5, 16, 64}) {
      IterationSpace space;
      CHECK((space.add(1, count) && space.add(2, 5) && space.add(0, count)));
      space.deal(nodes);
      std::set<std::vector<std::int32_t>> met;
      std::vector<std::int32_t> followed(3), found(3);
      std::int64_t last = 0;
      for (std::int64_t n = 0; n < space.size(); ++n) {
        const std::int64_t to = space.at(n, [&](std::size_t d, std::int32_t v) { found[d] = v; });
        CHECK((to > n && to <= space.size()));
        if (n < last) {
          space.advance([&](std::size_t d) -> std::int32_t& { return followed[d]; });
          CHECK(found == followed);
        }
        followed = found;
        last = to;
        met.insert(found);
      }
      CHECK(std::ssize(met) == space.size());
    }
}

TEST_CASE("shares of nodes have about as many iterations that a where clause accepts") {
  const auto fullest = [](std::int32_t segments, std::int64_t nodes, bool dealt) {
    IterationSpace space;  // pardo a, i, b, j with where a <= b
    CHECK((space.add(1, segments) && space.add(1, 4) && space.add(1, segments) && space.add(1, 4)));
    if (dealt) space.deal(nodes);
    std::int64_t most = 0, all = 0;
    for (std::int64_t node = 0; node < nodes; ++node) {
      std::int64_t accepted = 0;
      for (std::int64_t n = share_before(space.size(), nodes, node); n < share_before(space.size(), nodes, node + 1);
           ++n) {
        std::array<std::int32_t, 4> v{};
        space.at(n, [&](std::size_t d, std::int32_t value) { v[d] = value; });
        accepted += v[0] <= v[2] ? 1 : 0;
      }
      most = std::max(most, accepted);
      all += accepted;
    }
    return static_cast<double>(most) * static_cast<double>(nodes) / static_cast<double>(all);
  };
  for (const std::int32_t segments : {16, 20, 24, 32}) {
    CHECK(fullest(segments, 16, false) > 1.5);
    CHECK(fullest(segments, 16, true) < 1.12);
  }
}

TEST_CASE("an iteration space says when it cannot be counted") {
  IterationSpace space;
  CHECK((space.add(1, INT32_MAX)));
  CHECK((space.add(1, INT32_MAX)));
  CHECK_FALSE((space.add(1, INT32_MAX)));
}

TEST_CASE("shares and guided chunks cover all iterations") {
  for (std::int64_t total : {1, 7, 64, 1001})
    for (std::int64_t ranks : {1, 2, 3, 8}) {
      CHECK(share_before(total, ranks, 0) == 0);
      CHECK(share_before(total, ranks, ranks) == total);
      for (std::int64_t r = 0; r < ranks; ++r)
        CHECK(share_before(total, ranks, r) <= share_before(total, ranks, r + 1));
      std::int64_t left = total;
      while (left > 0) {
        const std::int64_t chunk = guided_chunk(left, ranks);
        CHECK((chunk >= 1 && chunk <= left));
        CHECK(piece_to_begin(chunk, left, ranks, 0) == chunk);
        for (const int wheres : {1, 4, 60}) {
          const std::int64_t piece = piece_to_begin(chunk, left, ranks, wheres);
          CHECK((piece >= 1 && piece <= std::max<std::int64_t>(1, chunk / 2)));
        }
        CHECK(piece_to_begin(left, left, ranks, 0) == chunk);
        left -= chunk;
      }
    }
}

TEST_CASE("temps end with the iteration that made them") {
  TempLifetimes temps;
  std::vector<std::uint64_t> freed;
  const auto free = [&](TempBlock t) { freed.push_back(t.key); };
  temps.created(ArrayId(0), 1);
  temps.enter_loop();
  temps.created(ArrayId(0), 2);
  temps.enter_loop();
  temps.created(ArrayId(0), 3);
  temps.end_iteration(free);
  CHECK(std::exchange(freed, {}) == std::vector<std::uint64_t>{3});
  temps.created(ArrayId(0), 4);
  temps.leave_loop(free);
  CHECK(std::exchange(freed, {}) == std::vector<std::uint64_t>{4});
  temps.leave_loop(free);
  CHECK(std::exchange(freed, {}) == std::vector<std::uint64_t>{2});
  temps.end_all(free);
  CHECK(freed == std::vector<std::uint64_t>{1});
}

TEST_CASE("temps end early or live on where the plan says so") {
  TempLifetimes temps;
  std::vector<std::uint64_t> freed;
  const auto free = [&](TempBlock t) { freed.push_back(t.key); };
  temps.enter_loop();
  temps.enter_loop();
  temps.created(ArrayId(0), 1);
  temps.created(ArrayId(0), 2);
  temps.created(ArrayId(0), 3);
  temps.keep(ArrayId(0), 2, 2);  // to the end of the outer loop
  temps.freed(ArrayId(0), 3);
  temps.end_iteration(free);
  CHECK(std::exchange(freed, {}) == std::vector<std::uint64_t>{1});
  temps.created(ArrayId(0), 4);
  temps.keep(ArrayId(0), 4, 1);  // to the end of the inner one
  temps.end_iteration(free);
  CHECK((freed.empty()));
  temps.leave_loop(free);
  CHECK(std::exchange(freed, {}) == std::vector<std::uint64_t>{4});
  temps.end_iteration(free);
  CHECK((freed.empty()));
  temps.leave_loop(free);
  CHECK(freed == std::vector<std::uint64_t>{2});
}

TEST_CASE("lifetimes of temps are restored only where they fit") {
  TempLifetimes temps;
  CHECK((temps.restore({{ArrayId(0), 1}, {ArrayId(0), 2}}, {{1, 0}, {2, 1}})));
  CHECK_FALSE((temps.restore({{ArrayId(0), 1}}, {{2, 0}})));
  CHECK_FALSE((temps.restore({{ArrayId(0), 1}, {ArrayId(0), 2}}, {{2, 0}, {2, 1}})));
}

/// Three loops' worth of code: a call inside, an exit, a where clause; follows it and notes what is executed.
struct Trace {
  std::vector<Instruction> code;
  std::vector<LoopPositions> loops;
  std::vector<std::int32_t> trips, entries;
  std::vector<std::optional<std::int32_t>> ints;
  std::vector<std::pair<std::int32_t, std::int32_t>> open;  // loop, trips left
  std::vector<CallFrame> calls;
  std::vector<std::int32_t> undecided_at, executed;
  std::int32_t pc = 0;

  std::optional<std::int32_t> condition(std::int32_t reg) const { return ints[static_cast<std::size_t>(reg)]; }
  void undecided(const Instruction&) { undecided_at.push_back(pc - 1); }
  bool taken(Opcode) const { return true; }
  std::int32_t position() const { return pc; }
  void go_to(std::int32_t p) { pc = p; }
  LoopPositions loop(std::int32_t id) const { return loops[static_cast<std::size_t>(id)]; }
  bool open_loop(std::int32_t id) {
    const std::int32_t n = trips[static_cast<std::size_t>(id)];
    if (n > 0) open.emplace_back(id, n - 1);
    return n > 0;
  }
  bool next_iteration(std::int32_t) { return open.back().second-- > 0; }
  void close_loop() { open.pop_back(); }
  std::size_t open_loops() const { return open.size(); }
  void filtered(std::int32_t) {}
  bool may_call(std::int32_t) const { return true; }
  std::int32_t entry(std::int32_t proc) const { return entries[static_cast<std::size_t>(proc)]; }
  void push_call(CallFrame f) { calls.push_back(f); }
  CallFrame pop_call() {
    const CallFrame f = calls.back();
    calls.pop_back();
    return f;
  }

  void run() {
    while (code[static_cast<std::size_t>(pc)].op != Opcode::halt) {
      const Instruction& in = code[static_cast<std::size_t>(pc++)];
      if (!evaluate_control(in.op, in, *this)) executed.push_back(in.b);
    }
  }
};

TEST_CASE("control flow follows loops, calls, where clauses and exits") {
  Trace t;
  const auto mark = [](std::int32_t n) { return Instruction{Opcode::int_const, 0, n, 0, 0}; };
  t.code = {{Opcode::do_begin, 0, 0, 0, 0},      //  0 two trips
            {Opcode::where, 1, 0, 0, 0},         //  1 holds
            mark(1),                             //  2
            {Opcode::call, 0, 0, 0, 0},          //  3
            {Opcode::do_next, 0, 0, 0, 0},       //  4
            {Opcode::do_begin, 1, 0, 0, 0},      //  5 no trip
            mark(2),                             //  6
            {Opcode::do_next, 1, 0, 0, 0},       //  7
            {Opcode::jump_unless, 3, 10, 0, 0},  //  8 unknown
            mark(3),                             //  9
            {Opcode::halt, 0, 0, 0, 0},          // 10
            {Opcode::do_begin, 2, 0, 0, 0},      // 11 procedure: five trips, but it returns from the first
            {Opcode::where, 2, 2, 0, 0},         // 12 refused
            mark(4),                             // 13
            {Opcode::do_next, 2, 0, 0, 0},       // 14
            {Opcode::do_begin, 3, 0, 0, 0},      // 15
            mark(5),                             // 16
            {Opcode::exit_loop, 3, 0, 0, 0},     // 17
            {Opcode::do_next, 3, 0, 0, 0},       // 18
            {Opcode::do_begin, 2, 0, 0, 0},      // 19
            {Opcode::ret, 0, 0, 0, 0},           // 20
            mark(6)};                            // 21
  t.loops = {{1, 4, 5}, {6, 7, 8}, {12, 14, 15}, {16, 18, 19}};
  t.trips = {2, 0, 5, 5};
  t.entries = {11};
  t.ints = {0, 1, 0, {}};
  t.run();
  CHECK(t.executed == (std::vector<std::int32_t>{1, 5, 1, 5, 3}));
  CHECK(t.undecided_at == std::vector<std::int32_t>{8});
  CHECK((t.open.empty()));
  CHECK((t.calls.empty()));
}

}  // namespace
}  // namespace sial
