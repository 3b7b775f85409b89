#pragma once
// The private state of ranks, from a checkpoint of one number of ranks for another. A value that is the same on all
// ranks is given to all. What ranks have added up in their iterations, and add up over all ranks later, keeps its sum.
// Anything else that differs between ranks and is still used belongs to a rank that is not there any more: the job
// cannot go on then, and the error says which value it is.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/core/bytecode/module.h"
#include "runtime/core/interp/context/saved_machine.h"
#include "runtime/core/transport/transport.h"

namespace sial {

struct Redistributed {
  SavedMachine machine;
  /// Values that all ranks had computed differed by rounding; those of the first rank were taken.
  bool rounded = false;
};

/// Collective. `first`: what rank 0 had saved; `mine`: what those ranks had saved whose files this rank takes over, by
/// their numbers; `files`: how many there are in all. InputError on all ranks with what cannot be shared out; `where`
/// names the checkpoint in it.
Redistributed redistribute(const Module& module, std::int32_t pc, const SavedMachine& first,
                           const std::vector<SavedMachine>& mine, std::size_t files, Transport& transport,
                           CollectiveTag tag, const std::string& where);

}  // namespace sial
