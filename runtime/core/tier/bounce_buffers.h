#pragma once
// Aligned memory for what direct I/O cannot move from or to blocks: a few large buffers and more small ones. Memory of
// buffers that are never used is not resident. Not safe for threads: its owner has a lock.

#include <cstddef>
#include <memory>
#include <vector>

namespace sial {

class BounceBuffers {
 public:
  static constexpr std::size_t small_bytes = 64 << 10, large_bytes = 512 << 10;
  static constexpr int small_count = 48, large_count = 16;

  BounceBuffers();
  /// For `bytes` of at most large_bytes; null when all are in use.
  std::byte* take(std::size_t bytes);
  void give_back(std::byte* buffer);

 private:
  struct Unmap {
    void operator()(std::byte* memory) const;
  };

  std::unique_ptr<std::byte, Unmap> memory_;
  std::vector<std::byte*> small_, large_;  // free ones; the last used is used next
};

}  // namespace sial
