// What the golden listings of tests/lang/ir cannot say: arithmetic of the lowered code against plain C++, register
// numbers, node ids, intents of every operand, places in imported files.
#include <cmath>
#include <functional>

#include "compile.h"
#include "compiler/ir/print.h"

using namespace sial;
using Catch::Matchers::Contains;

namespace {

// Runs straight-line int and scalar code; ifs included.
struct Machine {
  explicit Machine(const ir::Program& p)
      : program(p),
        ints(static_cast<std::size_t>(p.n_int_registers)),
        reals(static_cast<std::size_t>(p.n_scalar_registers)) {
    for (std::size_t i = 0; i < p.ints.size(); ++i) ints[i] = p.ints[i].initial;
    for (std::size_t i = 0; i < p.scalars.size(); ++i) reals[i] = p.scalars[i].initial;
    run(p.main);
  }

  std::int32_t& i(const ir::Operand& o) { return ints[static_cast<std::size_t>(std::get<ir::IntReg>(o).reg)]; }
  double& s(const ir::Operand& o) { return reals[static_cast<std::size_t>(std::get<ir::ScalarReg>(o).reg)]; }

  template <class T>
  static bool holds(Relop op, T a, T b) {
    switch (op) {
      case Relop::lt: return a < b;
      case Relop::le: return a <= b;
      case Relop::gt: return a > b;
      case Relop::ge: return a >= b;
      case Relop::eq: return a == b;
      default: return a != b;
    }
  }

  void run(const ir::Body& body) {
    for (const ir::Node& n : body) {
      if (const auto* branch = std::get_if<ir::If>(&n.value)) {
        run(ints[static_cast<std::size_t>(branch->condition)] != 0 ? branch->then_body : branch->else_body);
        continue;
      }
      const auto& in = std::get<ir::Instr>(n.value);
      const auto& o = in.operands;
      switch (in.op) {
        case Opcode::int_const: i(o[0]) = std::get<ir::Imm>(o[1]).value; break;
        case Opcode::int_copy: i(o[0]) = i(o[1]); break;
        case Opcode::int_add: i(o[0]) = i(o[1]) + i(o[2]); break;
        case Opcode::int_sub: i(o[0]) = i(o[1]) - i(o[2]); break;
        case Opcode::int_mul: i(o[0]) = i(o[1]) * i(o[2]); break;
        case Opcode::int_div: i(o[0]) = i(o[1]) / i(o[2]); break;
        case Opcode::int_neg: i(o[0]) = -i(o[1]); break;
        case Opcode::int_round: i(o[0]) = static_cast<std::int32_t>(std::nearbyint(s(o[1]))); break;
        case Opcode::int_compare: i(o[0]) = holds(std::get<Relop>(o[3]), i(o[1]), i(o[2])); break;
        case Opcode::real_compare: i(o[0]) = holds(std::get<Relop>(o[3]), s(o[1]), s(o[2])); break;
        case Opcode::real_const: s(o[0]) = std::get<ir::Real>(o[1]).value; break;
        case Opcode::real_copy: s(o[0]) = s(o[1]); break;
        case Opcode::real_add: s(o[0]) = s(o[1]) + s(o[2]); break;
        case Opcode::real_sub: s(o[0]) = s(o[1]) - s(o[2]); break;
        case Opcode::real_mul: s(o[0]) = s(o[1]) * s(o[2]); break;
        case Opcode::real_div: s(o[0]) = s(o[1]) / s(o[2]); break;
        case Opcode::real_pow: s(o[0]) = std::pow(s(o[1]), s(o[2])); break;
        case Opcode::real_neg: s(o[0]) = -s(o[1]); break;
        case Opcode::real_sqrt: s(o[0]) = std::sqrt(s(o[1])); break;
        case Opcode::real_from_int: s(o[0]) = i(o[1]); break;
        default: FAIL("unexpected " << opcode_info(in.op)->name);
      }
    }
  }

  const ir::Program& program;
  std::vector<std::int32_t> ints;
  std::vector<double> reals;
};

std::int32_t int_result(const std::string& statements) {
  return Machine(test::lower("int n\nint m = 7\nscalar x = 2.5\nscalar y", statements)).ints[0];
}
double scalar_result(const std::string& statements) {
  return Machine(test::lower("int n\nint m = 7\nscalar x = 2.5\nscalar y", statements)).reals[1];
}

void all_instructions(const ir::Body& body, const std::function<void(const ir::Node&, const ir::Instr&)>& f) {
  for (const ir::Node& n : body) {
    if (const auto* i = std::get_if<ir::Instr>(&n.value)) f(n, *i);
    if (const auto* l = std::get_if<ir::Loop>(&n.value)) {
      for (const ir::Where& w : l->wheres) all_instructions(w.code, f);
      all_instructions(l->body, f);
    }
    if (const auto* i = std::get_if<ir::If>(&n.value)) {
      all_instructions(i->then_body, f);
      all_instructions(i->else_body, f);
    }
    if (const auto* s = std::get_if<ir::Section>(&n.value)) all_instructions(s->body, f);
  }
}

}  // namespace

TEST_CASE("int expressions compute what the language says") {
  CHECK(int_result("n = m - 2 - 3") == 2);
  CHECK(int_result("n = m - (2 - 3)") == 8);
  CHECK(int_result("n = m / 2 * 2") == 6);
  CHECK(int_result("n = -m / 2") == -3);
  CHECK(int_result("n = -(m / 2) + m * m - 1") == 45);
  CHECK(int_result("n = 3\nn += n * m - 1") == 23);
  CHECK(int_result("n = 3\nn -= n\nn -= m") == -7);
  CHECK(int_result("n = 3\nn *= n + 1") == 12);
  CHECK(int_result("n = (int)x") == 2);
  CHECK(int_result("n = (int)(x + 1.0)") == 4);
  CHECK(int_result("n = (int)-3.75") == -4);
  CHECK(int_result("n = (int)((scalar)m / 2.0) * m") == 28);
  CHECK(int_result("n = ((m + 1) * (m - 1)) - ((m + 2) * (m - 2))") == 3);
}

TEST_CASE("scalar expressions compute what the language says") {
  CHECK(scalar_result("y = x - 1.0 - 0.5") == 1.0);
  CHECK(scalar_result("y = x - -1.0") == 3.5);
  CHECK(scalar_result("y = x / 2.0 / 2.0") == 0.625);
  CHECK(scalar_result("y = -x ** 2.0") == 6.25);
  CHECK(scalar_result("y = 2.0 ** 3.0 ** 2.0") == 64.0);
  CHECK(scalar_result("y = sqrt 4.0 + 5.0") == 7.0);
  CHECK(scalar_result("y = sqrt (4.0 + 5.0)") == 3.0);
  CHECK(scalar_result("y = (scalar)(m - 1) * x") == 15.0);
  CHECK(scalar_result("y = x * (x + 1.0) - (x - 1.0) * x") == 5.0);
  CHECK(scalar_result("y = 2.0\ny += x * y") == 7.0);
  CHECK(scalar_result("y = 2.0\ny -= y + x") == -2.5);
  CHECK(scalar_result("y = 2.0\ny *= y + x") == 9.0);
  CHECK(scalar_result("y = (x - y) * (x + y) + (x - 1.0) / (x + 1.0 - (x - 0.5))") == 6.25 + 1.5 / 1.5);
}

TEST_CASE("conditions") {
  for (const auto& [relation, truth] : std::vector<std::pair<std::string, bool>>{{"m < 7", false},
                                                                                 {"m <= 7", true},
                                                                                 {"m > 6", true},
                                                                                 {"m >= 8", false},
                                                                                 {"m == 7", true},
                                                                                 {"m != 7", false},
                                                                                 {"x + 0.5 == 3.0", true},
                                                                                 {"x < y", false},
                                                                                 {"m - 1 < m", true}}) {
    CAPTURE(relation);
    CHECK(int_result("if " + relation + "\nn = 1\nelse\nn = 2\nendif") == (truth ? 1 : 2));
    CHECK(int_result("if " + relation + "\nn = 1\nendif") == (truth ? 1 : 0));
  }
}

TEST_CASE("registers: variables first, temporaries shared between statements") {
  const ir::Program p =
      test::lower("int n\nscalar x", "x = (x + 1.0) * (x + 2.0)\nx = (x + 1.0) * (x + 2.0)\nn = n + 1");
  CHECK(p.n_scalar_registers == 1 + 2);
  CHECK(p.n_int_registers == 1 + 1);
}

TEST_CASE("node ids are unique and below n_nodes") {
  const ir::Program p =
      test::lower("index k = 1:3\nint n\nstatic v[k]\nproc q\nn = 1\nendproc q",
                  "do k\nwhere k < 3\nif n == k\nv[k] = 1.0\nelse\ncall q\nendif\nenddo k\npardo k\nn = 2\nendpardo k");
  std::vector<bool> seen(static_cast<std::size_t>(p.n_nodes));
  std::size_t n = 0;
  const auto visit = [&](const ir::Node& node, const ir::Instr&) {
    REQUIRE(node.id >= 0);
    REQUIRE(node.id < p.n_nodes);
    CHECK_FALSE(seen[static_cast<std::size_t>(node.id)]);
    seen[static_cast<std::size_t>(node.id)] = true;
    ++n;
  };
  for (const ir::Procedure& q : p.procs) all_instructions(q.body, visit);
  all_instructions(p.main, visit);
  CHECK(n >= 7);
}

TEST_CASE("arguments of execute carry the intents of the program's own declaration") {
  const ir::Program p = test::lower("aoindex i = 1:2\ntemp a[i]\nscalar x\nspecial f rwu",
                                    "do i\na[i] = 0.0\nexecute f a[i] a[i] x\nenddo i");
  bool found = false;
  all_instructions(p.main, [&](const ir::Node&, const ir::Instr& i) {
    if (i.op != Opcode::execute) return;
    found = true;
    CHECK(std::get<ir::Block>(i.operands[1]).intent == Intent::read);
    CHECK(std::get<ir::Block>(i.operands[2]).intent == Intent::write);
    CHECK(std::get<ir::ScalarArg>(i.operands[3]).intent == Intent::update);
  });
  CHECK(found);
}

TEST_CASE("the value is computed before the target is named") {
  // region bounds of the target come after the scalar that fills it
  const std::string text = ir::print(test::lower("aoindex i = 1:2\ncontiguous local c[i]\nscalar x\nint n",
                                                 "allocate contiguous c[1:2]\ndo i\nc[i:n] = x + 1.0\nenddo i"));
  CHECK(text.find("real_add") < text.find("int_index"));
  CHECK_THAT(text, Contains("region_fill c[%i1:n]:write"));
}

TEST_CASE("an (index) cast on a simple index is the index itself") {
  const std::string text = ir::print(test::lower("index k = 1:3\nstatic v[k]", "do k\nv[(index)k] = 1.0\nenddo k"));
  CHECK_THAT(text, Contains("block_fill v[k]:write"));
}
