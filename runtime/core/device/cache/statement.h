#pragma once
// The statement on whose behalf work or a transfer is done, as the position of its instruction in the program.
// Transfers are counted by it, and the next use of a block is expected by it. Whoever asks for either passes it. A
// value.

#include <cstdint>

namespace sial {

struct Statement {
  std::int32_t pc = 0;
};

}  // namespace sial
