// What the checked program decides: forms of block assignments and puts, types of expressions, where clauses of
// fragment pragmas, reachable procedures, and which pardos may look different to different workers.

#include <catch2/catch.hpp>

#include <map>

#include "tests/unit/core/sema/check_program.h"

using namespace sial;

namespace {

const std::string declarations = R"(sial p
predefined int norb
aoindex i = 1:norb
aoindex j = 1:norb
aoindex l = 1:norb
index k = 1:5
index k2 = 1:5
subindex ii of i
temp a[i,j]
temp b[i,j]
temp c[j,l]
temp d[i,l]
temp v[k]
temp w[k2]
temp a3[i,j,k]
local big[i,j]
local small[ii,j]
contiguous local r[i,j]
static s[i,j]
static table[k]
distributed g[i,j]
scalar x
scalar y
scalar rank
int n
special get_my_rank w
special eigen_calc uu
special mystery w
special set_ijk_aaa w
special enable u
)";

struct Program {
  test::TemporaryFolder folder;
  test::Checked checked;
  explicit Program(const std::string& body) : checked(folder.write("p.sialx", declarations + body + "\nendsial p\n")) {
    std::string messages;
    for (const Diagnostic& d : checked.emitter.all())
      if (d.severity == Severity::error) messages += d.message + "\n";
    INFO(body << "\n" << messages);
    REQUIRE(checked.program != nullptr);
  }
  std::string text(Span span) const { return std::string(checked.sources.slice(span)); }
};

std::string all_loops(const std::string& statement) {
  return "do i\ndo j\ndo l\ndo k\ndo k2\ndo ii in i\n" + statement +
         "\nenddo ii in i\nenddo k2\nenddo k\nenddo l\nenddo j\nenddo i";
}

}  // namespace

TEST_CASE("every block assignment has one form") {
  const auto [statement, form] = GENERATE(table<std::string, AssignForm>({
      {"a[i,j] = x", AssignForm::fill},
      {"a[i,j] += x*2.0", AssignForm::add_scalar},
      {"a[i,j] -= 1.0", AssignForm::add_scalar},
      {"a[i,j] *= x", AssignForm::scale},
      {"a[i,j] = b[i,j]", AssignForm::copy},
      {"a[i,j] = b[j,i]", AssignForm::copy},
      {"a[i,j] = a3[i,j,k]", AssignForm::copy},
      {"a3[i,j,k] = a[i,j]", AssignForm::copy},
      {"a[i,i] = b[i,j]", AssignForm::copy},
      {"a[i,j] += b[j,i]", AssignForm::accumulate},
      {"a[i,j] -= b[i,j]", AssignForm::accumulate},
      {"a[i,j] = x*b[i,j]", AssignForm::scaled_copy},
      {"a[i,j] = b[i,j]*(x + y)", AssignForm::scaled_copy},
      {"a[i,j] -= x*b[i,j]", AssignForm::scaled_accumulate},
      {"a[i,j] = a[i,j] + b[i,j]", AssignForm::sum},
      {"a[i,j] = a[i,j] - b[i,j]", AssignForm::difference},
      {"d[i,l] = a[i,j]*c[j,l]", AssignForm::contract},
      {"d[i,l] -= a[i,j]*c[j,l]", AssignForm::contract},
      {"a3[i,j,k] = v[k]^a[i,j]", AssignForm::contract},
      {"a3[i,j,k] = a[i,j]*v[k]", AssignForm::contract},
      {"a[i,j] = a[i,j]*b[i,j]", AssignForm::fill},
      {"a[i,j] = v[k]", AssignForm::fill},
      {"v[k] = x*w[k2]", AssignForm::fill},
      {"v[k] *= w[k2]", AssignForm::scale},
      {"v[k] += w[k2]", AssignForm::add_scalar},
      {"v[k] = v[k]*v[k]", AssignForm::fill},
      {"small[ii,j] = big[ii,j]", AssignForm::slice},
      {"big[ii,j] = small[ii,j]", AssignForm::insert},
      {"small[ii,j] += small[ii,j]", AssignForm::accumulate},
      {"r[i:i,j:j] = a[i,j]", AssignForm::region_put},
      {"r[i:i,j:j] = 1.0", AssignForm::region_fill},
      {"a[i,j] = r[i:i,j:j]", AssignForm::region_get},
  }));
  const Program p(all_loops(statement));
  INFO(statement);
  REQUIRE(p.checked.program->assigns.size() == 1);
  const AssignInfo& info = p.checked.program->assigns.begin()->second;
  CHECK(info.form == form);
  const bool scalar = form == AssignForm::fill || form == AssignForm::add_scalar || form == AssignForm::scale ||
                      form == AssignForm::scaled_copy || form == AssignForm::scaled_accumulate ||
                      form == AssignForm::region_fill;
  CHECK((info.scalar != nullptr) == scalar);
  if (info.scalar) CHECK(p.checked.program->type_of(*info.scalar) == Type::scalar);
  CHECK((info.region != nullptr) == (form == AssignForm::region_get));
  CHECK((info.right != nullptr) ==
        (form == AssignForm::sum || form == AssignForm::difference || form == AssignForm::contract));
}

TEST_CASE("a put is a block, a scalar, or an expression through a temp of its own") {
  const auto [statement, form, value] = GENERATE(table<std::string, PutForm, AssignForm>({
      {"put g[i,j] = a[i,j]", PutForm::block, AssignForm::copy},
      {"put g[i,j] += a3[i,j,k]", PutForm::block, AssignForm::copy},
      {"put g[i,j] = x + 1.0", PutForm::scalar, AssignForm::fill},
      {"put g[i,j] *= 2.0", PutForm::scalar, AssignForm::fill},
      {"put g[i,j] = v[k]", PutForm::scalar, AssignForm::fill},
      {"put g[i,j] = a[i,j]*b[i,j]", PutForm::scalar, AssignForm::fill},
      {"put g[i,j] = a[i,j]*x", PutForm::expression, AssignForm::scaled_copy},
      {"put g[i,j] += a[i,j] + b[i,j]", PutForm::expression, AssignForm::sum},
      {"put g[i,l] = a[i,j]*c[j,l]", PutForm::expression, AssignForm::contract},
  }));
  INFO(statement);
  const Program p(all_loops(statement));
  const CheckedProgram& program = *p.checked.program;
  REQUIRE(program.puts.size() == 1);
  const PutInfo& info = program.puts.begin()->second;
  CHECK(info.form == form);
  if (form == PutForm::scalar) CHECK(info.value.scalar != nullptr);
  if (form == PutForm::block) CHECK(info.value.left != nullptr);
  REQUIRE((info.hidden_temp != no_symbol) == (form == PutForm::expression));
  if (form != PutForm::expression) return;
  CHECK(info.value.form == value);
  const Symbol& temp = program.symbol(info.hidden_temp);
  CHECK(temp.hidden);
  CHECK(temp.array_kind == ast::ArrayKind::temp);
  CHECK(temp.dims.size() == 2);
}

TEST_CASE("elements and full contractions are scalars, bare indices stay indices") {
  const Program p(
      "do i\ndo j\ndo k\nx = v[k]\ny = a[i,j]*b[j,i]\nn = k*2\nprint k\nx = v[k] + y\nenddo k\nenddo j\nenddo i");
  const CheckedProgram& program = *p.checked.program;
  std::map<std::string, Type> types;
  for (const auto& [expr, type] : program.types)
    types[p.text(expr->span) + "@" + std::to_string(p.checked.sources.position(0, expr->span.begin).line)] = type;
  const int first = 1 + static_cast<int>(std::count(declarations.begin(), declarations.end(), '\n')) + 3;
  const auto at = [&](const std::string& text, int line) {
    return types.at(text + "@" + std::to_string(first + line));
  };
  CHECK(at("v[k]", 0) == Type::scalar);
  CHECK(at("a[i,j]*b[j,i]", 1) == Type::scalar);
  CHECK(at("a[i,j]", 1) == Type::block);
  CHECK(at("b[j,i]", 1) == Type::block);
  CHECK(at("k", 2) == Type::int_);
  CHECK(at("k", 3) == Type::index);
  CHECK(at("v[k]", 4) == Type::scalar);
}

TEST_CASE("procedures that nothing calls are left out, bodies run imports first") {
  const test::TemporaryFolder folder;
  folder.write("one.sialx", "sial one\nscalar z\nproc setup\nz = 1.0\nendproc setup\ncall setup\nendsial one\n");
  const test::Checked checked(
      folder.write("main.sialx",
                   "import \"one.sialx\"\nsial main\nproc inner\nz = 2.0\nendproc inner\nproc outer\ncall inner\n"
                   "endproc outer\nproc never\ncall inner\nendproc never\ncall outer\nendsial main\n"));
  REQUIRE(checked.program != nullptr);
  std::vector<std::string> procs, bodies;
  for (const SymbolId id : checked.program->procs) procs.push_back(checked.program->symbol(id).name);
  for (const ast::Module* module : checked.program->bodies) bodies.push_back(module->name.name);
  CHECK(procs == std::vector<std::string>{"setup", "inner", "outer"});
  CHECK(bodies == std::vector<std::string>{"one", "main"});
}

TEST_CASE("fragment pragmas become where clauses") {
  const std::string head =
      "sial p\nindex f = 1:3\nindex g = 1:3\npredefined int norb\naoindex mu = 1:norb\nmoaindex o = 1:norb\n"
      "index n = 1:9\nstatic elst_dist[f,g]\nstatic rcut_dist[f,g]\nstatic SwAO_frag[n]\nstatic SwMOA_frag[n]\nscalar x\n";
  const auto [indices, pragma, own, expected] = GENERATE(table<std::string, std::string, std::string, std::size_t>({
      {"f, mu, o", "Frag{i}{ao}{}", "", 2},
      {"f, mu, o", "Frag{i}{ao}", "where mu < 3\n", 2},
      {"f, mu, o", "WhereFrag{i}{ap}{}", "where mu < 3\n", 3},
      {"f, g, mu, o", "Frag{ij}{a}{v}", "", 3},
      {"f, g, mu, o", "Frag{Nij}{a}{o}", "", 4},
      {"f, g, mu, o", "WhereFrag{NRij}{}{ao}", "where f < g\nwhere mu < 3\n", 6},
      {"f, mu", "default_loop_manager", "where mu < 3\n", 1},
  }));
  const test::TemporaryFolder folder;
  const test::Checked checked(folder.write("p.sialx", head + "pardo " + indices + " \"" + pragma + "\"\n" + own +
                                                          "x = 1.0\nendpardo " + indices + "\nendsial p\n"));
  INFO(pragma);
  REQUIRE(checked.program != nullptr);
  const PardoInfo& info = checked.program->pardos.begin()->second;
  CHECK(info.wheres.size() == expected);
  CHECK(info.rank_dependence == RankDependence::none);
  const bool fragment = pragma.find("Frag") != std::string::npos;
  CHECK((checked.program->synthetic.empty()) == !fragment);
  for (const ast::Relation& test : checked.program->synthetic) {
    if (test.op == ast::RelOp::ne) continue;
    CHECK(test.op == ast::RelOp::eq);
    const auto& element = std::get<ast::BlockExpr>(std::get<ast::Cast>(test.left->node).operand->node).block;
    const std::string& array = checked.program->symbol_of(element.array).name;
    if (element.indices.size() == 2) {
      CHECK(array == (pragma.find("Rij") != std::string::npos ? "rcut_dist" : "elst_dist"));
    } else {
      CHECK(array == (checked.program->symbol_of(element.indices[0].index).name == "mu" ? "swao_frag" : "swmoa_frag"));
      CHECK(element.indices[0].as_simple);
    }
  }
}

TEST_CASE("a pardo is rank dependent where workers may see it differently") {
  using enum RankDependence;
  const std::string pardo = "\npardo i\ny = 1.0\nendpardo i\n";
  const std::string where_x = "\npardo k\nwhere (int)x == k\ny = 1.0\nendpardo k\n";
  const auto [body, expected] = GENERATE_COPY(table<std::string, RankDependence>({
      {pardo, none},
      {"pardo i\nexit\nendpardo i", possible},
      {"pardo i\ndo j\nexit\nenddo j\nendpardo i", none},
      {"pardo i, j\nwhere i < j\nwhere norb > i\ny = 1.0\nendpardo i, j", none},
      {"pardo k\nwhere (int)table[k] == k\ny = 1.0\nendpardo k", none},
      {"execute get_my_rank rank\nif rank == 0.0" + pardo + "endif", possible},
      {"execute get_my_rank rank\nif rank == 0.0\nx = 1.0\nendif" + where_x, possible},
      {"execute get_my_rank rank\nrank = 0.0\nif rank == 0.0" + pardo + "endif", none},
      {"x = 3.0" + where_x, none},
      {"pardo i\nx += 1.0\nendpardo i" + where_x, possible},
      {"pardo i\nx += 1.0\nendpardo i\nx = 0.0" + where_x, none},
      {"pardo i\nx += 1.0\nendpardo i\ny = 0.0\ncollective y += x\nif y > 1.0" + pardo + "endif", none},
      {"pardo i\nx += 1.0\nendpardo i\nassert_same x" + where_x, none},
      {"execute mystery x" + where_x, possible},
      {"execute set_ijk_aaa table\npardo k\nwhere (int)table[k] == k\ny = 1.0\nendpardo k", none},
      {"execute eigen_calc s s\nx = y" + where_x, none},
      {"restore_persistent x \"x\"" + where_x, saved},
      {"restore_persistent table \"t\"\npardo k\nwhere (int)table[k] == k\ny = 1.0\nendpardo k", saved},
      {"restore_persistent x \"x\"\nif x > 1.0" + pardo + "endif", saved},
      {"restore_persistent x \"x\"\ndo k\nif x == (scalar)k\nexit\nendif" + pardo + "enddo k", saved},
      {"restore_persistent x \"x\"\nexecute get_my_rank rank\nx += rank" + where_x, possible},
      {"restore_persistent x \"x\"\nx = 1.0" + where_x, none},
      {"restore_persistent x \"x\"\npardo i\nif x > 1.0\nexit\nendif\nendpardo i", possible},
      {"restore_persistent x \"x\"\ny = 0.0\ncollective y += x\nif y > 1.0" + pardo + "endif", none},
      {"execute get_my_rank rank\ndo k\ntable[k] = rank\nenddo k\npardo k\nwhere (int)table[k] == k\ny = 1.0\nendpardo k",
       possible},
      {"execute get_my_rank rank\ndo k\ntable[k] = rank\nenddo k\nbroadcast_from 0 table\npardo k\nwhere (int)table[k] == k\ny = 1.0\nendpardo k",
       none},
      {"execute get_my_rank rank\ndo k\nif rank == (scalar)k\nexit\nendif" + pardo + "enddo k", possible},
      {"x = 1.0\ndo k\nif x == (scalar)k\nexit\nendif" + pardo + "enddo k", none},
      {"execute get_my_rank rank\nif rank > 3.0\nstop\nendif" + pardo, none},
      {"execute get_my_rank rank\ndo k\nwhere (int)rank == k" + pardo + "enddo k", possible},
  }));
#ifndef SIALX_CHEMISTRY
  if (body.starts_with("execute set_ijk_aaa")) return;  // a row of chemistry
#endif
  INFO(body);
  const Program p(body);
  RankDependence dependent = none;
  for (const auto& [stmt, info] : p.checked.program->pardos) {
    const bool last = std::all_of(p.checked.program->pardos.begin(), p.checked.program->pardos.end(),
                                  [&, id = stmt->id](const auto& other) { return other.first->id <= id; });
    if (last) dependent = info.rank_dependence;
  }
  CHECK(dependent == expected);
}

TEST_CASE("a procedure called under a rank dependent condition makes its pardos rank dependent") {
  for (const bool divided : {false, true}) {
    const test::TemporaryFolder folder;
    const std::string condition = divided ? "if rank == 0.0\n" : "if x == 0.0\n";
    const test::Checked checked(folder.write(
        "p.sialx",
        "sial p\nscalar x\nscalar rank\nindex k = 1:3\nspecial get_my_rank w\nproc work\npardo k\nx = 1.0\nendpardo k\nendproc work\n"
        "execute get_my_rank rank\n" +
            condition + "call work\nendif\nendsial p\n"));
    REQUIRE(checked.program != nullptr);
    CHECK((checked.program->pardos.begin()->second.rank_dependence == RankDependence::possible) == divided);
  }
}

TEST_CASE("signatures are compared with the table that is passed in") {
  CheckOptions options;
  options.super_signatures = [](std::string_view name) -> std::optional<std::string> {
    if (name == "get_my_rank") return "w u";
    return std::nullopt;
  };
  const auto [signature, warned] =
      GENERATE(table<std::string, bool>({{"w", false}, {"U", false}, {"r", true}, {"ww", true}}));
  const test::TemporaryFolder folder;
  const std::string arguments = signature == "ww" ? " x x" : " x";
  const test::Checked checked(
      folder.write("p.sialx", "sial p\nscalar x\nspecial get_my_rank " + signature + "\nspecial own r\n" +
                                  "execute get_my_rank" + arguments + "\nexecute own x\nendsial p\n"),
      {}, options);
  CHECK(checked.codes(Severity::warning) ==
        (warned ? std::vector<std::string>{"W-SIGNATURE"} : std::vector<std::string>{}));
}
