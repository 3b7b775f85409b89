#pragma once
// What is known of a block that a device has, or had, and of the device memory that holds its values. CachedBlockTable
// keeps these; the parts of the cache that transfer and evict change them. Which memory holds the block's present
// values is one state, and a table says what each event makes of it.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "runtime/core/base/transitions.h"
#include "runtime/core/device/cache/host_block.h"
#include "runtime/core/device/cache/order.h"
#include "runtime/core/device/cache/statement.h"

namespace sial {

/// Device memory with values that one cached block has, or several, or a message.
struct DeviceBlock {
  double* data = nullptr;
  int sharers = 1;
  Frontier written, used;  // last write; all work
};

/// The path of a block to the device: copied from the host's memory, received from another node in the device's memory,
/// or received on the host and copied from there piece by piece.
enum class TransferPath { copied, direct, pipelined };

/// The place of a block's present value.
enum class Residency { host, both, device };

/// Which memory has the present values. Written back: the host's are a copy of the device's, and the host has not asked
/// for them yet.
enum class BlockState : std::uint8_t {
  host_made,          // the host's alone: it wrote them since the device last had the block
  host_known,         // the host's alone; the device has had them, or another node has sent them
  host_written_back,  // the host's alone; the device has evicted its own
  both,
  both_written_back,
  device_only,
};
inline constexpr std::size_t block_states = 6;

enum class BlockEvent : std::uint8_t { copy_in, write_on_device, write_back, read_by_host, write_by_host, evict };
inline constexpr std::size_t block_events = 6;

inline constexpr Transitions<BlockState, block_states, block_events> block_transitions = [] {
  using enum BlockState;
  constexpr std::nullopt_t none = std::nullopt;
  using Table = Transitions<BlockState, block_states, block_events>;
  using Row = Table::value_type;
  return Table{
      Row{both, both, both_written_back, none, none, none},
      Row{device_only, device_only, device_only, device_only, device_only, device_only},
      Row{none, none, none, none, none, both_written_back},
      Row{host_made, host_known, host_known, both, both, none},
      Row{host_made, host_made, host_made, host_made, host_made, host_made},
      Row{host_made, host_known, host_written_back, host_known, host_written_back, none},
  };
}();

/// Whether the device's present values were sent to another node.
enum class SentState : std::uint8_t { no, sent, counted };  // counted: in the lower bound of copies to the host

struct CachedBlock {
  HostBlock host;
  std::uint64_t content = 0;  // of the buffer
  std::uint64_t values = 0;   // hash of what both sides have, where that is checked; 0: not known
  std::shared_ptr<DeviceBlock> block;
  std::int64_t size = 0;
  std::uint64_t last_operation = 0;  // on the device, 0: none that tells when the next will be
  Statement last_statement;          // its statement
  double due = 0.0;                  // operation that is expected to use it next
  BlockState state = BlockState::host_known;
  SentState sent = SentState::no;
  Frontier host_busy;  // copies from and to the host's memory
  TransferPath path = TransferPath::copied;
  std::int64_t prefetched_bytes = 0;  // if it was prefetched, or received, and not used yet ...
  std::uint64_t prefetched_at = 0;    // ... at this operation

  bool on_device() const { return state >= BlockState::both; }
  bool on_host() const { return state != BlockState::device_only; }
  bool written_back() const { return state == BlockState::host_written_back || state == BlockState::both_written_back; }
  void record(BlockEvent event) { state = state_after(block_transitions, event, state); }
};

}  // namespace sial
