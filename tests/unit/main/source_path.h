// Files of the source tree that tests read. One translation unit knows where the tree lies, so that the compiler cache
// serves every other file of the tests to another checkout.
#pragma once

#include <string>
#include <string_view>

namespace sial {

/// Absolute path of `below`, which is relative to the top of the source tree.
std::string source_path(std::string_view below);

}  // namespace sial
