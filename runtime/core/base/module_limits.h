#pragma once
// Limits of a compiled program. The front end refuses more with a line; the verifier of modules refuses it again in
// files that are not its own.

#include <cstddef>

namespace sial {

inline constexpr std::size_t max_module_name = 1000;  // characters of a name, with the module's in front of the dot
inline constexpr std::size_t max_module_text = std::size_t{1} << 20;  // bytes of a string
inline constexpr std::size_t max_module_rows = std::size_t{1} << 26;  // instructions, and rows of each table

}  // namespace sial
