#pragma once
// The time of computation: what a scope takes counts as such, on the counter, in the trace, and as the end of the
// instruction for the profile, which then need not read the clock again. One scope at a time, on the stack.

#include "runtime/interp/machine.h"

namespace sial {

/// Rough cost of an element moved on this machine, for the simulator's clock.
inline constexpr double seconds_per_element = 1e-9;

class Machine::Computing {
 public:
  explicit Computing(Machine& machine) : machine_(machine), begin_(machine.now()) {}
  ~Computing() {
    const double end = machine_.now();
    machine_.compute_seconds_ += end - begin_;
    machine_.clock_ = end;
    if (machine_.env_.trace) machine_.env_.trace->add(TraceKind::compute, machine_.place(), begin_, end);
  }
  double begin() const { return begin_; }
  Computing(const Computing&) = delete;
  Computing& operator=(const Computing&) = delete;

 private:
  Machine& machine_;
  double begin_;
};

}  // namespace sial
