#include "runtime/core/interp/rank_check/rank_log.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "runtime/core/base/check.h"

namespace sial {
namespace {

struct LogHeader {
  CollectiveKind kind = CollectiveKind::other;
  Place place;
  std::int32_t padding = 0;
  std::int64_t pardos = 0;
  std::uint64_t events = 0, uses = 0;
};

template <class T>
std::byte* copy_to(std::byte* to, std::span<const T> rows) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (!rows.empty()) std::memcpy(to, rows.data(), rows.size_bytes());
  return to + rows.size_bytes();
}

template <class T>
std::span<const std::byte> take(std::span<const std::byte> bytes, std::vector<T>& rows, std::size_t n) {
  SIAL_CHECK(bytes.size() >= n * sizeof(T), "{} bytes for {} rows", bytes.size(), n);
  rows.resize(n);
  if (n > 0) std::memcpy(rows.data(), bytes.data(), n * sizeof(T));
  return bytes.subspan(n * sizeof(T));
}

/// Apart from rounding, which may depend on where the operands lie in memory.
bool same_value(double a, double b) {
  if (std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b) || a == b) return true;
  return std::abs(a - b) <= 1e-12 * std::max(std::abs(a), std::abs(b));
}

bool differ(const RankEvent& a, const RankEvent& b, bool any_condition) {
  if (any_condition) return a.kind == RankEvent::Kind::condition && a.holds != b.holds;
  if (a.own || b.own || !a.matters) return false;
  return (a.summed && b.summed) || a.hash != b.hash || a.holds != b.holds ||
         (a.hash == 0 && (!same_value(a.left, b.left) || !same_value(a.right, b.right)));
}

bool differ(const RankValue& a, const RankValue& b) {
  return (a.summed && b.summed) || a.hash != b.hash || (a.hash == 0 && !same_value(a.value, b.value));
}

}  // namespace

std::vector<std::byte> pack(const RankLog& log) {
  const LogHeader header{log.kind, log.place, 0, log.pardos, log.events.size(), log.uses.size()};
  const std::span events(log.events);
  const std::span uses(log.uses);
  std::vector<std::byte> bytes(sizeof header + events.size_bytes() + uses.size_bytes());
  copy_to(copy_to(copy_to(bytes.data(), std::span(&header, 1)), events), uses);
  return bytes;
}

RankLog unpack_rank_log(std::span<const std::byte> bytes) {
  std::vector<LogHeader> header;
  bytes = take(bytes, header, 1);
  RankLog log{header[0].kind, header[0].place, header[0].pardos, {}, {}};
  bytes = take(bytes, log.events, header[0].events);
  take(bytes, log.uses, header[0].uses);
  return log;
}

// The n-th time that a statement is carried out is compared with the n-th time on the other ranks, and only if all get
// there.
std::optional<EventDifference> first_difference(std::span<const RankLog> logs, bool any_condition) {
  std::vector<std::map<std::int32_t, std::vector<const RankEvent*>>> visits(logs.size());
  for (std::size_t r = 0; r < logs.size(); ++r)
    for (const RankEvent& e : logs[r].events) visits[r][e.pc].push_back(&e);
  std::map<std::int32_t, std::size_t> visit;
  std::optional<EventDifference> last;
  for (const RankEvent& mine : logs[0].events) {
    const std::size_t n = visit[mine.pc]++;
    bool everywhere = true, own = false;
    for (auto& of_rank : visits) {
      const auto found = of_rank.find(mine.pc);
      everywhere &= found != of_rank.end() && found->second.size() > n;
      if (everywhere) own |= found->second[n]->own != 0;
    }
    if (!everywhere || (own && !any_condition)) continue;
    std::optional<EventDifference> found;
    for (std::size_t r = 1; r < logs.size(); ++r)
      for (std::size_t q = 0; q < r; ++q) {
        const RankEvent &a = *visits[q][mine.pc][n], &b = *visits[r][mine.pc][n];
        if (!differ(a, b, any_condition) || (found && found->a.left != found->b.left)) continue;
        if (!found || a.left != b.left) found = EventDifference{q, r, a, b};  // rather those that show different values
      }
    if (found && !any_condition) return found;
    if (found) last = found;  // ranks parted at the last condition: they still agreed on the way after an earlier one
  }
  return last;
}

std::vector<UseKey> uses_of_all(std::span<const RankLog> logs) {
  std::set<UseKey> keys;
  for (const RankLog& log : logs)
    for (const RankUse& use : log.uses) keys.insert(key_of(use));
  return {keys.begin(), keys.end()};
}

std::optional<UseDifference> first_difference(std::span<const RankLog> logs, std::span<const UseKey> keys,
                                              std::span<const std::vector<RankValue>> values) {
  std::optional<UseDifference> first;
  for (std::size_t r = 0; r < logs.size(); ++r) {
    for (const RankUse& use : logs[r].uses) {
      if (first && std::tie(first->use.pardo, first->use.pc) <= std::tie(use.pardo, use.pc)) continue;
      const auto k = static_cast<std::size_t>(std::lower_bound(keys.begin(), keys.end(), key_of(use)) - keys.begin());
      const RankValue& mine = values[r][k];
      if (!mine.known) continue;
      for (std::size_t q = 0; q < logs.size(); ++q) {
        const RankValue& theirs = values[q][k];
        if (q == r || !theirs.known || !theirs.wrote || !differ(mine, theirs)) continue;
        first = UseDifference{r, q, use, mine, theirs};
        break;
      }
    }
  }
  return first;
}

}  // namespace sial
