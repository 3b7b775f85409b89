#include <catch2/catch.hpp>

#include "runtime/core/base/bytes.h"

using namespace sial;

TEST_CASE("amounts of memory have three digits") {
  CHECK(bytes_text(999) == "999 B");
  CHECK(bytes_text(1'234'567) == "1.23 MB");
  CHECK(bytes_text(999'600) == "1.00 MB");
}

TEST_CASE("amounts of memory that are needed are rounded up") {
  CHECK(bytes_needed_text(0) == "0 B");
  CHECK(bytes_needed_text(999) == "999 B");
  CHECK(bytes_needed_text(1'230'000) == "1.23 MB");
  CHECK(bytes_needed_text(1'230'001) == "1.24 MB");
  CHECK(bytes_needed_text(999'001) == "1.00 MB");
  CHECK(bytes_needed_text(123'400'000'000) == "124 GB");
}
