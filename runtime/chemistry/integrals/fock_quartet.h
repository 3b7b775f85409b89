#pragma once
// What a block of two-electron integrals adds to Fock matrices.

#include <array>
#include <cstdint>

#include "runtime/chemistry/integrals/function_range.h"

namespace sial {

/// A square matrix over all basis functions, or a part of it, column-major.
struct FockMatrix {
  double* data = nullptr;
  FunctionRange rows, columns;
  double* at(std::int64_t column) const {
    return data + (column - columns.first) * rows.count - rows.first;
  }  // indexed by row number
};

/// F[p,q] += (pq|rs) (Da + Db)[r,s], Fa[p,r] -= (pq|rs) Da[q,s], Fb likewise, for each distinct one of the eight
/// arrangements of a quartet of segments. `x`: (pq|rs), p running fastest, over `ranges`. The matrices hold all the
/// functions of the quartet; fa and fb differ. One pass over the integrals, six products for each, where the densities
/// are symmetric.
void add_to_fock(const double* x, const std::array<FunctionRange, 4>& ranges, const FockMatrix& da,
                 const FockMatrix& db, const FockMatrix& fa, const FockMatrix& fb);

}  // namespace sial
