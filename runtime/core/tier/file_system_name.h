#pragma once
// The name of the file system of an open file or folder, for messages.

#include <string>

namespace sial {

/// "ext4", "tmpfs", ...; the number that the system gives it when it is none of the usual ones.
std::string file_system_name(int descriptor);

}  // namespace sial
