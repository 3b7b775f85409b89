#pragma once
// The effect of `--numa` on one rank, for statistics. A value.

#include <cstdint>
#include <string>

#include "runtime/core/numa/page_calls.h"

namespace sial {

struct NumaReport {
  int node = -1;        // where this rank's blocks lie, by the system's number; -1: on no one node, or not known
  PageRule rule;        // of its arena
  std::string problem;  // why the system did not take a rule; empty: it did, or none was needed
  std::int64_t in_large_pages = 0;  // bytes of the node's blocks; on its first rank
  PagesFound pages;                 // of its arena, at the time of the report
};

}  // namespace sial
