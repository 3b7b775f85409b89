#pragma once
// Integrals over atomic orbitals of a job's molecule, for ranges of basis functions that hold whole shells. Chemists' notation,
// column-major output, function order and normalisation of job_data.h. One object per rank: the engines are not thread safe.

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/job/job_data.h"
#include "runtime/super/function_range.h"

namespace sial {

class AoIntegrals {
 public:
  virtual ~AoIntegrals() = default;
  virtual void overlap(FunctionRange mu, FunctionRange nu, double* out) = 0;
  /// Kinetic energy plus attraction by all nuclei.
  virtual void core_hamiltonian(FunctionRange mu, FunctionRange nu, double* out) = 0;
  /// <mu| r_component |nu> about the origin, component 0, 1, 2.
  virtual void dipole(int component, FunctionRange mu, FunctionRange nu, double* out) = 0;
  /// (ab|cd); shell quartets below 1e-12 by the Schwarz inequality are left zero.
  virtual void repulsion(const std::array<FunctionRange, 4>& ranges, double* out) = 0;
};

/// The molecule is copied. Throws SialError for shells beyond what the library computes.
std::unique_ptr<AoIntegrals> make_ao_integrals(const Molecule& molecule);

}  // namespace sial
