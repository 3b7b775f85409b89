#pragma once
// How much the tests do: SIALX_TEST_LEVEL is `all` or `long` for tests/run.sh with these options, otherwise they are
// the gate's.

#include <cstdlib>
#include <string_view>

namespace sial::test_level {

inline std::string_view level() {
  const char* wanted = std::getenv("SIALX_TEST_LEVEL");
  return wanted ? wanted : "gate";
}

inline bool is_long() { return level() == "long"; }
inline bool is_gate() { return level() != "all" && !is_long(); }

}  // namespace sial::test_level
