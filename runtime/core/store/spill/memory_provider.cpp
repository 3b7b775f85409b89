#include "runtime/core/store/spill/memory_provider.h"

#include <algorithm>

namespace sial {
namespace {

constexpr std::uint64_t free_part = 8;        // part of the memory
constexpr std::uint64_t min_provided = 4096;  // bytes, where less was not asked for
constexpr std::uint64_t unit = 64;            // of chunks

}  // namespace

/// Bytes more, chunks included.
std::uint64_t NodeMemoryProvider::allowed() const {
  if (rule_.most == 0 && !rule_.only_serves) return 0;
  std::int64_t more = heap_.bytes_free() - static_cast<std::int64_t>(heap_.budget() / free_part);
  const auto provided = static_cast<std::int64_t>(provided_);
  if (rule_.most > 0) more = std::min(more, static_cast<std::int64_t>(rule_.most) - provided);
  if (!rule_.only_serves) more = std::min(more, static_cast<std::int64_t>(heap_.budget() / 2) - provided);
  return static_cast<std::uint64_t>(std::max<std::int64_t>(more, 0));
}

RemoteChunk NodeMemoryProvider::provide(std::uint64_t bytes) {
  const std::lock_guard guard(mutex_);
  const std::uint64_t most = allowed();
  if (most <= sizeof(Chunk)) return {};
  const std::uint64_t least = std::max<std::uint64_t>(std::min(bytes, min_provided), unit);
  for (std::uint64_t n = std::min(bytes, most - sizeof(Chunk)) / unit * unit; n >= least; n = n / 2 / unit * unit) {
    Chunk* c = heap_.try_allocate(arena_, static_cast<std::int64_t>(n / sizeof(double)), nullptr, true);
    if (c && c->bytes <= most) {
      heap_.not_counted(c);  // among what the blocks of this node use
      provided_ += c->bytes;
      return {heap_.offset(c), n};
    }
    if (c) heap_.drop_reference(c, -1);  // a larger one, that was free
  }
  return {};
}

}  // namespace sial
