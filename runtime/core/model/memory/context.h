#pragma once
// Shared by the parts of abstract_interpreter.h: the program bound to the job, and the books.

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/core/base/ids.h"
#include "runtime/core/interp/blocks/located.h"
#include "runtime/core/model/memory/effects.h"
#include "runtime/core/model/memory/job_memory.h"

namespace sial {

/// Memory of the rank with the address it would have; only distances between addresses mean anything.
struct ModelMemory {
  double* address = nullptr;
  std::int64_t bytes = 0;  // none: it is another's
  bool of_store = false;   // a remote block's
};

/// Bytes that the heap takes for so many elements.
std::int64_t heap_bytes(std::int64_t doubles);

/// The number of an array of a program that decides, with the segments, where its blocks lie.
std::uint64_t array_placement(std::int32_t sequence, ArrayId array);

class ModelContext {
 public:
  ModelContext(const Module& module, std::int32_t sequence, JobMemory& job_memory);

  const BoundArray& array(ArrayId id) const { return bound.arrays[id.at()]; }
  const ResolvedReference& reference(std::int32_t ref) const { return bound.refs[static_cast<std::size_t>(ref)]; }
  const LoopRow& loop(std::int32_t id) const { return module.loops[static_cast<std::size_t>(id)]; }
  [[noreturn]] void fail(std::int32_t pc, const std::string& message, const std::string& hint) const;

  /// The model differs from the program in some bytes.
  void approximate() { exact_ = false; }
  bool exact() const { return exact_; }

  /// The array's row in the books.
  int item_of(ArrayId array);
  ModelMemory take(int item, std::int64_t doubles);

  const Module& module;
  const std::int32_t sequence;
  JobMemory& memory;
  Ledger& ledger;
  const BoundProgram bound;
  const std::vector<LoopFacts> facts;  // per loop

 private:
  bool exact_ = true;
  std::vector<int> items_;  // per array, -1: no row yet
  std::uintptr_t next_address_ = std::uintptr_t{1} << 20;
};

}  // namespace sial
