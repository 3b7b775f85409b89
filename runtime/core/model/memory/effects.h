#pragma once
// The loops that must be followed value by value to know what a program keeps in memory. A loop whose index names no
// block that outlives an iteration leaves the same behind whatever its value: one visit with its largest segment is
// enough. Facts about a module, independent of a job.

#include <string>
#include <vector>

#include "runtime/core/bytecode/module.h"

namespace sial {

struct LoopFacts {
  std::vector<char> matters;  // per index of the loop
  bool phases = false;        // barriers, deletions or deallocations inside: every trip may leave something else
  bool reads_what_it_puts = false;
};

/// Per loop row. `fetches`: gets leave copies behind (several nodes, or --store=copy).
std::vector<LoopFacts> loop_facts(const Module& module, bool fetches);

/// Per loop row: an index matters where accesses to remote blocks may depend on it; nothing else is said.
std::vector<LoopFacts> access_facts(const Module& module);

}  // namespace sial
