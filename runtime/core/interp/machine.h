#pragma once
// One rank's interpreter for one program of a job. It drives the store, the work queue, the kernels and the device that
// it is given; its parts (machine_components.h) own the registers, the loop stack and this rank's own blocks. Built,
// run once, asked for its results, destroyed; what outlives a program is in RankState. Not thread safe: one machine,
// one thread.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/core/bytecode/module.h"
#include "runtime/core/interp/context/environment.h"

namespace sial {

class CheckpointFiles;
struct MachineComponents;

class Machine {
 public:
  /// `sequence`: number of the program in the job. Throws SialError when the job lacks what the program needs.
  Machine(const Module& module, std::int32_t sequence, const Environment& environment, const MachineOptions& options);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  /// Collective: runs the program from its first statement to its end, saves what was marked. A SialError that leaves
  /// it says where it happened. `from`: goes on where a checkpoint left off.
  void run(const CheckpointFiles* from = nullptr);

  const Module& module() const;
  double scalar(std::int32_t slot) const;
  std::int32_t integer(std::int32_t slot) const;
  /// A static array's current contents; empty data when the program never uses it.
  DataArray static_array(ArrayId array) const;
  /// "prog.sialx:12:3" for an instruction.
  std::string place_name(std::int32_t pc) const;
  std::vector<LineCost> line_costs() const;
  /// The orders of the pardos that memory was short for.
  std::vector<PardoOrderFacts> pardo_orders() const;
  /// Adds what was counted so far.
  void add_stats(Stats& stats) const;

 private:
  void begin_program();
  void finish_program();

  std::unique_ptr<MachineComponents> parts_;
};

}  // namespace sial
