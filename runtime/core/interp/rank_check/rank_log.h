#pragma once
// The messages of ranks to each other under --check when they synchronise: which rank-dependent values they printed,
// saved, decided by or used, in the order of execution. compare_logs() finds the first that differs between the ranks;
// all ranks compute it from the same logs. Plain values.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include "runtime/core/base/shape.h"
#include "runtime/core/interp/rank_check/rank_flow.h"
#include "runtime/core/transport/transport.h"

namespace sial {

/// All blocks of an array.
inline constexpr std::uint64_t whole_array = ~std::uint64_t{0};

/// The write by which a value got its share of a pardo: the variable written there, by the statement `written` of the
/// pardo that begins at `begin`. `pardo` numbers the pardos that a rank carried out. `through`: the variable that it
/// was last read from.
struct PardoShare {
  Variable variable, through;
  std::int32_t begin = 0, written = 0;
  std::int64_t pardo = 0;
  auto operator<=>(const PardoShare&) const = default;
};

/// A value that all ranks come to outside pardos.
struct RankEvent {
  enum class Kind : std::int32_t { printed, saved, condition };
  Kind kind = Kind::printed;
  std::int32_t pc = 0;
  std::int32_t compare = -1;  // of a condition: the comparison
  std::int32_t holds = 0;
  std::int32_t own =
      0;  // 1: may rightly differ, for it comes from the rank's number or from the user's own super instruction
  std::int32_t matters = 1;  // 0: kept to say where ranks parted
  std::int32_t summed = 0;  // 1: this rank added its share of a pardo, so that no rank has the total even if they agree
  double left = 0, right = 0;  // of a condition; else `left` is the value, or the sum of an array's elements
  std::uint64_t hash = 0;      // of an array's elements
  PardoShare share;
};

/// A variable from an earlier pardo was used in a pardo, with the value it had when that began.
struct RankUse {
  std::int64_t pardo = 0;
  std::int32_t begin = 0;  // of that pardo
  std::int32_t pc = 0;
  Variable variable;
  std::uint64_t block = 0;  // of an array
  PardoShare share;
};

struct RankLog {
  CollectiveKind kind = CollectiveKind::other;
  Place place;
  std::int64_t pardos = 0;  // carried out so far
  std::vector<RankEvent> events;
  std::vector<RankUse> uses;
};

std::vector<std::byte> pack(const RankLog& log);
RankLog unpack_rank_log(std::span<const std::byte> bytes);

/// A rank's value where another asks for what it used. `wrote`: in a pardo, after all ranks last had the same.
/// `summed`: as in RankEvent.
struct RankValue {
  std::int32_t known = 0, wrote = 0, summed = 0, padding = 0;
  double value = 0;
  std::uint64_t hash = 0;
};

/// Two ranks with different values.
struct EventDifference {
  std::size_t rank_a = 0, rank_b = 0;
  RankEvent a, b;
};
struct UseDifference {
  std::size_t rank_a = 0, rank_b = 0;
  RankUse use;
  RankValue a, b;
};

/// The first event that differs and should not. `any_condition`: the last condition on which the ranks parted,
/// rightly or not.
std::optional<EventDifference> first_difference(std::span<const RankLog> logs, bool any_condition);

using UseKey = std::tuple<std::int64_t, std::int32_t, Variable, std::uint64_t>;
inline UseKey key_of(const RankUse& use) { return {use.pardo, use.begin, use.variable, use.block}; }
/// The keys that some rank used, in the same order on all ranks.
std::vector<UseKey> uses_of_all(std::span<const RankLog> logs);
/// `values`: by rank, for each key of uses_of_all(). A rank may use what no other wrote.
std::optional<UseDifference> first_difference(std::span<const RankLog> logs, std::span<const UseKey> keys,
                                              std::span<const std::vector<RankValue>> values);

}  // namespace sial
