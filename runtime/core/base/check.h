#pragma once
// CHECK: the road for our own mistakes. A failed CHECK prints the condition, the values and the place, then aborts.
// User mistakes are diagnostics (compiler/diag) or SialError (error.h); the world's failures are EnvironmentError
// (error.h).

#include <fmt/format.h>

namespace sial {

/// Prints one line to stderr and calls std::abort. Never returns.
[[noreturn]] void check_failed(const char* file, int line, const char* condition, const std::string& message);

}  // namespace sial

#define SIAL_CHECK(condition, ...)                                                                      \
  do {                                                                                                  \
    if (!(condition)) ::sial::check_failed(__FILE__, __LINE__, #condition, ::fmt::format(__VA_ARGS__)); \
  } while (false)
