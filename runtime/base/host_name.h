#pragma once
// The name of the machine that this process runs on.

#include <string>

namespace sial {

/// As messages show it.
std::string printable_host_name();

}  // namespace sial
