#include <catch2/catch.hpp>

#include <sstream>
#include <vector>

#include "runtime/interp/printer.h"

using sial::PrintFormat;

namespace {

sial::ConstView block(const std::vector<double>& data, std::int64_t rows, std::int64_t columns) {
  return sial::dense_view(data.data(), sial::Shape{2, {rows, columns, 1, 1, 1, 1}}, {});
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
  CHECK(printed(PrintFormat::classic, two) == "a\nb\n");
  CHECK(printed(PrintFormat::classic_test, two) == "ab\n");
  CHECK(printed(PrintFormat::plain, two) == "ab\n");
}

TEST_CASE("named and anonymous numbers") {
  const auto items = [](sial::Printer& p) {
    p.scalar("x", 0.5, 12, true);
    p.integer("n", -3, 13, true);
    p.scalar("", 1.0 / 3.0, 14, true);
    p.integer("", 7, 15, true);
  };
  CHECK(printed(PrintFormat::classic, items) == "12:  x = 0.50000000000000\n13:  n = -3\n0.33333333333333\n7\n");
  CHECK(printed(PrintFormat::classic_test, items) == "x=0.50000000000000\nn=-3\n0.33333333333333\n7\n");
  CHECK(printed(PrintFormat::plain, items) == "x = 0.5\nn = -3\n0.3333333333333333\n7\n");
}

TEST_CASE("blocks print a header and one row per first-dimension column") {
  const auto items = [](sial::Printer& p) {
    const std::vector<double> data{1, 2, 3, 4, 5, 6};
    p.elements("a[1,2]", block(data, 2, 3), 9, false);
    p.elements("v[3]", block(data, 1, 1), 10, false);
  };
  CHECK(printed(PrintFormat::classic, items) ==
        "9:  printing 6 of 6 elements of block a[1,2] in the order stored in memory \n"
        "1.00000000000000 2.00000000000000\n3.00000000000000 4.00000000000000\n5.00000000000000 6.00000000000000\n"
        "v[3] = 1.00000000000000\n");
}

TEST_CASE("strided views print in index order") {
  const std::vector<double> data{1, 2, 3, 4, 5, 6, 7, 8};
  sial::ConstView v = block(data, 2, 2);
  v.stride[1] = 4;
  std::ostringstream out;
  sial::Printer(out, PrintFormat::plain).elements("s[1,1]", v, 1, false);
  CHECK(out.str() == "s[1,1]:\n1 2\n5 6\n");
}

TEST_CASE("the test format stops at 1024 elements") {
  const std::vector<double> data(2000, 1.0);
  std::ostringstream out;
  sial::Printer(out, PrintFormat::classic_test).elements("a[1,1]", block(data, 20, 100), 1, false);
  const std::string text = out.str();
  CHECK(text.rfind("1:  printing 1024 of 2000 elements", 0) == 0);
  CHECK(std::count(text.begin(), text.end(), '\n') == 1 + 52);
}
