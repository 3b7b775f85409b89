#pragma once
// How many random cases a kernel suite runs. Under sanitizers a case costs ten times as much, and what they find does
// not hide in single cases: tests/run.sh sets SIALX_CASE_SHARE=4 there, one case in four.

#include <cstdint>
#include <cstdlib>

namespace sial::kernel_cases {

inline std::int64_t case_count(std::int64_t n) {
  const char* share = std::getenv("SIALX_CASE_SHARE");
  const std::int64_t of = share ? std::atoll(share) : 1;
  return of > 1 ? (n + of - 1) / of : n;
}

}  // namespace sial::kernel_cases
