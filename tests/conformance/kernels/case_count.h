#pragma once
// How many random cases a kernel suite runs: all in long tests, one in three with --all, one in twenty-four in the
// gate. Under sanitizers a case costs ten times as much, and what they find does not hide in single cases: tests/run.sh
// sets SIALX_CASE_SHARE=4.

#include <cstdint>
#include <cstdlib>

#include "tests/level.h"

namespace sial::kernel_cases {

inline std::int64_t case_count(std::int64_t n) {
  const char* share = std::getenv("SIALX_CASE_SHARE");
  const std::int64_t of = share ? std::atoll(share) : test_level::is_long() ? 1 : test_level::is_gate() ? 24 : 3;
  return of > 1 ? (n + of - 1) / of : n;
}

}  // namespace sial::kernel_cases
