#pragma once
// Part of a transfer that one operation of the system moves. The engine that took it from the queue owns it.

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace sial {

struct TransferJob;

struct Piece {
  TransferJob* job = nullptr;
  bool write = false;
  std::byte* memory = nullptr;  // as the file needs it: the transfer's own, or a bounce buffer
  std::size_t bytes = 0;        // a multiple of the file's alignment where that is needed
  std::uint64_t at = 0;         // in the file

  std::byte* user_memory = nullptr;  // of the transfer
  std::size_t user_bytes = 0;        // at most `bytes`
  std::byte* bounce = nullptr;       // null: memory == user_memory
  bool background = false;           // nobody waited for it when it began
  double begun = 0;                  // seconds

  std::size_t done = 0;  // bytes moved so far
  int error = 0;

  std::byte* rest_memory() const { return memory + done; }
  std::size_t rest_bytes() const { return bytes - done; }
  std::uint64_t rest_at() const { return at + done; }
};

/// Notes what an operation returned: bytes, or a negative errno. False: the rest is still to be moved.
bool piece_ended(Piece& piece, ssize_t result, std::uint64_t alignment);

}  // namespace sial
