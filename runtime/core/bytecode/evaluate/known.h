#pragma once
// Values of an evaluator: numbers, or std::optional numbers where it does not know all of them.

namespace sial {

template <class V>
inline constexpr bool may_be_unknown = requires(const V& v) { v.has_value(); };

template <class V>
constexpr bool is_known(const V& v) {
  if constexpr (may_be_unknown<V>) return v.has_value();
  else return true;
}

/// Takes a known value.
template <class V>
constexpr auto number(const V& v) {
  if constexpr (may_be_unknown<V>) return *v;
  else return v;
}

}  // namespace sial
