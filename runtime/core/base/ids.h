#pragma once
// Numbers that name things, each kind with a type of its own, so that an array cannot be passed where an index or a
// node is meant. An id holds a number and nothing else: it has the size and layout of the bare number, so that records
// and messages keep their format. There is no arithmetic; number() and at() lead back to the bare number.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <type_traits>

#include <fmt/core.h>

namespace sial {

template <class Tag, class Number>
class Id {
 public:
  constexpr Id() = default;
  constexpr explicit Id(Number number) : number_(number) {}
  /// From a position in a table.
  constexpr explicit Id(std::size_t position) : number_(static_cast<Number>(position)) {}

  constexpr Number number() const { return number_; }
  /// The number as a position in a table.
  constexpr std::size_t at() const { return static_cast<std::size_t>(number_); }

  friend constexpr auto operator<=>(Id a, Id b) = default;

 private:
  Number number_ = 0;
};

/// Row of an array in the module's table.
using ArrayId = Id<struct ArrayTag, std::int32_t>;
/// Row of an index in the module's table.
using IndexId = Id<struct IndexTag, std::int32_t>;
/// A node of the machine, counted from 0: the ranks that share one memory.
using NodeId = Id<struct NodeTag, int>;

inline constexpr ArrayId no_array{-1};
inline constexpr IndexId no_index{-1};

static_assert(sizeof(ArrayId) == sizeof(std::int32_t) && alignof(ArrayId) == alignof(std::int32_t));
static_assert(std::is_trivially_copyable_v<ArrayId> && std::is_standard_layout_v<ArrayId>);

}  // namespace sial

template <class Tag, class Number>
struct std::hash<sial::Id<Tag, Number>> {
  std::size_t operator()(sial::Id<Tag, Number> id) const noexcept { return std::hash<Number>{}(id.number()); }
};

template <class Tag, class Number>
struct fmt::formatter<sial::Id<Tag, Number>> : fmt::formatter<Number> {
  auto format(sial::Id<Tag, Number> id, fmt::format_context& context) const {
    return fmt::formatter<Number>::format(id.number(), context);
  }
};
