#include "tests/bench/kernels/layout.h"

namespace bench {
namespace {

/// Common stride of a group whose dimensions follow each other without gaps; 0 if they do not; 1 for one position.
std::int64_t group_stride(const Dims& group, Stride s) {
  std::int64_t first = 1, next = -1;
  for (const Dim& dim : group) {
    if (dim.extent == 1) continue;
    if (next < 0) first = dim.*s;
    else if (dim.*s != next) return 0;
    next = dim.*s * dim.extent;
  }
  return first;
}

}  // namespace

Matrix as_matrix(const Dims& rows, const Dims& columns, Stride s) {
  const std::int64_t m = volume(rows), n = volume(columns);
  const std::int64_t row = group_stride(rows, s), column = group_stride(columns, s);
  if (row == 0 || column == 0) return {};
  if ((m == 1 || row == 1) && (n == 1 || column >= m))
    return {true, false, n == 1 ? std::max<std::int64_t>(1, m) : column};
  if ((n == 1 || column == 1) && (m == 1 || row >= n)) return {true, true, m == 1 ? std::max<std::int64_t>(1, n) : row};
  return {};
}

Product product_of(const Layout& l, std::int64_t m, std::int64_t n, std::int64_t k) {
  if (l.d.transposed) return {n, m, k, l.b.ld, l.a.ld, l.d.ld, !l.b.transposed, !l.a.transposed};
  return {m, n, k, l.a.ld, l.b.ld, l.d.ld, l.a.transposed, l.b.transposed};
}

Dims ordered(Dims group, Stride s) {
  std::stable_sort(group.begin(), group.end(), [s](const Dim& p, const Dim& q) { return p.*s < q.*s; });
  return group;
}

}  // namespace bench
