#pragma once
// Int and scalar registers of a program that is interpreted abstractly: what follows from literals, predefined values
// and known indices is known, everything else is not. Values only.

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/core/bytecode/module.h"
#include "runtime/core/job/job_data.h"

namespace sial {

class PlannedRegisters {
 public:
  PlannedRegisters(const Module& module, const JobData& job);

  std::optional<std::int32_t> integer(std::int32_t reg) const;
  /// While data decide whether an instruction is executed (`uncertain`), a declared variable that it sets becomes
  /// unknown.
  void set_int(std::int32_t reg, std::optional<std::int32_t> value, bool uncertain);
  void set_real(std::int32_t reg, std::optional<double> value, bool uncertain);

  /// Carries out an instruction on registers. What others write is unknown, but for arguments of super instructions.
  /// `index`: the value of the index that an int_index reads.
  void apply(const Instruction& in, std::optional<std::int32_t> index, bool uncertain);

 private:
  struct Values;
  void invalidate(const Instruction& in, bool uncertain);

  const Module& m_;
  std::vector<std::optional<std::int32_t>> ints_;
  std::vector<std::optional<double>> reals_;
};

}  // namespace sial
