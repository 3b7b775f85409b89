#pragma once
// The error of a heap that has no room. Thrown by the heap, completed by the interpreter.

#include <cstdint>
#include <string>

#include "runtime/core/base/error.h"

namespace sial {

/// A block does not fit. `wanted` says what it was for, `used` how many bytes the heap's users have, `situation` who
/// may use and uses how much, `least` the bytes of a rank with which this would work where blocks may go elsewhere
/// already (`--spill`), -1 where there is no room for them, 0 where they may not; whoever knows more (the interpreter:
/// which array, what holds the memory) throws it anew.
class OutOfMemory : public EnvironmentError {
 public:
  OutOfMemory(std::string wanted, std::int64_t used, std::string situation, std::int64_t least, std::string where = {});
  const std::string& wanted() const { return wanted_; }
  const std::string& situation() const { return situation_; }
  std::int64_t used() const { return used_; }
  std::int64_t least() const { return least_; }

 private:
  std::string wanted_, situation_;
  std::int64_t used_ = 0, least_ = 0;
};

}  // namespace sial
