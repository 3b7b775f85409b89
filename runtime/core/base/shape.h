#pragma once
// Vocabulary shared by every component: ranks, index kinds, array kinds, block identities and extents. Plain values.

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace sial {

inline constexpr int max_rank = 8;                 // of an array; grammar/README.md, Tables
inline constexpr int subsegments_per_segment = 4;  // grammar/README.md, Subindices

/// Numbers are those of the initial-data files of ACES4 and are part of the module format.
enum class IndexKind : std::int32_t {
  ao = 1001,
  mo = 1002,
  moa = 1003,
  mob = 1004,
  simple = 1005,
  la = 1006,
  sub = 1007
};

/// Extents of a block of one element, whatever its rank.
inline constexpr std::array<std::int64_t, max_rank> unit_extents = [] {
  std::array<std::int64_t, max_rank> extents{};
  extents.fill(1);
  return extents;
}();

enum class ArrayKind : std::int32_t {
  static_ = 1,
  temp = 2,
  local = 3,
  contiguous_local = 4,
  distributed = 5,
  served = 6
};

inline bool is_remote(ArrayKind k) { return k == ArrayKind::distributed || k == ArrayKind::served; }

/// Identity of a block within its array: one segment number (or simple value, or subsegment number) per dimension.
/// Unused trailing entries are 0 and take part in comparison.
struct BlockIndex {
  std::int32_t rank = 0;
  std::array<std::int32_t, max_rank> segment{};
  auto operator<=>(const BlockIndex&) const = default;
};

/// Extents of a block, first dimension fastest in memory (column-major). Unused entries are 1.
struct Shape {
  std::int32_t rank = 0;
  std::array<std::int64_t, max_rank> extent = unit_extents;
  std::int64_t size() const {
    std::int64_t n = 1;
    for (int d = 0; d < rank; ++d) n *= extent[d];
    return n;
  }
  bool operator==(const Shape&) const = default;
};

inline std::uint64_t mix_hash(std::uint64_t h, std::uint64_t v) {
  h ^= v + 0x9e3779b97f4a7c15ULL + (h << 6) + (h >> 2);
  h ^= h >> 31;
  return h * 0xbf58476d1ce4e5b9ULL;
}

/// A statement's place, for messages, statistics and matching of collectives: index into the running module's source
/// map (the pc), unique per program of the job. `sequence` numbers the programs of the job from 0.
struct Place {
  std::int32_t program = 0;
  std::int32_t pc = -1;
  auto operator<=>(const Place&) const = default;
};

}  // namespace sial

template <>
struct std::hash<sial::BlockIndex> {
  std::size_t operator()(const sial::BlockIndex& b) const noexcept {
    std::uint64_t h = static_cast<std::uint64_t>(b.rank);
    for (auto s : b.segment) h = sial::mix_hash(h, static_cast<std::uint32_t>(s));
    return static_cast<std::size_t>(h);
  }
};
