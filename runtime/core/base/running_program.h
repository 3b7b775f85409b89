#pragma once

#include <filesystem>
#include <system_error>

namespace sial {

/// The file of the program that runs here: what belongs to it lies beside it. Empty where the system does not say.
inline std::filesystem::path running_program() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored);
}

}  // namespace sial
