#pragma once
// The Boys function F_m(T), the integral of t^(2m) exp(-T t^2) over t from 0 to 1, by Taylor series about a grid.

#include <vector>

namespace sial {

inline constexpr double boys_grid = 1.0 / 16.0;
/// The last is T = 64. Beyond it exp(-T) is left out: high orders, 4l in quartets of functions of angular momentum l,
/// multiply it by powers of T, and would lack 1e-10 of f functions beyond T = 36.
inline constexpr int boys_points = 64 * 16 + 1;
inline constexpr int boys_row = 8;

/// A row of eight for each grid point: F_m, F_m+1, F_m+2/2!, ... F_m+6/6!, exp(-T).
std::vector<double> boys_table(int m);

}  // namespace sial
