#pragma once
// The Boys function F_m(T), the integral of t^(2m) exp(-T t^2) over t from 0 to 1, by Taylor series about a grid.

#include <vector>

namespace sial {

inline constexpr double boys_grid = 1.0 / 16.0;
inline constexpr int boys_points = 36 * 16 + 1;  // the last is T = 36, behind which exp(-T) is nothing beside F_m
inline constexpr int boys_row = 8;

/// A row of eight for each grid point: F_m, F_m+1, F_m+2/2!, ... F_m+6/6!, exp(-T).
std::vector<double> boys_table(int m);

}  // namespace sial
