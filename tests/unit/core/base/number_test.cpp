#include <catch2/catch.hpp>

#include <limits>

#include "runtime/core/base/number.h"

using namespace sial;

TEST_CASE("a real number is a whole token") {
  CHECK(read_real("0.74") == 0.74);
  CHECK(read_real("+1") == 1.0);
  CHECK(read_real("-.5") == -0.5);
  CHECK(read_real("5.") == 5.0);
  CHECK(read_real("7.4D-1") == 0.74);
  CHECK(read_real("7.4d+1") == 74.0);
  CHECK(read_real("1.5*^-3") == 1.5e-3);
  CHECK(read_real("1e-8") == 1e-8);
  CHECK(read_real("1e-999") == 0.0);
  for (const char* text :
       {"",      "1,74",  "0.7.4",  "1.0x", "x",  "nan", "inf", "-inf", "0x10", "1e", "1e+", "1D",    "1d2d3",
        "1e2e3", "1e2d3", "1*^2d3", "1*^",  "1*", ".",   "-",   "+-1",  "--1",  " 1", "1 ",  "1e999", "1_000"}) {
    INFO(text);
    CHECK_FALSE(read_real(text));
  }
  CHECK_FALSE(read_real(std::string_view("1\0", 2)));
}

TEST_CASE("a whole number is a whole token") {
  CHECK(read_integer("42") == 42);
  CHECK(read_integer("-7") == -7);
  CHECK(read_integer("+7") == 7);
  CHECK(read_integer("9223372036854775807") == std::numeric_limits<std::int64_t>::max());
  for (const char* text : {"", "9223372036854775808", "1.0", "1e3", "4x", "0x4", "+", "-", "+-4", " 4", "4 "}) {
    INFO(text);
    CHECK_FALSE(read_integer(text));
  }
  CHECK(read_integer("5", 1, 5) == 5);
  CHECK_FALSE(read_integer("6", 1, 5));
  CHECK_FALSE(read_integer("0", 1, 5));
  CHECK(read_hexadecimal("fF") == 255u);
  for (const char* text : {"", "0x1", "g", "-1", "11112222333344445"}) CHECK_FALSE(read_hexadecimal(text));
}

TEST_CASE("a number in front of its unit") {
  const auto taken = [](std::string_view text) {
    const auto value = take_real(text);
    return std::pair(value.value_or(-1), std::string(text));
  };
  CHECK(taken("5d") == std::pair(5.0, std::string("d")));
  CHECK(taken("1.5e3us") == std::pair(1500.0, std::string("us")));
  CHECK(taken("2e") == std::pair(2.0, std::string("e")));
  CHECK(taken("7GB/s") == std::pair(7.0, std::string("GB/s")));
  CHECK(taken("GB") == std::pair(-1.0, std::string("GB")));
  CHECK(taken("inf") == std::pair(-1.0, std::string("inf")));
}

TEST_CASE("the words of a line") {
  CHECK(words_of(" O\t0 1\r\n") == std::vector<std::string_view>{"O", "0", "1"});
  CHECK(words_of(" \t\r").empty());
}
