// Several mistakes in one file: each is reported once, and closers find their openers by name.

#include <catch2/catch.hpp>

#include "tests/unit/core/ast/parsed.h"

using namespace sial;
using namespace sial::test;

namespace {

/// Errors of a body, with lines counted from its first line as 1.
Errors errors_in(const std::string& body) {
  const Parsed parsed(program(body));
  Errors out = parsed.errors();
  for (auto& [code, line] : out) line -= body_line - 1;
  UNSCOPED_INFO(parsed.text());
  return out;
}

}  // namespace

TEST_CASE("every line speaks for itself") {
  CHECK(errors_in("x = \ny = 1.0\nx = 1.0 y\nx = 2.0\nput g[i,j\n") ==
        Errors{{"E-SYNTAX", 1}, {"E-SYNTAX", 3}, {"E-SYNTAX", 5}});
}

TEST_CASE("an outer end closes the outer loop and blames the inner one") {
  CHECK(errors_in("do i\n  do j\n    x = 1.0\nenddo i\nx = 2.0\n") == Errors{{"E-UNCLOSED", 4}});
  CHECK(errors_in("do i\n  if x > y\n    x = 1.0\nenddo i\nx = 2.0\n") == Errors{{"E-UNCLOSED", 4}});
  CHECK(errors_in("pardo i, j\n  do k\n    if x > y\nendpardo i, j\n") == Errors{{"E-UNCLOSED", 4}, {"E-UNCLOSED", 4}});
  const Parsed parsed(program("do i\n  do j\n    x = 1.0\nenddo i\n"));
  REQUIRE(parsed.emitter.all().size() == 1);
  REQUIRE(parsed.emitter.all()[0].notes.size() == 1);
  CHECK(parsed.sources.slice(parsed.emitter.all()[0].notes[0].span) == "do j");
}

TEST_CASE("a misnamed end is not a missing one") {
  CHECK(errors_in("do i\n  do j\n    x = 1.0\n  enddo i\nenddo i\n") == Errors{{"E-LOOP-NAMES", 4}});
  CHECK(errors_in("do i\n  do j\n    x = 1.0\n  enddo k\nenddo i\n") == Errors{{"E-LOOP-NAMES", 4}});
  CHECK(errors_in("pardo i, j\nendpardo j, i\n") == Errors{{"E-LOOP-NAMES", 2}});
  CHECK(errors_in("do i\n  do ii in i\n  enddo ii\nenddo i\n") == Errors{{"E-LOOP-NAMES", 3}});
  CHECK(errors_in("do i\nendpardo i\n") == Errors{{"E-LOOP-NAMES", 2}});
}

TEST_CASE("crossed loops are one mistake") {
  CHECK(errors_in("do i\n  do j\n  enddo i\nenddo j\nx = 1.0\n") == Errors{{"E-UNCLOSED", 3}});
}

TEST_CASE("an end too many is found where it stands") {
  CHECK(errors_in("if x > y\n  do i\n    x = 1.0\n    endif\n  enddo i\nendif\n") == Errors{{"E-UNMATCHED", 4}});
  CHECK(errors_in("x = 1.0\nenddo i\nx = 2.0\n") == Errors{{"E-UNMATCHED", 2}});
  CHECK(errors_in("if x > y\nelse\nelse\nendif\n") == Errors{{"E-UNMATCHED", 3}});
  CHECK(errors_in("else\n") == Errors{{"E-UNMATCHED", 1}});
}

TEST_CASE("a damaged header still opens its block") {
  CHECK(errors_in("do i = 1, 3\n  x = 1.0\nenddo i\n") == Errors{{"E-SYNTAX", 1}});
  CHECK(errors_in("if (x > y)\n  x = 1.0\nendif\n") == Errors{{"E-RELATION", 1}});
  CHECK(errors_in("pardo i j\n  x = 1.0\nendpardo i, j\n") == Errors{{"E-SYNTAX", 1}});
  CHECK(errors_in("do i where i < 3\n  x = 1.0\nenddo i\n") == Errors{{"E-WHERE-PLACE", 1}});
  CHECK(errors_in("if x > y x = 1.0 endif\nx = 2.0\n") == Errors{{"E-LINE", 1}});
}

TEST_CASE("a misspelt keyword does its work") {
  CHECK(errors_in("pardoo i\n  x = 1.0\nendpardo i\n") == Errors{{"E-SYNTAX", 1}});
  CHECK(errors_in("do i\n  x = 1.0\nendo i\nx = 1.0\n") == Errors{{"E-SYNTAX", 3}});
  CHECK(errors_in("do i\nend do\nif x > y\nend if\n") == Errors{{"E-SYNTAX", 2}, {"E-SYNTAX", 4}});
  CHECK(Parsed("sail p\nscalar x\nendsail p\n").errors() == Errors{{"E-SYNTAX", 1}, {"E-SYNTAX", 3}});
}

TEST_CASE("else if is one mistake with either number of ends") {
  CHECK(errors_in("if x > y\n  x = 1.0\nelse if x < y\n  x = 2.0\nendif\nendif\nx = 3.0\n") ==
        Errors{{"E-ELSE-IF", 3}});
  CHECK(errors_in("if x > y\n  x = 1.0\nelse if x < y\n  x = 2.0\nendif\nx = 3.0\n") == Errors{{"E-ELSE-IF", 3}});
  CHECK(errors_in("if x > y\n  x = 1.0\nelseif x < y\n  x = 2.0\nendif\n") == Errors{{"E-ELSE-IF", 3}});
}

TEST_CASE("declarations in the wrong place are one mistake per place") {
  CHECK(errors_in("x = 1.0\nscalar z\nscalar u\nint m\n") == Errors{{"E-DECL-ORDER", 2}});
  CHECK(Parsed("sial p\nproc q\nscalar z\nscalar u\nendproc q\nproc r\nint m\nendproc r\nendsial p\n").errors() ==
        Errors{{"E-DECL-ORDER", 3}, {"E-DECL-ORDER", 7}});
}

TEST_CASE("procedures end before the next one begins") {
  CHECK(Parsed("sial p\nproc q\nproc r\nendproc r\nendsial p\n").errors() == Errors{{"E-UNCLOSED", 3}});
  CHECK(Parsed("sial p\nproc q\nendproc r\nendsial p\n").errors() == Errors{{"E-END-NAME", 3}});
  CHECK(Parsed("sial p\nendproc r\nendsial p\n").errors() == Errors{{"E-UNMATCHED", 2}});
}

TEST_CASE("programs end once") {
  CHECK(Parsed("sial p\nendsial q\n").errors() == Errors{{"E-END-NAME", 2}});
  CHECK(Parsed("sial p\nendsial p\nfoo bar\nmore\n").errors() == Errors{{"E-TRAILING", 3}});
  CHECK(Parsed("sial p\nscalar x\nx = 1.0\n").errors() == Errors{{"E-UNCLOSED", 3}});
  CHECK(Parsed("sial p\nsial q\nendsial p\n").errors() == Errors{{"E-SYNTAX", 2}});
  CHECK(Parsed("").errors() == Errors{{"E-NO-PROGRAM", 1}});
  CHECK(Parsed("# nothing\n").errors() == Errors{{"E-NO-PROGRAM", 1}});
  CHECK(Parsed("import \"a\"\n").errors() == Errors{{"E-NO-PROGRAM", 1}});
}

TEST_CASE("very many errors are cut short") {
  std::string body;
  for (int i = 0; i < 1000; ++i) body += "x = \n";
  CHECK(Parsed(program(body)).emitter.error_count() == 101);
}
