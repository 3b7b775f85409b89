#include <catch2/catch.hpp>

#include <limits>
#include <sstream>
#include <vector>

#include "runtime/core/interp/context/printer.h"

using sial::PrintFormat;

namespace {

sial::ConstView block(const std::vector<double>& data, std::int64_t rows, std::int64_t columns) {
  return sial::dense_view(data.data(), sial::Shape{2, {rows, columns, 1, 1, 1, 1, 1, 1}}, {});
}

std::string printed(PrintFormat format, void (*what)(sial::Printer&)) {
  std::ostringstream out;
  sial::Printer printer(out, format);
  what(printer);
  return out.str();
}

}  // namespace

TEST_CASE("strings") {
  const auto two = [](sial::Printer& p) {
    p.string("a", false);
    p.string("b", true);
  };
  CHECK(printed(PrintFormat::classic, two) == "a\nb\n\n");
  CHECK(printed(PrintFormat::classic_test, two) == "a\nb\n\n");
  CHECK(printed(PrintFormat::plain, two) == "ab\n");
}

TEST_CASE("named and anonymous numbers") {
  const auto items = [](sial::Printer& p) {
    p.scalar("x", 0.5, 12, false);
    p.integer("n", -3, 13, false);
    p.scalar("", 1.0 / 3.0, 14, false);
    p.integer("", 7, 15, false);
  };
  CHECK(printed(PrintFormat::classic, items) == "12:  x = 0.50000000000000\n13:  n = -3\n0.33333333333333\n7");
  CHECK(printed(PrintFormat::classic_test, items) == "12:  x=0.50000000000000\n13:  n=-3\n0.33333333333333\n7");
  CHECK(printed(PrintFormat::plain, items) == "x = 0.5n = -30.33333333333333337");
}

TEST_CASE("println ends the line once more") {
  const auto items = [](sial::Printer& p) {
    p.scalar("x", 0.5, 12, true);
    p.integer("n", -3, 13, true);
    p.scalar("", 1.0 / 3.0, 14, true);
    p.integer("", 7, 15, true);
  };
  CHECK(printed(PrintFormat::classic, items) == "12:  x = 0.50000000000000\n\n13:  n = -3\n\n0.33333333333333\n\n7\n");
  CHECK(printed(PrintFormat::classic_test, items) == "12:  x=0.50000000000000\n\n13:  n=-3\n\n0.33333333333333\n\n7\n");
  CHECK(printed(PrintFormat::plain, items) == "x = 0.5\nn = -3\n0.3333333333333333\n7\n");
}

TEST_CASE("blocks print a header and one row per first-dimension column") {
  const auto items = [](sial::Printer& p) {
    const std::vector<double> data{1, 2, 3, 4, 5, 6};
    p.block("a[1,2]", block(data, 2, 3), 9, false);
    p.block("v[3]", block(data, 1, 1), 10, false);
    p.block("c[1:2,1]", block(data, 2, 1), 11, true);
  };
  const std::string rows =
      "9:  printing 6 of 6 elements of block a[1,2] in the order stored in memory \n"
      "1.00000000000000 2.00000000000000 \n3.00000000000000 4.00000000000000 \n5.00000000000000 6.00000000000000 \n";
  const std::string region =
      "11:  printing 2 of 2 elements of block c[1:2,1] in the order stored in memory \n1.00000000000000 2.00000000000000 \n\n";
  CHECK(printed(PrintFormat::classic, items) == rows + "10:  v[3] = 1.00000000000000\n" + region);
  CHECK(printed(PrintFormat::classic_test, items) == rows + "10:  printing v[3] = 1.00000000000000\n" + region);
  CHECK(printed(PrintFormat::plain, items) == "a[1,2]:\n1 2\n3 4\n5 6\nv[3] = 1c[1:2,1]:\n1 2\n");
}

TEST_CASE("whole arrays print values at least 14 wide, one element as well") {
  const auto items = [](sial::Printer& p) {
    const std::vector<double> data{1, -std::numeric_limits<double>::infinity(),
                                   std::numeric_limits<double>::quiet_NaN()};
    p.array("s", block(data, 3, 1), 9, false);
    p.array("one", block(data, 1, 1), 10, true);
  };
  const std::string text =
      "9:  printing 3 of 3 elements of contiguous array s in the order stored in memory \n"
      "1.00000000000000           -inf            nan \n"
      "10:  printing 1 of 1 elements of contiguous array one in the order stored in memory \n1.00000000000000 \n\n";
  CHECK(printed(PrintFormat::classic, items) == text);
  CHECK(printed(PrintFormat::classic_test, items) == text);
  CHECK(printed(PrintFormat::plain, items) == "s:\n1 -inf nan\none = 1\n");
}

TEST_CASE("strided views print in index order") {
  const std::vector<double> data{1, 2, 3, 4, 5, 6, 7, 8};
  sial::ConstView v = block(data, 2, 2);
  v.stride[1] = 4;
  std::ostringstream out;
  sial::Printer(out, PrintFormat::plain).block("s[1,1]", v, 1, false);
  CHECK(out.str() == "s[1,1]:\n1 2\n5 6\n");
}

TEST_CASE("the test format stops at 1024 elements, the others at a million") {
  const auto ending = [](PrintFormat format, std::int64_t rows, std::int64_t columns) {
    const std::vector<double> data(static_cast<std::size_t>(rows * columns), 1.0);
    std::ostringstream out;
    sial::Printer(out, format).block("a[1,1]", block(data, rows, columns), 1, false);
    const std::string text = out.str();
    return text.substr(0, text.find(" elements")) + "|" + text.substr(text.size() - 24);
  };
  CHECK(ending(PrintFormat::classic_test, 30, 100) == "1:  printing 1024 of 3000|0 1.00000000000000 ....\n");
  CHECK(ending(PrintFormat::classic_test, 32, 100) == "1:  printing 1024 of 3200|0 1.00000000000000 ....\n");
  CHECK(ending(PrintFormat::classic_test, 32, 32) == "1:  printing 1024 of 1024|00000 1.00000000000000 \n");
  CHECK(ending(PrintFormat::classic, 30, 100) == "1:  printing 3000 of 3000|00000 1.00000000000000 \n");
  CHECK(ending(PrintFormat::classic, 30, 33334) == "1:  printing 1000000 of 1000020|0 1.00000000000000 ....\n");
}
