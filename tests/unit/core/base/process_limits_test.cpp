#include "runtime/core/base/process_limits.h"

#include <catch2/catch.hpp>

using namespace sial;
using Catch::Matchers::Contains;

TEST_CASE("room is asked for, and a refusal names its purpose") {
  constexpr std::int64_t more_than_addresses = std::int64_t{1} << 62;
  CHECK(has_room_for(1 << 20));
  CHECK_FALSE(has_room_for(more_than_addresses));
  CHECK_NOTHROW(require_room_for(1 << 20, "a test"));
  try {
    require_room_for(more_than_addresses, "a test");
    FAIL("there is room");
  } catch (const ProcessLimitError& error) {
    CHECK_THAT(error.what(), Contains("for a test: Cannot allocate memory"));
    CHECK_THAT(error.hint(), Contains("ulimit -v"));
    CHECK(exit_code_of(error) == exit_environment_error);
  }
}

TEST_CASE("a thread runs its body") {
  int ran = 0;
  start_thread("a test", [&] { ran = 1; }).join();
  CHECK(ran == 1);
}
