#pragma once
// Methods that are known by name: which example programs compute them. The table is `methods.json` in the folder of the
// examples; sialx.calculate() of the Python package reads the same.

#include <string>
#include <string_view>
#include <vector>

namespace sial {

/// A method over RHF or UHF orbitals.
struct SchemaMethod {
  std::string name;                   // "mp2"
  std::string reference;              // "rhf" or "uhf"
  std::string full_name;              // "ump2": says both
  std::vector<std::string> programs;  // below the folder of the examples
  std::string energy;                 // the scalar that is the total energy
};

/// The folder of the examples: $SIAL_EXAMPLES_PATH, of the installation, of the checkout that this program was built
/// in. InputError where none has the table.
std::string find_examples();

/// The table of a folder of examples. InputError where it is not there, or is no such table.
std::vector<SchemaMethod> read_methods(const std::string& folder);

}  // namespace sial
