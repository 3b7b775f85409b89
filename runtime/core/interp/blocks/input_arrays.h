#pragma once
// Distributed and served arrays that the job gives (`predefined distributed a[p,q]`): their blocks are there when the
// program begins. The array is cut into parts of whole blocks, each small and as far as possible a continuous piece of
// the dataset that covers its chunks. The parts lie in the order of the file, and each rank reads a continuous share of
// them: every chunk is decoded once, but at the borders of shares, whatever the number of ranks and nodes. A rank sends
// the blocks of a part to their homes before it reads the next one.

#include <memory>
#include <set>
#include <span>
#include <string>

#include "runtime/core/interp/context/run_context.h"

namespace sial {

/// Arrays that programs declare as distributed or served only: nobody needs them whole.
std::set<std::string> arrays_read_in_parts(std::span<const std::shared_ptr<const Module>> programs);

/// Reads the other ones whole, unless one is larger than the static array can be that takes it: an InputError.
void read_whole_arrays(JobData& data, std::span<const std::shared_ptr<const Module>> programs);

class InputArrays {
 public:
  explicit InputArrays(const RunContext& context) : context_(context) {}

  /// Collective, when the program begins: all its input arrays. Throws SialError, on all ranks the same one.
  void fill(Statement here) const;

 private:
  void fill(ArrayId array, Statement here) const;

  const RunContext& context_;
};

}  // namespace sial
