#pragma once
// What waits to be done to one block: the steps of a chain with the statements that they come from, and what they point
// to. Kept by the machine from one `fused` instruction to the next for its memory; nothing waits between two of them.

#include <deque>
#include <vector>

#include "runtime/interp/machine.h"
#include "runtime/kernels/elementwise/fused.h"

namespace sial {

struct Machine::Chain {
  /// An instruction of the run, and what it has of the run's time: its waiting, and its share of the rest.
  struct Member {
    std::int32_t pc = 0;
    double waited = 0.0, weight = 0.0;
  };

  explicit Chain(kernels::CodeEngine* engine) : runner(engine) {}

  kernels::FusedRunner runner;
  MutableView target;
  Written written;  // the block, with a device
  std::vector<kernels::FusedStep> steps;
  std::vector<std::int32_t> pcs;           // by step
  std::deque<EnergyDifferences> energies;  // of steps of super instructions
  std::vector<SuperArg> blocks;            // their targets
  std::vector<Member> members;             // of the whole run
  int remote = 0;                          // looks at remote blocks since the last pass

  void begin() {
    clear();
    members.clear();
    remote = 0;
  }
  void clear() {
    steps.clear();
    pcs.clear();
    energies.clear();
    blocks.clear();
  }
  void add(const kernels::FusedStep& step) {
    steps.push_back(step);
    pcs.push_back(members.back().pc);
  }
};

}  // namespace sial
