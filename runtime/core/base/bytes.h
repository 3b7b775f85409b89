#pragma once
// Amounts of memory for people.

#include <cstdint>
#include <string>

namespace sial {

/// "512 B", "1.50 GB": three digits, powers of 1000 as `--memory` reads them.
std::string bytes_text(std::int64_t bytes);

/// The same, rounded up: what is given by this text is enough.
std::string bytes_needed_text(std::int64_t bytes);

}  // namespace sial
