#pragma once
// The numbers of what sialx writes and reads again, beside those of modules (bytecode/module.h) and of plugins
// (sialx/plugin.h). runtime/RELEASES.md says what changes them.

namespace sial {

inline constexpr int run_json_format = 5;
inline constexpr int results_format = 2;
inline constexpr int checkpoint_format = 5;

}  // namespace sial
