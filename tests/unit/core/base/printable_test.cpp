#include <catch2/catch.hpp>

#include "runtime/core/base/printable.h"

using namespace sial;

TEST_CASE("text that is text stays") {
  for (const char* text : {"", "prog.sialx:3", "größe", "ψ²", "\xF0\x9F\x99\x82"}) CHECK(printable_name(text) == text);
  CHECK(printable("two\nlines") == "two\nlines");
}

TEST_CASE("control characters and bytes that are no text are shown as numbers") {
  CHECK(printable_name("a\x1b[31mred") == "a\\x1B[31mred");
  CHECK(printable_name("a\nb") == "a\\x0Ab");
  CHECK(printable("a\rb\x07") == "a\\x0Db\\x07");
  CHECK(printable("\x7f") == "\\x7F");
  CHECK(printable("\xC2\x9B"
                  "31m") == "\\xC2\\x9B31m");  // CSI of C1
  CHECK(printable("\x9B") == "\\x9B");
  CHECK(printable("caf\xE9") == "caf\\xE9");
  CHECK(printable("\xC0\x9B") == "\\xC0\\x9B");           // an overlong ESC
  CHECK(printable("\xED\xA0\x80") == "\\xED\\xA0\\x80");  // a surrogate
  CHECK(printable("\xE2\x82") == "\\xE2\\x82");           // cut
  CHECK(printable(std::string_view("a\0b", 3)) == "a\\x00b");
  CHECK(printable_name("a\tb") == "a\tb");
  CHECK(printable("a\u202Eb\u2066") == "a\\xE2\\x80\\xAEb\\xE2\\x81\\xA6");  // directions
  for (const char* text : {"\u061C", "\u200B", "\u200E", "\u2028", "\u2069", "\uFEFF"})
    CHECK(printable(text)[0] == '\\');
  for (const char* text : {"\u200D", "\u2010", "\u2026", "\u2030", "\u2070"}) CHECK(printable(text) == text);
}
