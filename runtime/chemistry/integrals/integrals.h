#pragma once
// Integrals over atomic orbitals of a job's molecule, for ranges of basis functions that hold whole shells. Chemists'
// notation, column-major output, function order and normalisation of job_data.h. One object per rank: the engines are
// not thread safe.

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/chemistry/integrals/fock_quartet.h"
#include "runtime/chemistry/integrals/function_range.h"
#include "runtime/chemistry/molecule/chemistry.h"

namespace sial {

/// Quartets of shells, or of families of shells, in all blocks so far.
struct QuartetCounts {
  std::int64_t computed = 0, skipped = 0;
};

class AoIntegrals {
 public:
  virtual ~AoIntegrals() = default;
  virtual void overlap(FunctionRange mu, FunctionRange nu, double* out) = 0;
  /// Kinetic energy plus attraction by all nuclei.
  virtual void core_hamiltonian(FunctionRange mu, FunctionRange nu, double* out) = 0;
  /// <mu| r_component |nu> about the origin, component 0, 1, 2.
  virtual void dipole(int component, FunctionRange mu, FunctionRange nu, double* out) = 0;
  /// (ab|cd); quartets below 1e-12 by the Schwarz inequality are left zero. With densities, which hold all the
  /// functions: also those that would add less than 1e-13 to any element of the Fock matrices of these densities, where
  /// all densities are finite.
  virtual void repulsion(const std::array<FunctionRange, 4>& ranges, double* out,
                         std::span<const FockMatrix> densities = {}) = 0;
  virtual QuartetCounts quartets() const = 0;
};

/// Whether two-electron integrals are computed by expansions in Hermite Gaussians (hermite_repulsion.h), else by
/// libint.
bool uses_hermite_repulsion(const Molecule& molecule, IntegralCode method);

/// The molecule is copied. Throws SialError for shells beyond what the library computes.
std::unique_ptr<AoIntegrals> make_ao_integrals(const Molecule& molecule, IntegralCode method = IntegralCode::automatic);

struct InputHamiltonian;
/// Those that a job gives over its orbitals, which stand for basis functions: orthonormal, without positions.
std::unique_ptr<AoIntegrals> make_hamiltonian_integrals(std::shared_ptr<const InputHamiltonian> hamiltonian);

}  // namespace sial
