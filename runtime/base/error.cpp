#include "runtime/base/error.h"

#include <cstdio>
#include <cstdlib>

#include "runtime/base/check.h"
#include "runtime/base/printable.h"

namespace sial {

SialError::SialError(const std::string& message, std::string hint, std::string where)
    : std::runtime_error(message), hint_(std::move(hint)), where_(std::move(where)) {}

void check_failed(const char* file, int line, const char* condition, const std::string& message) {
  std::fprintf(stderr, "sialx internal error: %s:%d: %s: %s\n", file, line, condition, printable(message).c_str());
  std::fflush(stderr);
  std::abort();
}

}  // namespace sial
