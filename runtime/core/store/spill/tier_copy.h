#pragma once
// The copy of a block's value in a tier, as the directory's entries know it. Lies in node memory. It counts its users:
// each entry whose value it is (several where labels and arrays share a value), and each transfer to or from it. The
// last one gives its part of the tier back. Whoever changes an entry's value drops the entry's use of the old copy.

#include <atomic>
#include <cstdint>

namespace sial {

enum class TierCopyState : std::uint32_t {
  empty = 0,  // nothing was written: the value is in the heap only, and shared by several entries
  writing,    // on its way: the value is in the heap as well
  written,    // the value can be read back
  failed      // could not be written: the value is in the heap only
};

struct alignas(64) TierCopy {
  std::atomic<TierCopyState> state;
  std::atomic<std::uint32_t> users;
  std::uint32_t tier;    // number among the tiers of the node
  std::int64_t doubles;  // of the block
  std::uint64_t at;      // offset in the tier's space
  std::uint64_t bytes;   // of the space; 0: has none
  std::uint64_t next;    // offset of the next one in a list of free ones
};
static_assert(sizeof(TierCopy) == 64);

}  // namespace sial
