#pragma once
// MolSSI's QCSchema (D. G. A. Smith et al., WIREs Comput. Mol. Sci. 11, e1491 (2021)), version 1: an input for one
// molecule becomes a job of the example programs.

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "runtime/job/job_file.h"

namespace sial {

/// A method of the schema for closed or open shells: the programs that compute it.
struct SchemaMethod {
  std::string_view name;
  bool unrestricted;
  std::array<std::string_view, 4> programs;  // below the folder of the examples; empty ones behind the last
  std::string_view energy;                   // the scalar that is the total energy
};

enum class SchemaDriver { energy, gradient, properties };

struct AtomicInput {
  nlohmann::ordered_json given;  // as it came; null where it is no JSON
  const SchemaMethod* method = nullptr;
  SchemaDriver driver = SchemaDriver::energy;
  bool keeps_output = true;  // protocols.stdout
  Job job;                   // its programs, molecule, values and segments; it writes no files
};

/// Reads `text`; `name` is what messages call it. InputError, with the path of what is wrong within the input; `given`
/// of `input` is then as far as it came.
void read_atomic_input(const std::string& text, const std::string& name, AtomicInput& input);

/// The folder of the example programs: $SIAL_EXAMPLES_PATH, of the installation, of the checkout that this program was
/// built in. InputError where none has `program`.
std::string find_examples(std::string_view program);

}  // namespace sial
