// Which statements share a phase, through branches, loops and calls, and what the phases' arrays see.
#include "compiler/analysis/phases.h"
#include "compile.h"

using namespace sial;
using namespace sial::analysis;

namespace {

const std::string phases_declarations =
    "index k = 1:3\nindex m = 1:3\nint n\nscalar x\ntemp t[k]\ndistributed d[k]\nserved e[k]\n";

struct Facts {
  ir::Program p;
  Phases phases;
  std::vector<ir::NodeId> marks;  // print_string statements: main's, after those of procedures
  explicit Facts(const std::string& procs, const std::string& statements)
      : p(test::lower(phases_declarations + procs, statements)), phases(p) {
    visit(p, [&](const ir::Node& n, const Path&) {
      const auto* i = std::get_if<ir::Instr>(&n.value);
      if (i != nullptr && i->op == Opcode::print_string) marks.push_back(n.id);
    });
  }
  bool same(std::size_t a, std::size_t b) const { return phases.same(marks[a], marks[b]); }
  ArrayId array(const std::string& name) const {
    for (std::size_t a = 0; a < p.arrays.size(); ++a)
      if (p.arrays[a].name == name) return ArrayId(a);
    return no_array;
  }
};
const std::string mark = "print \"x\"\n", barrier = "sip_barrier\n";

}  // namespace

TEST_CASE("barriers separate, the rest joins") {
  const Facts f("", mark + mark + barrier + mark + "server_barrier\n" + mark);
  CHECK(f.same(0, 1));
  CHECK_FALSE(f.same(1, 2));
  CHECK_FALSE(f.same(2, 3));
  CHECK(f.phases.entry(-1) == f.phases.of(f.marks[0]));
  CHECK(f.phases.exit(-1) == f.phases.of(f.marks[3]));
  CHECK(f.phases.begins(f.phases.of(f.marks[2])).size() == 1);
}

TEST_CASE("a loop's end is followed by its beginning, and it may run no iteration") {
  const Facts f("", mark + "do k\n" + mark + barrier + mark + barrier + mark + "enddo k\n" + mark);
  CHECK(f.same(0, 1));
  CHECK_FALSE(f.same(1, 2));
  CHECK_FALSE(f.same(2, 3));
  CHECK(f.same(3, 1));
  CHECK(f.same(3, 4));
  CHECK(f.same(0, 4));
}

TEST_CASE("a branch may have a barrier") {
  const Facts f("", mark + "if n == 1\n" + barrier + mark + "endif\n" + mark);
  CHECK(f.same(0, 2));
  CHECK(f.same(1, 2));
  const Facts both("", mark + "if n == 1\n" + barrier + "else\n" + barrier + "endif\n" + mark);
  CHECK_FALSE(both.same(0, 1));
}

TEST_CASE("what exits jumps behind the loop, what stops goes nowhere") {
  const Facts f("", "do k\n" + barrier + mark + "if n == 1\nexit\nendif\n" + barrier +
                        "if n == 2\nstop\nendif\nenddo k\n" + mark);
  CHECK(f.same(0, 1));
}

TEST_CASE("procedures without barriers do not tie their callers' phases together") {
  const Facts f("proc q\n" + mark + "get d[k]\nendproc q\n",
                "do k\ncall q\nenddo k\n" + mark + barrier + mark + "do k\ncall q\nenddo k");
  CHECK_FALSE(f.same(1, 2));
  CHECK_FALSE(f.same(0, 1));  // phases of procedures are their own
}

TEST_CASE("procedures with barriers end the caller's phase") {
  const Facts f("proc q\n" + mark + barrier + mark + barrier + mark + "endproc q\n", mark + "call q\n" + mark);
  CHECK_FALSE(f.same(3, 4));
  CHECK_FALSE(f.same(0, 1));
  CHECK_FALSE(f.same(0, 2));
  const Facts maybe("proc q\nif n == 1\n" + barrier + "endif\nendproc q\n", mark + "call q\n" + mark);
  CHECK(maybe.same(0, 1));
}

TEST_CASE("touches of a phase, with what callees do at their ends and callers around the call") {
  const Facts f("proc q\n" + mark + "pardo k\nrequest e[k]\nt[k] = e[k]\nput d[k] = t[k]\nendpardo k\n" + barrier +
                    mark + "pardo k\nget d[k]\nendpardo k\nendproc q\n",
                mark + "pardo m\nprepare e[m] += 1.0\nendpardo m\n" + barrier + mark + "call q\n" + mark +
                    "pardo m\nput d[m] *= 2.0\nendpardo m\n");
  const PhaseId first = f.phases.of(f.marks[2]), second = f.phases.of(f.marks[3]), third = f.phases.of(f.marks[4]);
  const auto home = [&](const std::vector<ArrayTouch>& list, const char* name) {
    for (const ArrayTouch& t : list)
      if (t.array == f.array(name)) return t.home;
    return Touch{};
  };
  CHECK(home(f.phases.touches(first), "e").accumulated);
  CHECK_FALSE(home(f.phases.touches(first), "e").read);
  CHECK(home(f.phases.touches(second), "e").read);
  CHECK(home(f.phases.touches(second), "d").replaced);
  CHECK_FALSE(home(f.phases.touches(second), "d").read);
  CHECK(home(f.phases.touches(third), "d").read);
  CHECK(home(f.phases.touches(third), "d").accumulated);
  const PhaseId callee_end = f.phases.exit(0);
  CHECK_FALSE(home(f.phases.touches(callee_end), "d").accumulated);
  CHECK(home(f.phases.all_touches(callee_end), "d").accumulated);  // by the caller, behind the call
  CHECK(f.phases.may_put(callee_end, f.array("d")));
  CHECK_FALSE(f.phases.may_put(callee_end, f.array("e")));
  CHECK_FALSE(f.phases.may_put(f.phases.entry(0), f.array("e")));
}
