#pragma once
// The surroundings of an instruction of a module, through the calls of the procedure it stands in: loops, and
// comparisons of indices that decide whether it runs. A guide for advice, not for optimisation: where a procedure is
// called from several places, any of them counts. Refers to the module.

#include <cstdint>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "runtime/core/bytecode/module.h"

namespace sial::report {

struct Context {
  const Module* module = nullptr;
  std::vector<std::int32_t> loops;  // outermost first
  std::set<std::pair<IndexId, IndexId>>
      relations;  // indices that a where clause or a condition compares, smaller first

  /// The innermost loop over an index; -1: none.
  std::int32_t loop_of(IndexId index) const;
  bool compared(IndexId a, IndexId b) const { return relations.contains(std::minmax(a, b)); }
  /// The part of all combinations of indices that comparisons leave, each of them taken for an order of two equal
  /// ranges.
  double part_visited(std::span<const IndexSize> sizes) const;
};

class CodeContext {
 public:
  explicit CodeContext(const Module& module);
  Context of(std::int32_t pc) const;
  /// By an instruction of the loop or of a procedure called in it.
  bool writes_array(std::int32_t loop, ArrayId array) const;
  bool writes_scalar(std::int32_t loop, std::int32_t scalar) const;

 private:
  void around(std::int32_t pc, Context& context, std::set<std::int32_t>& procs) const;
  template <class Test>
  bool any_instruction(std::int32_t loop, Test test) const;

  const Module& m_;
};

}  // namespace sial::report
