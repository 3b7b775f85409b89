#pragma once
// The text of an error for the error stream.

#include <string>

#include "runtime/core/base/error.h"

namespace sial {

/// "error: prog.sialx:12:3: ..." with the hint, the rank and the host. No host: there is only one.
std::string error_text(const SialError& error, int rank, int ranks, const std::string& host = {});

}  // namespace sial
