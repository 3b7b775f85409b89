#include "compiler/tools/facts/same_lines.h"

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

TEST_CASE("a line that moved into or out of a block is nobody's") {
  CHECK(same_lines("a\ndo i\ny += x*x\nenddo i\nb\n", "a\ny += x*x\nb\n") == Lines{0, 1, 0, 5});
  CHECK(same_lines("a\ny += x*x\nb\n", "a\nDO i\n  y += x*x\nENDDO i\nb\n") == Lines{0, 1, 0, 0, 0, 3});
  CHECK(same_lines("do i\ny\nenddo i\n", "do j\ny\nenddo j\n") == Lines{0, 0, 0, 0});
  // Around the block that changed as well.
  CHECK(same_lines("do i\npardo k\ny\nendpardo k\nenddo i\nz\n", "pardo k\ny\nendpardo k\nz\n")[2] == 0);
  CHECK(same_lines("do i\npardo k\ny\nendpardo k\nenddo i\nz\n", "pardo k\ny\nendpardo k\nz\n")[4] == 6);
  CHECK(same_lines("if a\nx\ny\nelse\nz\nendif\n", "if a\nx\nelse\ny\nz\nendif\n")[4] == 0);
  CHECK(same_lines("pardo k\ny\nendpardo k\n", "pardo k\nwhere k < 2\ny\nendpardo k\n")[3] == 0);
  CHECK(same_lines("proc p\nx\nendproc p\ny\n", "proc p\nx\ny\nendproc p\n") == Lines{0, 1, 2, 0, 3});
  // Ends without a beginning, and beginnings without an end, as programs have while they are typed.
  CHECK(same_lines("enddo i\nif a\nx\n", "enddo i\nif a\nx\n") == Lines{0, 1, 2, 3});
}

TEST_CASE("long texts do not take long") {
  std::string before, now;
  for (int i = 0; i < 20000; ++i) {
    before += i % 3 == 0 ? "enddo i\n" : "t" + std::to_string(i) + "\n";
    now += i % 3 == 0 ? "enddo i\n" : "t" + std::to_string(i % 5 == 0 ? -i : i) + "\n";
  }
  CHECK(same_lines(before, now).size() == 20001);
}
