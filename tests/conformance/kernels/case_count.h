#pragma once
// How many random cases a kernel suite runs: all in long tests (SIALX_LONG_TESTS=1), else one in three. Under
// sanitizers a case costs ten times as much, and what they find does not hide in single cases: tests/run.sh sets
// SIALX_CASE_SHARE=4.

#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace sial::kernel_cases {

inline bool long_tests() {
  const char* wanted = std::getenv("SIALX_LONG_TESTS");
  return wanted && std::string_view(wanted) == "1";
}

inline std::int64_t case_count(std::int64_t n) {
  const char* share = std::getenv("SIALX_CASE_SHARE");
  const std::int64_t of = share ? std::atoll(share) : long_tests() ? 1 : 3;
  return of > 1 ? (n + of - 1) / of : n;
}

}  // namespace sial::kernel_cases
