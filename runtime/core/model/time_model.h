#pragma once
// The time that a job will take, predicted before it runs: how often each instruction is executed (work_count.h), what
// its kernel costs by the model that chooses kernels, and from which cache or memory its operands come. Good for
// comparing segment sizes; in absolute terms a few ten per cent, and guesses where data decide (iterations until
// convergence). Depends on the programs, the job and the caches, never on the load of the machine.

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "runtime/core/bytecode/module.h"
#include "runtime/core/job/job_data.h"
#include "runtime/core/kernels/interface/block_op.h"
#include "runtime/core/model/machine_speed.h"
#include "runtime/core/model/work_count.h"

namespace sial {

struct TimeSetting {
  int ranks = 1, nodes = 1;
  bool keeps_integrals = true;
  MachineSpeed speed;
  std::int32_t iterations = usual_iterations;  // of a loop that data end
};

/// Instructions of a program that are looked at.
inline constexpr std::int64_t time_steps = 4'000'000;
/// The kernels that predictions ask for cycles.
KernelOptions kernels_of_predictions();

/// Seconds of wall time on all ranks.
struct ProgramTime {
  std::string program;
  double seconds = 0;
  std::int64_t steps = 0;  // that counting took
};

/// Times programs for jobs that differ in their segments; what kernels say of an operation is kept. Not for several
/// threads.
class TimeModel {
 public:
  explicit TimeModel(const TimeSetting& setting);
  ~TimeModel();
  /// Throws SialError for a program that does not fit the job (missing values).
  ProgramTime time_of(const Module& module, const JobData& job);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace sial
