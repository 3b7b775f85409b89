#pragma once

namespace sial {

/// n!!, with (-1)!! = 1.
inline double double_factorial(int n) { return n <= 1 ? 1.0 : n * double_factorial(n - 2); }

}  // namespace sial
