#pragma once
// The words after -W.

#include <string>
#include <vector>

#include "compiler/diag/diagnostic.h"

namespace sial {

/// Words after -W: error, error=GROUP, no-GROUP, GROUP. Says what is wrong with them; empty: nothing.
std::string read_warnings(const std::vector<std::string>& words, WarningOptions& out);

}  // namespace sial
