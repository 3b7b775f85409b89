#include "runtime/core/base/error.h"

#include <cstdio>
#include <cstdlib>

#include "runtime/core/base/check.h"
#include "runtime/core/base/printable.h"

namespace sial {

namespace {

/// what() would end there.
std::string without_nul(const std::string& message) {
  std::string shown;
  for (const char c : message)
    if (c == '\0') shown += "\\x00";
    else shown += c;
  return shown;
}

}  // namespace

SialError::SialError(const std::string& message, std::string hint, std::string where)
    : std::runtime_error(without_nul(message)), hint_(std::move(hint)), where_(std::move(where)) {}

ExitCode exit_code_of(const SialError& error) {
  if (dynamic_cast<const InputError*>(&error)) return exit_input_error;
  return dynamic_cast<const EnvironmentError*>(&error) ? exit_environment_error : exit_program_error;
}

void check_failed(const char* file, int line, const char* condition, const std::string& message) {
  std::fprintf(stderr, "sialx internal error: %s:%d: %s: %s\n", file, line, condition, printable(message).c_str());
  std::fflush(stderr);
  std::abort();
}

}  // namespace sial
