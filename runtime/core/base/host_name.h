#pragma once
// The name of the machine that this process runs on.

#include <array>
#include <string>

namespace sial {

/// Ends with a zero; Linux has names of up to 64 characters. `?` where the system does not say.
using HostName = std::array<char, 72>;
HostName host_name();

/// The name as messages show it.
std::string printable_host_name();

}  // namespace sial
