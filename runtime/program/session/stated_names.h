#pragma once
// What a job states by name, held against its programs.

#include <iosfwd>
#include <memory>
#include <span>

#include "runtime/core/bytecode/module.h"
#include "runtime/core/job/job.h"
#include "runtime/core/super/plugins.h"

namespace sial {

/// Throws InputError for a value that neither programs nor super instructions ask for. A warning where those of
/// `plugins` may, and where the command line of a batch gives it.
void check_values(const Job& job, std::span<const std::shared_ptr<const Module>> programs, const Plugins* plugins,
                  std::ostream& err);
/// Throws InputError where a gradient is wanted of a scalar that no program has.
void check_gradient_scalar(const Job& job, std::span<const std::shared_ptr<const Module>> programs);
/// Warnings of ranges, arrays and rules of placement that no program uses as the job means it.
void warn_of_names(const Job& job, std::span<const std::shared_ptr<const Module>> programs, const Plugins* plugins,
                   std::ostream& err);
/// Warnings of arrays over basis functions that seem to be in another order.
void warn_of_order(const Job& job, std::ostream& err);

}  // namespace sial
