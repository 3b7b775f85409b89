#include "compiler/facts/same_lines.h"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

using sial::facts::same_lines;
using Lines = std::vector<int>;

TEST_CASE("an unchanged text is the same line by line, whatever its indentation and line ends") {
  CHECK(same_lines("a\nb\nb\n", "a\n  b\r\n\tb \r\n") == Lines{0, 1, 2, 3});
  CHECK(same_lines("", "") == Lines{0});
  CHECK(same_lines("a", "") == Lines{0});
  CHECK(same_lines("", "a") == Lines{0, 0});
}

TEST_CASE("lines that came, went or changed are not the same, those around them are") {
  CHECK(same_lines("a\nb\nc\n", "a\nx\nc\n") == Lines{0, 1, 0, 3});
  CHECK(same_lines("a\nb\nc\n", "a\nx\ny\nb\nc\n") == Lines{0, 1, 0, 0, 2, 3});
  CHECK(same_lines("a\nb\nc\nd\n", "a\nd\n") == Lines{0, 1, 4});
}

TEST_CASE("a line like one that came or went is nobody's") {
  CHECK(same_lines("do\nget\nend\n", "do\nget\nget\nend\n") == Lines{0, 1, 0, 0, 3});
  CHECK(same_lines("get\nx\nget\n", "get\nx\n") == Lines{0, 0, 2});
  // A statement that moved: the other one of its wording may be it.
  CHECK(same_lines("p\nq\nr\n", "q\np\nr\n")[3] == 3);
}

TEST_CASE("between lines that occur once the rest is compared again") {
  CHECK(same_lines("one\nsame\ntwo\nsame\nthree\n", "zero\none\nsame\n2\ntwo\nsame\nthree\nfour\n") ==
        Lines{0, 0, 1, 2, 0, 3, 4, 5, 0});
  // Equal lines in another order keep at most those that rise.
  const Lines found = same_lines("a\nb\nc\nd\n", "d\nb\nc\na\n");
  CHECK(found[2] == 2);
  CHECK(found[3] == 3);
  CHECK(found[1] == 0);
  CHECK(found[4] == 0);
}

TEST_CASE("long texts do not take long") {
  std::string before, now;
  for (int i = 0; i < 20000; ++i) {
    before += i % 3 == 0 ? "enddo i\n" : "t" + std::to_string(i) + "\n";
    now += i % 3 == 0 ? "enddo i\n" : "t" + std::to_string(i % 5 == 0 ? -i : i) + "\n";
  }
  CHECK(same_lines(before, now).size() == 20001);
}
