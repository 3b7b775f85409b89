#include "runtime/core/tier/piece.h"

#include <cerrno>

namespace sial {

bool piece_ended(Piece& piece, ssize_t result, std::uint64_t alignment) {
  if (result == -EINTR || result == -EAGAIN) return false;
  if (result < 0) {
    piece.error = static_cast<int>(-result);
    return true;
  }
  const std::size_t before = piece.done;
  piece.done += static_cast<std::size_t>(result);
  if (piece.done >= piece.user_bytes) return true;
  piece.done = piece.done / alignment * alignment;  // what goes on begins at an offset that the file takes
  if (piece.done > before) return false;
  piece.error = piece.write ? ENOSPC : EIO;
  return true;
}

}  // namespace sial
