#pragma once
// What `--version` says: the program, the state of the sources, the formats that it reads and writes, and the libraries
// that it was built with. Facts of the build alone, so that it is the same on every machine.

#include <string>
#include <string_view>

namespace sial {

/// Lines, the first of them the program's name and its version, as it has always been.
std::string version_text(std::string_view program);

}  // namespace sial
