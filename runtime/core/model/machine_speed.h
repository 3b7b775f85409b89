#pragma once
// The speed of a processor and its memory, for predictions of time: usual values, or those that `sialrun --calibrate`
// measured on this processor and left in a file beside the generated code. Measured are minima of many
// short times, so that the load of a machine that is not busy all the time does not count.

#include <optional>
#include <string>

#include "runtime/core/kernels/contraction/contraction_fit.h"

namespace sial {

/// The speed of one core, in cycles of the kernels' model and bytes.
struct MachineSpeed {
  double cycles = 3.5e9;
  double l2_bytes = 1e6, l3_bytes = 32e6;
  double l2_rate = 60e9, l3_rate = 30e9, memory_rate = 22e9;  // bytes per second
  double network_rate = 5e9, network_latency = 20e-6;         // between nodes; not measured
  std::optional<kernels::ContractionCosts>
      costs;  // by which strategies of contractions are chosen; predictions go by fixed ones
};

/// Usual rates, with the caches of this machine.
MachineSpeed usual_speed();

/// All but the constants of contractions. Takes about two seconds.
MachineSpeed measure_speed();

/// The constants of contractions, and what they change: factors that the strategies chosen take longer than the
/// fastest.
struct MeasuredCosts {
  kernels::ContractionCosts costs;
  kernels::Regret usual, fitted;
  std::size_t contractions = 0;
};
/// Takes less than a minute.
MeasuredCosts measure_costs();

/// `folder`: of generated code; empty: none. The file is that of one processor.
std::string speed_file(const std::string& folder);
/// Nothing where there is no file, or none of this processor.
std::optional<MachineSpeed> saved_speed(const std::string& folder);
/// Throws EnvironmentError.
void save_speed(const std::string& folder, const MachineSpeed& speed);

/// The speed measured on this processor, else the usual.
MachineSpeed speed_of_this_machine(const std::string& folder);

/// "3.5e9 cycles/s, ...", for --version --verbose.
std::string speed_text(const MachineSpeed& speed);
/// "measured, tile_start 12.3, ...", of the constants of contractions.
std::string costs_text(const MachineSpeed& speed);

}  // namespace sial
