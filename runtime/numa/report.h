#pragma once
// What became of `--numa` on one rank, for statistics. A value.

#include <string>
#include <vector>

#include "runtime/numa/page_calls.h"

namespace sial {

/// Pages of the size of large ones, as far as the system gave them.
enum class LargePages { none, transparent };

struct NumaReport {
  int node = -1;        // where this rank's blocks lie, by the system's number; -1: on no one node, or not known
  PageRule rule;        // of its arena
  std::string problem;  // why the system did not take a rule; empty: it did, or none was needed
  LargePages large = LargePages::none;
  std::string no_large;  // why not
  PagesFound pages;      // of its arena, at the time of the report
};

}  // namespace sial
