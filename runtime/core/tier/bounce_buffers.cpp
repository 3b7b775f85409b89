#include "runtime/core/tier/bounce_buffers.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "runtime/core/base/error.h"

namespace sial {
namespace {

constexpr std::size_t large_total = BounceBuffers::large_bytes * BounceBuffers::large_count;
constexpr std::size_t total = large_total + BounceBuffers::small_bytes * BounceBuffers::small_count;

std::byte* map() {
  void* const memory =
      ::mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    throw EnvironmentError(fmt::format("no memory for the buffers of disk transfers: {}", std::strerror(errno)),
                           "raise `ulimit -v`, or take fewer ranks");
  return static_cast<std::byte*>(memory);
}

}  // namespace

void BounceBuffers::Unmap::operator()(std::byte* memory) const { ::munmap(memory, total); }

BounceBuffers::BounceBuffers() : memory_(map()) {
  for (int i = large_count; i-- > 0;) large_.push_back(memory_.get() + static_cast<std::size_t>(i) * large_bytes);
  for (int i = small_count; i-- > 0;)
    small_.push_back(memory_.get() + large_total + static_cast<std::size_t>(i) * small_bytes);
}

std::byte* BounceBuffers::take(std::size_t bytes) {
  std::vector<std::byte*>& free = bytes <= small_bytes ? small_ : large_;
  if (free.empty()) return nullptr;
  std::byte* const buffer = free.back();
  free.pop_back();
  return buffer;
}

void BounceBuffers::give_back(std::byte* buffer) {
  (buffer < memory_.get() + large_total ? large_ : small_).push_back(buffer);
}

}  // namespace sial
