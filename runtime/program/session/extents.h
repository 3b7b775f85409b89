#pragma once
// Ranges that follow from the arrays that a job gives.

#include <memory>
#include <span>

#include "runtime/core/bytecode/module.h"
#include "runtime/core/job/job.h"

namespace sial {

/// Whether programs have predefined ints that the job does not state.
bool lacks_values(const Job& job, std::span<const std::shared_ptr<const Module>> programs);
/// Sets those that the shapes of input arrays tell, and segments that nobody stated. Throws InputError where shapes do
/// not agree with each other or with segments.
void take_extents(Job& job, std::span<const std::shared_ptr<const Module>> programs);

}  // namespace sial
