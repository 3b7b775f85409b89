// What instructions do to arrays and registers, what procedures add to it, and who calls whom.
#include "compile.h"
#include "compiler/analysis/calls.h"

using namespace sial;
using namespace sial::analysis;

namespace {

const std::string declarations =
    "predefined int norb\naoindex i = 1:norb\naoindex j = 1:norb\nsubindex ii of i\nindex k = 1:3\nscalar x\nscalar y\nint n\nint m\n"
    "temp t[i,j]\ntemp u[j,i]\ntemp small[ii,j]\nlocal l[i,j]\nstatic s[i,j]\nstatic v[k]\ndistributed d[i,j]\nserved e[i,j]\n"
    "contiguous local c[i,j]\nspecial f rwu\nspecial fill_block_cyclic wr\nspecial list_block_map\n";

/// The uses of the first instruction with this opcode, as text: array:side:intent.
std::vector<std::string> uses(const std::string& statements, Opcode op) {
  const ir::Program p = test::lower(declarations, statements);
  std::vector<std::string> list;
  bool found = false;
  const auto look = [&](const ir::Instr& i, const ir::Node&) {
    if (found || i.op != op) return;
    found = true;
    for (const ArrayUse& u : array_uses(p, i))
      list.push_back(text_of(p, u) + (u.side == Side::home ? " home " : " own ") + std::string(intent_text(u.intent)) +
                     (replaces(p, i, u) ? " all" : ""));
  };
  for_each_instr(p.main, look);
  REQUIRE(found);
  return list;
}
using List = std::vector<std::string>;

std::string loops(const std::string& body) { return "do i\ndo j\n" + body + "\nenddo j\nenddo i"; }

}  // namespace

TEST_CASE("block statements read their sources first, then touch the target by intent") {
  CHECK(uses(loops("t[i,j] = u[j,i]"), Opcode::block_copy) == List{"u[j,i] own read", "t[i,j] own write all"});
  CHECK(uses(loops("t[i,j] += u[j,i]"), Opcode::block_accumulate) == List{"u[j,i] own read", "t[i,j] own update"});
  CHECK(uses(loops("t[i,j] *= 2.0"), Opcode::block_scale) == List{"t[i,j] own update"});
  CHECK(uses(loops("d[i,j] = 2.0"), Opcode::block_fill) == List{"d[i,j] own write all"});
  CHECK(uses(loops("do ii in i\nl[ii,j] = small[ii,j]\nenddo ii in i"), Opcode::block_insert) ==
        List{"small[ii,j] own read", "l[ii,j] own update"});
  CHECK(uses("c[1:2,1:n] = 1.0", Opcode::region_fill) == List{"c[%i3:%i4,%i5:n] own write"});
}

TEST_CASE("gets and puts reach the array at its home") {
  CHECK(uses(loops("get d[i,j]"), Opcode::get) == List{"d[i,j] home read", "d[i,j] own update"});
  CHECK(uses(loops("put d[i,j] = t[i,j]"), Opcode::put_block) == List{"t[i,j] own read", "d[i,j] home write all"});
  CHECK(uses(loops("prepare e[i,j] += t[i,j]"), Opcode::put_block) == List{"t[i,j] own read", "e[i,j] home update"});
  CHECK(uses(loops("put d[i,j] *= 2.0"), Opcode::put_scalar) == List{"d[i,j] home update"});
  CHECK(uses("delete d", Opcode::erase_array) == List{"d home write", "d own write"});
  CHECK(uses("restore_persistent d \"x\"", Opcode::restore_persistent) == List{"d home write", "d own write"});
  CHECK(uses("set_persistent s \"x\"", Opcode::set_persistent) == List{"s own read"});
  CHECK(uses("broadcast_from 0 s", Opcode::broadcast) == List{"s own update"});
  CHECK(uses("allocate l[*,*]", Opcode::allocate) == List{"l[*,*] own write"});
  CHECK(uses("create d", Opcode::create).empty());
}

TEST_CASE("execute by letters of the declaration; effects by the table") {
  CHECK(uses(loops("t[i,j] = 0.0\nu[j,i] = 0.0\nexecute f s t[i,j] u[j,i]"), Opcode::execute) ==
        List{"s own read", "t[i,j] own write all", "u[j,i] own update"});
  const ir::Program p = test::lower(
      declarations, loops("execute fill_block_cyclic t[i,j] x\nexecute f s t[i,j] x\nexecute list_block_map"));
  std::vector<Effects> effects;
  for_each_instr(p.main, [&](const ir::Instr& i, const ir::Node&) {
    if (i.op == Opcode::execute) effects.push_back(effects_of(p, i));
  });
  REQUIRE(effects.size() == 3);
  CHECK_FALSE(effects[0].reads_by_name);
  CHECK_FALSE(effects[0].writes_by_name);
  CHECK(effects[1].reads_by_name);  // not in the table: may be anything
  CHECK(effects[1].writes_by_name);
  CHECK_FALSE(effects[0].lists_blocks);
  CHECK(effects[2].lists_blocks);
}

TEST_CASE("registers: variables read and written") {
  const auto of = [](const std::string& statement, Opcode op) {
    const ir::Program p = test::lower(declarations, statement);
    std::vector<std::string> list;
    for_each_instr(p.main, [&](const ir::Instr& i, const ir::Node&) {
      if (i.op != op) return;
      for (const RegisterUse& r : register_uses(i))
        list.push_back((r.scalar ? "s" : "i") + std::to_string(r.reg) + (r.read ? "r" : "") + (r.write ? "w" : ""));
    });
    return list;
  };
  CHECK(of("n += m", Opcode::int_add) == List{"i1w", "i1r", "i2r"});
  CHECK(of("collective x += y", Opcode::collective_sum) == List{"s0rw", "s1r"});
  CHECK(of("assert_same y", Opcode::assert_same) == List{"s1rw"});
  CHECK(of("set_persistent x \"l\"", Opcode::set_persistent) == List{"s0r"});
  CHECK(of("restore_persistent x \"l\"", Opcode::restore_persistent) == List{"s0w"});
  CHECK(of("print x", Opcode::print_scalar) == List{"s0r"});
  CHECK(of("c[n:m,n:n] = x", Opcode::region_fill) == List{"i1r", "i1r", "i2r", "i1r", "s0r"});
  CHECK(of(loops("t[i,j] = 0.0\nexecute f t[i,j] x y"), Opcode::execute) == List{"s0w", "s1rw"});
}

TEST_CASE("a summary takes called procedures in, and tells sides apart") {
  const ir::Program p = test::lower(
      declarations +
          "proc inner\nput d[i,j] += t[i,j]\nx = 1.0\nendproc inner\nproc outer\nrequest e[i,j]\ncall inner\nif n == 1\nreturn\nendif\nendproc outer\n",
      loops("t[i,j] = 1.0\ncall outer\nif m == 2\nexit\nendif") + "\nsip_barrier");
  Summaries summaries(p);
  const Summary& outer = summaries.of_proc(1);
  REQUIRE(outer.arrays.size() == 3);  // t, d, e
  const auto row = [&](const std::string& name) {
    for (std::size_t a = 0; a < p.arrays.size(); ++a)
      if (p.arrays[a].name == name) return static_cast<std::int32_t>(a);
    return -1;
  };
  CHECK(outer.find(ArrayId(row("t")))->own == Touch{true, false, false, false, false});
  CHECK(outer.find(ArrayId(row("d")))->home == Touch{false, false, true, false, false});
  CHECK_FALSE(outer.find(ArrayId(row("d")))->own.any());
  CHECK(outer.find(ArrayId(row("e")))->home.read);
  CHECK(outer.find(ArrayId(row("e")))->own == Touch{false, false, false, true, false});
  CHECK(outer.may_put(ArrayId(row("d"))));
  CHECK_FALSE(outer.may_put(ArrayId(row("e"))));
  CHECK(outer.writes_scalar(0));
  CHECK_FALSE(outer.writes_int(1));
  CHECK_FALSE(outer.leaves);  // returns end with the procedure
  CHECK_FALSE(outer.barrier);
  const Summary& nest = summaries.of_node(p.main.front());
  CHECK(nest.find(ArrayId(row("t")))->own == Touch{true, true, false, false, false});
  CHECK_FALSE(nest.leaves);  // the exit leaves a loop inside
  CHECK(summaries.of_body(std::get<ir::Loop>(std::get<ir::Loop>(p.main.front().value).body.front().value).body).leaves);
  CHECK(summaries.of_body(p.main).barrier);
}

TEST_CASE("the call graph knows pardos and bound indices through callers") {
  const ir::Program p = test::lower(
      declarations +
          "proc low\nx = 1.0\nendproc low\nproc mid\ndo k\ncall low\nenddo k\nendproc mid\nproc alone\nx = 2.0\nendproc alone\n",
      "pardo i\ncall mid\nendpardo i\ndo i\ndo j\ncall mid\ncall alone\nenddo j\nenddo i");
  const CallGraph graph(p);
  CHECK(graph.callers(0).size() == 1);
  CHECK(graph.callers(1).size() == 2);
  CHECK(graph.callees(-1) == std::vector<std::int32_t>{1, 2});
  CHECK(graph.may_run_in_pardo(0));
  CHECK(graph.may_run_in_pardo(1));
  CHECK_FALSE(graph.may_run_in_pardo(2));
  CHECK(graph.bound_at_entry(1) == std::vector<IndexId>{IndexId(0)});              // i at both calls
  CHECK(graph.bound_at_entry(0) == std::vector<IndexId>{IndexId(0), IndexId(2)});  // i, and k around the call
  CHECK(graph.bound_at_entry(2) == std::vector<IndexId>{IndexId(0), IndexId(1)});
}

TEST_CASE("nodes are visited in execution order with the loops around them") {
  const ir::Program p =
      test::lower(declarations,
                  "do i\nwhere i < 3\nif n == 1\nx = 1.0\nelse\npardo k\nx = 2.0\nendpardo k\nendif\nenddo i\nx = 3.0");
  std::vector<std::string> seen;
  visit(p, [&](const ir::Node& n, const Path& path) {
    const auto* i = std::get_if<ir::Instr>(&n.value);
    if (i == nullptr || i->op != Opcode::real_const) return;
    seen.push_back(std::to_string(path.enclosing.size()) + (path.innermost_loop() ? "loop" : "") +
                   (path.pardo() ? "pardo" : ""));
  });
  CHECK(seen == List{"2loop", "3looppardo", "0"});
  std::size_t in_where = 0;
  visit(p, [&](const ir::Node&, const Path& path) { in_where += path.in_where; });
  CHECK(in_where == 3);  // int_index, int_const, int_compare
}
