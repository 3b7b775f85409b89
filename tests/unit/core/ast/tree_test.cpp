// The tree says what was written: every statement and expression form, with spans that cut out their own text.

#include <catch2/catch.hpp>

#include <set>

#include "compiler/ast/print.h"
#include "tests/unit/core/ast/parsed.h"

using namespace sial;
using namespace sial::test;

namespace {

std::string value_of(const std::string& expression) {
  const Parsed parsed(program("x = " + expression + "\n"));
  INFO(parsed.text());
  REQUIRE(parsed.module);
  const auto& assign = std::get<ast::AssignName>(parsed.module->statements[0]->node);
  CHECK(parsed.sources.slice(assign.value->span) == expression);
  // A fully bracketed form shows the structure.
  const auto show = [](const auto& self, const ast::Expr& e) -> std::string {
    if (const auto* b = std::get_if<ast::Binary>(&e.node)) {
      const char* ops[] = {"+", "-", "*", "/", "^", "**"};
      return "{" + self(self, *b->left) + ops[static_cast<int>(b->op)] + self(self, *b->right) + "}";
    }
    if (const auto* u = std::get_if<ast::Unary>(&e.node))
      return (u->op == ast::UnaryOp::negate ? "neg{" : "sqrt{") + self(self, *u->operand) + "}";
    if (const auto* c = std::get_if<ast::Cast>(&e.node)) {
      const char* types[] = {"int", "scalar", "index"};
      return std::string(types[static_cast<int>(c->type)]) + "{" + self(self, *c->operand) + "}";
    }
    if (const auto* p = std::get_if<ast::Paren>(&e.node)) return "(" + self(self, *p->inner) + ")";
    return expression_text(e);
  };
  return show(show, *assign.value);
}

}  // namespace

TEST_CASE("precedence and associativity") {
  CHECK(value_of("x - 1.0 - y") == "{{x-1.0}-y}");
  CHECK(value_of("x - 1.0*y") == "{x-{1.0*y}}");
  CHECK(value_of("x*y/x^y") == "{{{x*y}/x}^y}");
  CHECK(value_of("x ** 2.0 ** 3.0") == "{{x**2.0}**3.0}");
  CHECK(value_of("-x ** 2.0") == "{neg{x}**2.0}");
  CHECK(value_of("sqrt x + 1.0") == "{sqrt{x}+1.0}");
  CHECK(value_of("x - -1.0") == "{x-neg{1.0}}");
  CHECK(value_of("(scalar)(n-1)*y") == "{scalar{({n-1})}*y}");
  CHECK(value_of("(int)(scalar)n") == "int{scalar{n}}");
  CHECK(value_of("(int)-x") == "int{neg{x}}");
  CHECK(value_of("-(x+y)") == "neg{({x+y})}");
  CHECK(value_of("1.0+2.0*x") == "{1.0+{2.0*x}}");
}

TEST_CASE("literals, blocks and regions") {
  const Parsed parsed(program(
      "x = 12.5 + .5 + 5. + 99999999999999999999\na[(index)i,j] = cl[i:i+1,1:norb]\nx = p.y\nprint \"a\\n # \u00e9\"\n"));
  REQUIRE(parsed.module);
  const auto& block = std::get<ast::AssignBlock>(parsed.module->statements[1]->node);
  CHECK(block.target.indices[0].as_simple);
  CHECK_FALSE(block.target.indices[1].as_simple);
  const auto& region = std::get<ast::RegionExpr>(block.value->node).region;
  CHECK(region.array.name == "cl");
  CHECK(expression_text(*region.ranges[0].hi) == "i + 1");
  CHECK(std::get<ast::NameExpr>(std::get<ast::AssignName>(parsed.module->statements[2]->node).value->node).name.name ==
        "p.y");
  CHECK(std::get<ast::StringLit>(std::get<ast::Print>(parsed.module->statements[3]->node).value->node).value ==
        "a\\n # \u00e9");
  const Parsed real(program("x = 5.\nx = .5\n"));
  CHECK(std::get<ast::RealLit>(std::get<ast::AssignName>(real.module->statements[0]->node).value->node).value == 5.0);
  CHECK(std::get<ast::RealLit>(std::get<ast::AssignName>(real.module->statements[1]->node).value->node).value == 0.5);
}

TEST_CASE("declarations") {
  const Parsed parsed(
      "sial p\npredefined int norb\nscalar e = 1.5\nint n = 7\nmoaindex o = 1:norb\nindex k = -2:3\nlaindex l = 1:2\nsubindex oo of o\n"
      "sparse distributed g[o,oo,k]\ncontiguous local c[o]\npredefined static s[o,o]\nspecial f RwU\nspecial bare\nproc q\n  e = 2.0\nendproc Q\nendsial p\n");
  REQUIRE(parsed.module);
  const auto& d = parsed.module->declarations;
  REQUIRE(d.size() == 13);
  CHECK(std::get<ast::IntDecl>(d[0].node).modifiers.predefined);
  CHECK(std::get<ast::ScalarDecl>(d[1].node).initial == 1.5);
  CHECK(std::get<ast::IntDecl>(d[2].node).initial == 7);
  CHECK(std::get<ast::IndexDecl>(d[3].node).kind == ast::IndexKind::moa);
  CHECK(std::get<ast::IndexDecl>(d[3].node).hi.name->name == "norb");
  CHECK(std::get<ast::IndexDecl>(d[4].node).lo.negative);
  CHECK(std::get<ast::IndexDecl>(d[4].node).lo.literal == 2);
  CHECK(std::get<ast::IndexDecl>(d[5].node).kind == ast::IndexKind::la);
  CHECK(std::get<ast::SubindexDecl>(d[6].node).parent.name == "o");
  const auto& g = std::get<ast::ArrayDecl>(d[7].node);
  CHECK((g.modifiers.sparse && !g.modifiers.contiguous && g.kind == ast::ArrayKind::distributed));
  CHECK((g.name.name == "g" && g.dims.size() == 3 && g.dims[1].name == "oo"));
  CHECK(std::get<ast::ArrayDecl>(d[8].node).modifiers.contiguous);
  CHECK(std::get<ast::ArrayDecl>(d[9].node).kind == ast::ArrayKind::static_);
  CHECK(std::get<ast::SpecialDecl>(d[10].node).signature->name == "rwu");
  CHECK_FALSE(std::get<ast::SpecialDecl>(d[11].node).signature.has_value());
  CHECK(std::get<ast::ProcDecl>(d[12].node).body.size() == 1);
}

TEST_CASE("statements and their places") {
  const std::string body =
      "do i\n  where i < 3\n  where i != j\n  do ii in i\n    exit\n  enddo ii in i\nenddo i\npardo i, j \"Frag{i}{a}\"\n  get g[i,j]\nendpardo i, j\n"
      "section\nendsection\ngpu_on\n  gpu_put a[i,j]\ngpu_off\nif x > y\n  stop\nelse\nendif\nallocate lo[i,*]\ndeallocate lo\n"
      "allocate contiguous cl[1:2,1:2]\ncollective x += y\nbroadcast_from 0 s\nset_persistent x \"label\"\nrestore_persistent x \"label\"\n"
      "execute f1 a [i,j] x 3.0 2 cl[1:2,i:i]\ndestroy h\nprepare h[i,j] *= 2.0\nserver_barrier\nassert_same x\n";
  const Parsed parsed(program(body));
  INFO(parsed.text());
  REQUIRE(parsed.module);
  const auto& s = parsed.module->statements;
  REQUIRE(s.size() == 17);
  const auto& loop = std::get<ast::DoLoop>(s[0]->node);
  CHECK(loop.wheres.size() == 2);
  CHECK(loop.wheres[1].op == ast::RelOp::ne);
  CHECK(std::get<ast::SubLoop>(loop.body[0]->node).end_parent.name == "i");
  CHECK(parsed.sources.slice(s[0]->header_span) == "do i");
  CHECK(parsed.sources.slice(s[0]->span).substr(s[0]->span.end - s[0]->span.begin - 7) == "enddo i");
  const auto& pardo = std::get<ast::PardoLoop>(s[1]->node);
  CHECK((pardo.indices.size() == 2 && pardo.pragma == "Frag{i}{a}" && pardo.end_indices.size() == 2));
  CHECK(std::get<ast::GpuOp>(std::get<ast::GpuSection>(s[3]->node).body[0]->node).op == ast::GpuOpKind::put);
  const auto& branch = std::get<ast::If>(s[4]->node);
  CHECK((branch.has_else && branch.then_body.size() == 1 && branch.else_body.empty()));
  const auto& allocate = std::get<ast::Allocate>(s[5]->node);
  REQUIRE(allocate.selector);
  CHECK(((*allocate.selector)[0].index && !(*allocate.selector)[1].index));
  CHECK_FALSE(std::get<ast::Allocate>(s[6]->node).selector);
  CHECK(std::get<ast::Collective>(s[8]->node).op == ast::AssignOp::add);
  CHECK(std::get<ast::Persistent>(s[10]->node).label == "label");
  CHECK(std::get<ast::Persistent>(s[11]->node).restore);
  const auto& execute = std::get<ast::Execute>(s[12]->node);
  REQUIRE(execute.args.size() == 5);
  CHECK(std::holds_alternative<ast::Block>(execute.args[0].node));
  CHECK(std::get<ast::Name>(execute.args[1].node).name == "x");
  CHECK(std::get<ast::RealLit>(execute.args[2].node).value == 3.0);
  CHECK(std::get<ast::IntLit>(execute.args[3].node).value == 2);
  CHECK(std::holds_alternative<ast::Region>(execute.args[4].node));
  CHECK(std::get<ast::Delete>(s[13]->node).destroy);
  const auto& put = std::get<ast::Put>(s[14]->node);
  CHECK((put.prepare && put.op == ast::AssignOp::multiply && parsed.sources.slice(put.op_span) == "*="));
  CHECK(std::get<ast::Barrier>(s[15]->node).server);
}

TEST_CASE("node numbers are unique") {
  const Parsed parsed(
      program("do i\n  do j\n    a[i,j] = 2.0*x\n    x += a[i,j]*a[j,i]\n  enddo j\nenddo i\nx = -(x + y)\n"));
  REQUIRE(parsed.module);
  std::set<ast::NodeId> seen;
  const auto visit = [&](const auto& self, const ast::Body& body) -> void {
    for (const auto& s : body) {
      CHECK(seen.insert(s->id).second);
      if (const auto* d = std::get_if<ast::DoLoop>(&s->node)) self(self, d->body);
      if (const auto* a = std::get_if<ast::AssignBlock>(&s->node)) CHECK(seen.insert(a->value->id).second);
      if (const auto* a = std::get_if<ast::AssignName>(&s->node)) CHECK(seen.insert(a->value->id).second);
    }
  };
  visit(visit, parsed.module->statements);
  CHECK(seen.size() == 8);
}
