#pragma once
// A program's next use of a remote block, as far as its access slices know: look-ahead tells it to the store, and the
// directory keeps it as a hint.

#include <cstdint>

namespace sial {

enum class ForeseenUse : std::uint8_t {
  get,         // its value is read
  accumulate,  // its value is changed: put +=, an increment, a scale
  replace,     // it gets another value, whatever it held: put =, a fill
};

/// Whether the use is of the value that the block has before it.
constexpr bool needs_value(ForeseenUse use) { return use != ForeseenUse::replace; }

}  // namespace sial
