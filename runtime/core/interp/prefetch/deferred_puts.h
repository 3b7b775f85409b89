#pragma once
// Puts of blocks whose values only the device has, which the program does not wait for: in the order of the program,
// until they are carried out as if their statements stood there. Each is a holder of its source's memory, so that
// whoever writes the source after the put gets other memory (OwnBlocks), and what holds the values, on the
// device and then on the host, stays what it was. Bounded: when it is full the oldest has to go.

#include <cstddef>
#include <cstdint>
#include <deque>

#include "runtime/core/device/cache/block_cache.h"

namespace sial {

/// The effect of a put of a block: a copy becomes the block, or its values are added to it, at once or as the store
/// likes; the remote source, or the memory of the rank's own source, is shared with the block.
enum class PutAs { stored, added, combined, shared, moved };

struct DeferredPut {
  std::int32_t pc = 0;  // the statement
  PutAs how = PutAs::stored;
  bool leaves_node = false;  // as a message, perhaps directly from the device
  ArrayId array;             // to where
  BlockIndex block;
  HostBlock source;  // all of its buffer
  std::int64_t bytes() const { return source.buffer_size * 8; }
};

class DeferredPuts {
 public:
  /// `device_memory`: of which sources may take an eighth.
  explicit DeferredPuts(std::int64_t device_memory);

  bool empty() const { return puts_.empty(); }
  std::size_t size() const { return puts_.size(); }
  /// Whether it may be among them at all.
  bool fits(std::int64_t bytes) const { return bytes <= max_bytes_; }
  bool full() const { return puts_.size() > max_puts || bytes_ > max_bytes_; }
  void add(DeferredPut put);
  const DeferredPut& operator[](std::size_t i) const { return puts_[i]; }
  DeferredPut take();

  /// The number at the front whose values are known to be on their way or there.
  std::size_t under_way() const { return under_way_; }
  void record_under_way() { ++under_way_; }

  /// The number from the front on up to the last one to the block, or from the buffer; 0: there is none.
  std::size_t up_to(ArrayId array, const BlockIndex& block) const;
  std::size_t up_to(const double* buffer) const;

  std::int64_t added() const { return added_; }
  std::int64_t awaited() const { return awaited_; }
  void record_awaited() { ++awaited_; }

  static constexpr std::size_t max_puts = 256;

 private:
  const std::int64_t max_bytes_;
  std::deque<DeferredPut> puts_;
  std::int64_t bytes_ = 0, added_ = 0, awaited_ = 0;
  std::size_t under_way_ = 0;
};

}  // namespace sial
