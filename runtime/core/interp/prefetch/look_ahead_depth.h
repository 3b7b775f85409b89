#pragma once

namespace sial {

/// --look-ahead: that many blocks ahead of their gets; `automatic` finds out.
struct LookAheadDepth {
  static constexpr int automatic = -1;
  int blocks = automatic;
};

}  // namespace sial
