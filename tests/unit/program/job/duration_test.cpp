// Spans of time as users write them.

#include <catch2/catch.hpp>

#include <cmath>

#include "folder.h"
#include "runtime/core/job/duration.h"

using namespace sial;

TEST_CASE("spans of time") {
  CHECK(parse_duration("90", 1) == 90);
  CHECK(parse_duration("0.5", 60) == 30);
  CHECK(parse_duration("30s", 60) == 30);
  CHECK(parse_duration("11h30m", 1) == 41400);
  CHECK(parse_duration("1.5h", 1) == 5400);
  CHECK(parse_duration("1d2h3min4s", 1) == 93784);
  CHECK(parse_duration("250ms", 1) == 0.25);
  CHECK(parse_duration("11:30:00", 1) == 41400);
  CHECK(parse_duration("2:05", 60) == 125);
  CHECK(parse_checkpoint_every("30") == 1800);
  CHECK(parse_checkpoint_every("0") == 0);
  CHECK(std::isinf(parse_checkpoint_every("programs")));
  for (const char* bad :
       {"", "x", "-3", "-0", "1x", "1h30", "nan", "inf", "1e999", "1:2:3:4", "1:", ":", "1:x", "h", "1 h", "program"}) {
    INFO(bad);
    CHECK(error_of([&] { parse_checkpoint_every(bad); }).find("is not a span of time") != std::string::npos);
  }
}
