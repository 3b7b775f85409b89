#pragma once
// For structs whose members are rows of counters.def: COUNTER_FIELD(unit, COUNTED_##by) is the member of a counter that
// the struct's component counts, and nothing for all others.

#include <cstdint>
#include <string_view>
#include <type_traits>

namespace sial {

/// Seconds are real, everything else is counted.
template <bool seconds>
using CounterField = std::conditional_t<seconds, double, std::int64_t>;

constexpr bool in_seconds(std::string_view unit) { return unit == "s"; }

}  // namespace sial

#define COUNTER_FIELD(unit, ...) __VA_OPT__(::sial::CounterField<::sial::in_seconds(unit)> __VA_ARGS__ = 0;)
