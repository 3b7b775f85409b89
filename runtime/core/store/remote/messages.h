#pragma once
// The messages between nodes: plain structs at the head of a request and of its reply. Bytes are those of one machine
// type.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/core/store/local/node_blocks.h"

namespace sial {

/// First byte of each request; the work queue's messages begin with another.
inline constexpr std::byte store_message{0x42};

enum class RequestKind : std::uint8_t {
  get = 1,
  put,
  accumulate,
  fill,
  increment,
  scale,
  node_advanced,
  transfer,
  drop,
  list,
  apply_contributions,
  announce,
  memory_peak,
  record_get,
  tiers
};

struct RequestHeader {
  std::byte tag = store_message;
  RequestKind kind = RequestKind::get;
  bool move = false;                // transfer
  BlockKey key;                     // array operations use array and generation only
  std::int64_t size = 0;            // elements of the block; list: first row wanted
  std::uint64_t known_version = 0;  // get: no data if the block is of this version still; 0: data in any case
  double value = 0;                 // fill, increment, scale
  std::uint64_t to_array = 0;       // transfer
  std::uint32_t to_generation = 0;
  char name[48] = {};  // announce: of the array, for messages; cut off if longer
  Access access;
};

/// Followed by no bytes; payload: the block, rows of ListedBlock, or TierStats.
struct ReplyHeader {
  Outcome outcome;
  bool unchanged = false;  // get: the version is the one that was named, and no data follow
  std::int64_t rows = 0;   // list: rows in all; memory_peak: bytes
};

/// Rows of a list request that fit one reply.
inline constexpr std::int64_t rows_per_reply = 4096;

std::vector<std::byte> to_bytes(const RequestHeader& h);
std::vector<std::byte> to_bytes(const ReplyHeader& h);
RequestHeader read_request(std::span<const std::byte> bytes);
ReplyHeader read_reply(std::span<const std::byte> bytes);

}  // namespace sial
