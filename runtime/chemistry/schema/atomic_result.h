#pragma once
// What a run leaves as a result of MolSSI's QCSchema, of the version of its input; or as a failed operation.

#include <map>
#include <string>
#include <vector>

#include "runtime/chemistry/gradient/symmetry.h"
#include "runtime/chemistry/schema/atomic_input.h"

namespace sial {

/// What made a result.
struct SchemaProvenance {
  std::string version;
  int ranks = 1;
};

/// A JSON text. `scalars`: what the programs left. `gradient`: hartree per bohr, a row per atom, of a run that was
/// asked for one, else null. `printed`, `messages`: its output, its warnings. SialError where the programs left no
/// energy.
std::string atomic_result(const AtomicInput& input, const std::map<std::string, double>& scalars,
                          const std::vector<Vector3>* gradient, const std::string& printed, const std::string& messages,
                          const SchemaProvenance& provenance);

/// A failed operation. `code`: the exit code of the run, from which and from `message` follows the type of the error.
std::string failed_operation(const AtomicInput& input, int code, const std::string& message,
                             const SchemaProvenance& provenance);

}  // namespace sial
