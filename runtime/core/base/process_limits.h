#pragma once
// Resources that a process may be refused: memory outside of the blocks, its stack, threads and open files. Libraries
// of others often go on without what they were refused, or ask for it for ever; so it is asked for here first, and a
// refusal is said.

#include <cstdint>
#include <functional>
#include <string>
#include <thread>

#include "runtime/core/base/error.h"

namespace sial {

/// A thread, or memory outside of the blocks, that this process does not get. Other ranks may well get theirs, so that
/// each rank says so itself.
class ProcessLimitError : public EnvironmentError {
 public:
  using EnvironmentError::EnvironmentError;
};

/// Whether this process would now get `bytes` of memory in one piece. Nothing is kept, and no page is touched.
bool has_room_for(std::int64_t bytes);

/// Throws ProcessLimitError where it would not. `purpose`: what the bytes are for, after "cannot allocate 1 MB for ".
void require_room_for(std::int64_t bytes, const std::string& purpose);

/// Throws ProcessLimitError where this process may not open so many more files. `purpose`: what they are for, after
/// "cannot open 32 files for ".
void require_files(int number, const std::string& purpose);

/// Ends the process where its stacks may not grow to what the programs need, with a message if it `says` so. To be
/// called before libraries make what they have at the start, by a constructor of priority 101.
void require_stack(bool says);

/// A thread that runs `body`. Throws ProcessLimitError where there is none to be had; `purpose` comes after "cannot
/// start a thread for ".
std::thread start_thread(const std::string& purpose, std::function<void()> body);

}  // namespace sial
