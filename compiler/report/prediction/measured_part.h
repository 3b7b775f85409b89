#pragma once
// A run's measurements of one of its parts, as predictions start from them. Values.

#include <cstdint>
#include <vector>

#include "runtime/core/base/ids.h"
#include "runtime/core/bytecode/opcodes.h"

namespace sial::report {

/// Computation between gets and puts; nothing else takes time there.
inline bool is_heavy(Opcode op) {
  if (has(op, op::light)) return false;
  const OpClass c = op_class(op);
  return c == OpClass::scalar || c == OpClass::block || c == OpClass::memory || c == OpClass::execute;
}

/// A get of a part, as the run made it: of all ranks.
struct Get {
  std::int32_t pc = 0;
  ArrayId array;
  double count = 0, moved = 0;
};
/// The run's measurements of a part.
struct Measured {
  std::int32_t loop = -1;
  double runs = 0;  // executions of its lines
  double seconds = 0, waited = 0, draws = 0, instances = 1, accepted = 1, put_bytes = 0, puts = 0;
  bool sums = false;  // some contributions are held back until ranks meet
  double keep = 1;    // part of the fetches that the run made
  std::vector<Get> gets;
};

}  // namespace sial::report
