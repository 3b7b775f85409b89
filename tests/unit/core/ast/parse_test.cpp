// Which texts are programs: encodings, line ends, limits, and the forms of the reference that are refused.

#include <catch2/catch.hpp>

#include <random>

#include "tests/unit/core/ast/parsed.h"

using namespace sial;
using namespace sial::test;

namespace {

bool accepted(const std::string& text) {
  const Parsed parsed(text);
  INFO(text << "\n" << parsed.text());
  CHECK((parsed.module == nullptr) == parsed.emitter.has_errors());
  return parsed.module != nullptr;
}

std::string repeated(const std::string& text, int n) {
  std::string out;
  for (int i = 0; i < n; ++i) out += text;
  return out;
}

}  // namespace

TEST_CASE("every line end is a line end") {
  for (const char* end : {"\n", "\r\n", "\r", "\n\n", " \t\f\n", " # comment\n", "\n# comment\n\n"}) {
    const std::string e = end;
    CHECK(accepted("sial p" + e + "scalar x" + e + "x = 1.0" + e + "print \"a\"" + e + "endsial p" + e));
  }
  CHECK(accepted("sial p\nendsial p"));
  CHECK(accepted("\n\n# first\n\nsial p\nendsial p # last"));
  CHECK(accepted("\xEF\xBB\xBFsial p\nendsial p\n"));
  CHECK_FALSE(accepted("sial p scalar x\nendsial p\n"));
}

TEST_CASE("UTF-8 is possible in comments and strings only") {
  CHECK(accepted("sial p\n# \u00e9\u4e16\U0001F600\nprint \"\u00e9\"\nendsial p # \u00fc\n"));
  CHECK(Parsed("sial p\nscalar \u00e9\nendsial p\n").errors() == Errors{{"E-CHARACTER", 2}});
  CHECK(Parsed("sial p\nscalar x # caf\xe9\nendsial p\n").errors() == Errors{{"E-UTF8", 2}});
  for (const char* bad : {"\x80", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xF8", "\xE2\x82"})
    CHECK(Parsed(std::string("sial p\n#") + bad + "\nendsial p\n").errors() == Errors{{"E-UTF8", 2}});
}

TEST_CASE("columns count bytes behind letters outside ASCII") {
  const Parsed parsed("sial p\nprint \"\u00e9\" 2.0\nendsial p\n");
  REQUIRE(parsed.emitter.all().size() == 1);
  CHECK(parsed.sources.position(0, parsed.emitter.all()[0].span.begin).column == 12);
}

TEST_CASE("keywords have no case, names keep theirs for messages") {
  const Parsed parsed("SIAL Prog\nScalar Energy\nEnErGy = 1.0\nEndSial pROG\n");
  REQUIRE(parsed.module);
  const auto& declared = std::get<ast::ScalarDecl>(parsed.module->declarations[0].node).name;
  CHECK(declared.name == "energy");
  CHECK(declared.text == "Energy");
}

TEST_CASE("nesting and length have limits that keep the stack safe") {
  const auto parentheses = [](int n) { return program("x = " + repeated("(", n) + "1.0" + repeated(")", n) + "\n"); };
  CHECK(accepted(parentheses(max_nesting)));
  CHECK(Parsed(parentheses(max_nesting + 1)).errors() == Errors{{"E-NESTING", body_line}});
  CHECK(Parsed(parentheses(100000)).errors() == Errors{{"E-NESTING", body_line}});
  CHECK(Parsed(program("x = " + repeated("(", 100000) + "\n")).errors() == Errors{{"E-NESTING", body_line}});
  const auto ifs = [](int n) { return program(repeated("if x > y\n", n) + repeated("endif\n", n)); };
  CHECK(accepted(ifs(max_nesting)));
  CHECK(Parsed(ifs(max_nesting + 1)).errors() == Errors{{"E-NESTING", body_line + max_nesting}});
  CHECK(Parsed(ifs(20000)).errors() == Errors{{"E-NESTING", body_line + max_nesting}});
  CHECK(accepted(program("x = 1.0" + repeated(" + 1.0", max_operators_per_line) + "\n")));
  CHECK(Parsed(program("x = 1.0" + repeated(" + 1.0", max_operators_per_line + 1) + "\n")).errors() ==
        Errors{{"E-NESTING", body_line}});
  CHECK(Parsed(program("n = " + repeated("(int)(scalar)", 20000) + "n\n")).errors() ==
        Errors{{"E-NESTING", body_line}});
}

TEST_CASE("statements that are refused get the error that fits") {
  const std::pair<const char*, const char*> cases[] = {{"allocate lo(*,*)", "E-OLD-DIALECT"},
                                                       {"! comment", "E-OPERATOR"},
                                                       {"allocate contiguous cl[*,*]", "E-SELECTOR"},
                                                       {"create g[*,*]", "E-SELECTOR"},
                                                       {"execute f1 x, y", "E-ARG"},
                                                       {"execute f1 -3.0", "E-ARG"},
                                                       {"execute f1 \"abc\"", "E-ARG"},
                                                       {"x = 1.0d0", "E-EXPONENT"},
                                                       {"x = 1.0e-5", "E-EXPONENT"},
                                                       {"x = --1.0", "E-UNARY"},
                                                       {"print \"abc", "E-STRING"},
                                                       {"print \"a\" x", "E-PRINT-OPERAND"},
                                                       {"print_scalar x", "E-RESERVED"},
                                                       {"println", "E-PRINT-OPERAND"},
                                                       {"request h[i,j] i", "E-OLD-DIALECT"},
                                                       {"x /= 2.0", "E-OPERATOR"},
                                                       {"x = 1.0; y = 2.0", "E-OPERATOR"},
                                                       {"x = 1.0 y = 2.0", "E-LINE"},
                                                       {"n = - (int) x", "E-UNARY"},
                                                       {"print norb println", "E-LINE"},
                                                       {"x = -sqrt x", "E-UNARY"},
                                                       {"x = sqrt -x", "E-UNARY"},
                                                       {"x = sqrt sqrt x", "E-UNARY"},
                                                       {"where i < 3", "E-WHERE-PLACE"},
                                                       {"import \"d.sialx\"", "E-IMPORT-ORDER"},
                                                       {"scalar z\nx = 1.0\nscalar u", "E-DECL-ORDER"},
                                                       {"x.y.z = 1.0", "E-NAME-DOTS"},
                                                       {"sip_barrier now", "E-OLD-DIALECT"},
                                                       {"a[i,1:2] = 1.0", "E-SELECTOR"},
                                                       {"a[i+1,j] = 1.0", "E-SELECTOR"},
                                                       {"whatever", "E-SYNTAX"},
                                                       {"enddo i", "E-UNMATCHED"},
                                                       {"stop = 1.0", "E-KEYWORD"}};
  for (const auto& [statement, code] : cases) {
    const Parsed parsed(program(std::string(statement) + "\n"));
    INFO(statement << "\n" << parsed.text());
    REQUIRE(parsed.errors().size() == 1);
    CHECK(parsed.errors()[0].first == code);
    CHECK(!parsed.module);
  }
}

TEST_CASE("declarations that are refused get the error that fits") {
  const std::pair<const char*, const char*> cases[] = {{"index k = 1,3", "E-OLD-DIALECT"},
                                                       {"index k = 1:n+1", "E-RANGE-FORM"},
                                                       {"temp a(k)", "E-OLD-DIALECT"},
                                                       {"temp a[1:3]", "E-DIMENSION"},
                                                       {"temp a", "E-DIMENSION"},
                                                       {"int a = -1", "E-INITIAL"},
                                                       {"scalar a = 1", "E-INITIAL"},
                                                       {"scalar a = -1.0", "E-INITIAL"},
                                                       {"scalar stop", "E-KEYWORD"},
                                                       {"scalar print_int", "E-KEYWORD"},
                                                       {"scalar cycle", "E-KEYWORD"},
                                                       {"scalar in", "E-KEYWORD"},
                                                       {"scalar a, b", "E-SYNTAX"},
                                                       {"subindex ii", "E-SYNTAX"},
                                                       {"proc r x\nendproc r", "E-PROC-FORM"},
                                                       {"proc r\nscalar x\nendproc r", "E-DECL-ORDER"},
                                                       {"proc r\nproc q\nendproc q\nendproc r", "E-PROC-FORM"}};
  for (const auto& [declaration, code] : cases) {
    const Parsed parsed("sial p\n" + std::string(declaration) + "\nendsial p\n");
    INFO(declaration << "\n" << parsed.text());
    REQUIRE(parsed.errors().size() == 1);
    CHECK(parsed.errors()[0].first == code);
  }
  for (const char* good :
       {"scalar persistent", "scalar true", "index sum = -3:-1", "predefined sparse contiguous local q[q]", "special f",
        "special f rwU", "scalar a = .5", "scalar b = 5.", "index k = 0:3"})
    CHECK(accepted("sial p\n" + std::string(good) + "\nendsial p\n"));
}

TEST_CASE("damaged programs are refused with an error or accepted, and nothing else happens") {
  const std::string good = program(
      "do i\nwhere i < 3\n  do j\n    do ii in i\n    enddo ii in i\n    a[i,j] = 2.0*(x + 1.0)\n    if x > y\n      put g[i,j] += a[i,j]\n    else\n"
      "      execute f1 a [i,j]\n    endif\n  enddo j\nenddo i\npardo i, j \"pragma\"\n  x = sqrt x ** -2.0\nendpardo i, j\ncl[1:2,1:norb] = 2.0\nprintln \"end\"\n");
  REQUIRE(accepted(good));
  std::mt19937 random(20260101);
  const std::string letters = "()[]:,=+-*/^<>!;\"#. \n\tae1_\xc3\x00&";
  for (int round = 0; round < 1500; ++round) {
    std::string text = good;
    for (int change = 0; change <= round % 4; ++change) {
      const std::size_t at = random() % text.size();
      switch (random() % 4) {
        case 0: text.erase(at, 1 + random() % 6); break;
        case 1: text.insert(at, 1, letters[random() % letters.size()]); break;
        case 2: text[at] = letters[random() % letters.size()]; break;
        default: {  // a line goes, or comes twice
          const std::size_t begin = text.rfind('\n', at) + 1, end = std::min(text.find('\n', at), text.size() - 1) + 1;
          if (begin >= end) break;
          if (random() % 2 == 0) text.erase(begin, end - begin);
          else text.insert(begin, text.substr(begin, end - begin));
        }
      }
    }
    const Parsed parsed(text);
    INFO(text);
    REQUIRE((parsed.module == nullptr) == parsed.emitter.has_errors());
    for (const Diagnostic& d : parsed.emitter.all()) {
      REQUIRE(d.span.end <= text.size());
      REQUIRE(d.span.begin <= d.span.end);
      REQUIRE(!d.message.empty());
    }
  }
}
