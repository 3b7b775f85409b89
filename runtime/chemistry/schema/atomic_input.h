#pragma once
// MolSSI's QCSchema (D. G. A. Smith et al., WIREs Comput. Mol. Sci. 11, e1491 (2021)), versions 1 and 2: an input for
// one molecule becomes a job of the example programs.

#include <optional>
#include <string>

#include "runtime/chemistry/schema/methods.h"
#include "runtime/core/base/json.h"
#include "runtime/core/job/job.h"

namespace sial {

enum class SchemaDriver { energy, gradient, properties };

struct AtomicInput {
  Json given;                // as it came; null where it is no JSON
  std::int32_t version = 1;  // of the schema
  std::optional<SchemaMethod> method;
  SchemaDriver driver = SchemaDriver::energy;
  bool keeps_output = true;  // protocols.stdout
  Job job;                   // its programs, molecule, values and segments; it writes no files
};

/// Reads `text`; `name` is what messages call it. InputError, with the path of what is wrong within the input; `given`
/// of `input` is then as far as it came.
void read_atomic_input(const std::string& text, const std::string& name, AtomicInput& input);

}  // namespace sial
