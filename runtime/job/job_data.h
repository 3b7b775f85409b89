#pragma once
// What a job gives to all its programs: predefined values, segment tables, predefined arrays, and optionally a molecule
// with its basis. Read-only once the job runs; shared by all ranks of a process.

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/shape.h"

namespace sial {

/// Writes a part of an array, column-major: elements from `first` on, `count` in each direction. What it throws passes
/// through.
using FillPart =
    std::function<void(std::span<const std::int64_t> first, std::span<const std::int64_t> count, double* out)>;

/// Dense column-major array of doubles with its extents. `origin` says where it came from, for messages about its
/// shape. With `fill` the values are not there but are made when they are needed, part by part; `data` is empty.
struct DataArray {
  std::vector<std::int64_t> extents;
  std::vector<double> data;
  std::string origin = {};
  FillPart fill = {};
  bool in_program_order = false;  // who gave it states its extents as the program does, and not as HDF5 and NumPy list
                                  // those of a Fortran array: for messages
};
struct IntDataArray {
  std::vector<std::int64_t> extents;
  std::vector<std::int32_t> data;
  std::string origin = {};
};

/// An array that the job gives as a dataset of an HDF5 file, looked at but not read. Extents in the order of the
/// program, the fastest first. `where`: in the job file, for messages.
struct ArraySource {
  std::string file, dataset;
  std::vector<std::int64_t> extents;
  bool integers = false;
  std::string where = {};
};

/// One atom; coordinates in bohr. `charge` is what the electrons of the job feel: the atomic number less the electrons
/// that an effective core potential replaces.
struct Atom {
  std::int32_t charge = 0;
  std::string symbol;
  std::array<double, 3> position{};
  std::int32_t core_electrons = 0;
};

/// One shell with general contraction: coefficient[c * exponents.size() + p] multiplies the unit-normalised primitive
/// p. Function order inside a shell: contraction slow, component fast; Cartesian x-power descending then y; pure m = +l
/// .. -l (l >= 2), p stays x, y, z; every Cartesian monomial has unit norm (runtime/super/CONVENTIONS.md).
struct Shell {
  std::int32_t atom = 0;
  std::int32_t l = 0;
  bool pure = true;
  std::vector<double> exponents;
  std::vector<double> coefficients;
  std::int32_t n_contractions = 1;
  std::int32_t n_functions() const { return n_contractions * (pure ? 2 * l + 1 : (l + 1) * (l + 2) / 2); }
};

/// One term of an effective core potential: coefficient r^(power - 2) exp(-exponent r^2), acting on angular momentum l,
/// or as the local part where l is -1.
struct EcpTerm {
  std::int32_t l = -1, power = 2;
  double exponent = 0.0, coefficient = 0.0;
};
struct Ecp {
  std::int32_t atom = 0, electrons = 0;
  std::vector<EcpTerm> terms;
};

struct Molecule {
  std::vector<Atom> atoms;
  std::vector<Shell> shells;  // in AO order
  std::int32_t charge = 0, multiplicity = 1;
  std::int32_t frozen_core = 0;  // orbitals of either spin that correlated programs leave alone
  std::string basis_name;
  std::vector<Ecp> ecps;
  std::int32_t n_basis() const {
    std::int32_t n = 0;
    for (auto& s : shells) n += s.n_functions();
    return n;
  }
};

/// How two-electron integrals are computed: as is faster; by libint; by expansions in Hermite Gaussians.
enum class IntegralCode { automatic, libint, hermite };

/// Sizes of segments by the names of their kinds, "ao", "moa", ...
using NamedSegments = std::map<std::string, std::vector<std::int32_t>>;

struct GivenHamiltonian;

struct JobData {
  std::map<std::string, std::int32_t> ints;  // lower-case names
  std::map<std::string, double> scalars;
  std::map<IndexKind, std::vector<std::int32_t>> segments;  // extents of segments 1..n, per kind
  std::map<std::string, DataArray> arrays;  // predefined statics by name, and chemistry data of legacy files
  std::map<std::string, IntDataArray> int_arrays;
  std::map<std::string, ArraySource> sources;  // arrays that are datasets; those that were read are in `arrays` as well
  bool has_molecule = false;
  Molecule molecule;
  std::shared_ptr<const GivenHamiltonian> hamiltonian;  // in place of a molecule: integrals over orbitals
  IntegralCode integrals = IntegralCode::automatic;
  bool empty_means_none = false;  // initial-data files list arrays without elements that their programs fill themselves
  bool gives_array(const std::string& name) const { return arrays.contains(name) || sources.contains(name); }
};

}  // namespace sial
