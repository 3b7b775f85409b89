#pragma once
// The order in which a program's loops follow each other, for those that have an access slice: as it was the last time,
// and before the first time as the code is written, with loops taken to go round again and exits not to be taken. A
// guess: what depends on it is a hint. A plain value; the module must outlive it.

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "runtime/core/bytecode/module.h"

namespace sial {

class LoopSequence {
 public:
  static constexpr std::int32_t none = -1;

  /// `counts`: per loop row, whether it is one of those.
  LoopSequence(const Module& module, std::vector<bool> counts) : module_(&module), counts_(std::move(counts)) {}

  /// The program begins this one.
  void begin(std::int32_t loop);
  /// The loop that comes after `loop` when that came after `before`; none: not known, or the program ends.
  std::int32_t after(std::int32_t before, std::int32_t loop);
  /// The one before the last that has begun, and the last one.
  std::int32_t before_last() const { return before_last_; }
  std::int32_t last() const { return last_; }

 private:
  std::int32_t as_written(std::int32_t loop);
  std::int32_t first_in(std::int32_t from, std::int32_t end, int depth) const;
  std::int32_t first_after(std::int32_t pc) const;

  const Module* module_;
  std::vector<bool> counts_;
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> seen_;  // by the last two
  std::map<std::int32_t, std::int32_t> seen_after_, written_;           // by the last one
  std::int32_t before_last_ = none, last_ = none;
};

}  // namespace sial
