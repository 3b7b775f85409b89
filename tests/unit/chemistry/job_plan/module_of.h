#pragma once
// Programs as modules, without plans, and jobs for them.

#include "compile.h"
#include "compiler/emit/emit.h"
#include "runtime/core/bytecode/read.h"
#include "runtime/core/interp/context/bind.h"
#include "runtime/core/job/job_data.h"

namespace sial::test {

inline Module module_of(const std::string& declarations, const std::string& statements) {
  const ir::Program program = lower(declarations, statements);
  Module m = emit(program, plan::Plan{}, {"test", std::string(64, '0'), 0});
  verify_module(m, "test");
  return m;
}

/// All AO segments alike.
inline JobData job_of(int segments, std::int32_t extent) {
  JobData job;
  job.ints["norb"] = segments;
  job.segments[IndexKind::ao] = std::vector<std::int32_t>(static_cast<std::size_t>(segments), extent);
  return job;
}

inline const char* const four_indices =
    "predefined int norb\naoindex i = 1:norb\naoindex j = 1:norb\naoindex k = 1:norb\naoindex l = 1:norb\n";

}  // namespace sial::test
