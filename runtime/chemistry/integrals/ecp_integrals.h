#pragma once
// Integrals over effective core potentials, for ranges of basis functions that hold whole shells; order and norms of
// job_data.h. One object per rank.

#include <memory>
#include <vector>

#include "runtime/chemistry/integrals/function_range.h"
#include "runtime/chemistry/molecule/chemistry.h"

namespace sial {

class EcpIntegrals {
 public:
  virtual ~EcpIntegrals() = default;
  /// out[mu + nu * mu.count] := <mu| sum of all potentials |nu>
  virtual void matrix(FunctionRange mu, FunctionRange nu, double* out) = 0;
};

/// Everything is copied. Throws SialError for angular momenta beyond what the library computes.
std::unique_ptr<EcpIntegrals> make_ecp_integrals(const Molecule& molecule, const std::vector<Ecp>& ecps);

}  // namespace sial
