#include "runtime/chemistry/integrals/orbital_integrals.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "runtime/chemistry/basis/ecp.h"
#include "runtime/chemistry/integrals/ecp_integrals.h"
#include "runtime/chemistry/integrals/integrals.h"
#include "runtime/chemistry/molecule/chemistry.h"
#include "runtime/chemistry/molecule/molecule.h"
#include "runtime/core/base/error.h"
#include "runtime/core/super/dense_algebra.h"

namespace sial {
namespace {

constexpr double no_orbital = 1e-8;  // up to which all coefficients are those of an orbital that is zero

std::size_t pairs_of(std::size_t n) { return n * (n + 1) / 2; }

/// Coefficients of the orbitals that are there, of a core and of those after it.
class Transformation {
 public:
  Transformation(const JobData& job, const Molecule& functions, const DataArray& coefficients)
      : job_(job),
        functions_(functions),
        n_(static_cast<std::size_t>(functions.n_basis())),
        core_(static_cast<std::size_t>(chemistry(job).molecule.frozen_core)),
        integrals_(chemistry(job).hamiltonian ? make_hamiltonian_integrals(chemistry(job).hamiltonian)
                                              : make_ao_integrals(functions, integral_code(job))) {
    const std::vector<std::int64_t>& extents = coefficients.extents;
    if (extents.size() != 2 || extents[0] != whole(n_) || extents[1] > extents[0])
      throw SialError("the orbitals saved as \"c\" do not belong to the basis set",
                      "an SCF program saves its coefficients as x[ao, mo]");
    all_ = static_cast<std::size_t>(extents[1]);
    const auto is_zero = [&](std::size_t p) {
      const auto begin = coefficients.data.begin() + static_cast<std::ptrdiff_t>(p * n_);
      return std::all_of(begin, begin + static_cast<std::ptrdiff_t>(n_),
                         [](double x) { return std::abs(x) < no_orbital; });
    };
    while (all_ > 0 && is_zero(all_ - 1)) --all_;
    if (all_ < core_) throw SialError(fmt::format("{} orbitals are fewer than the {} frozen ones", all_, core_));
    c_.assign(coefficients.data.begin() + static_cast<std::ptrdiff_t>(core_ * n_),
              coefficients.data.begin() + static_cast<std::ptrdiff_t>(all_ * n_));
    std::vector<double> overlap(n_ * n_), product(n_ * all_);
    integrals_->overlap(everything(), everything(), overlap.data());
    multiply_matrices(false, false, whole(n_), whole(all_), whole(n_), overlap.data(), coefficients.data.data(), 0.0,
                      product.data());
    if (!are_orthonormal(whole(n_), whole(all_), coefficients.data.data(), product.data()))
      throw SialError("what was saved as \"c\" is not orthonormal orbitals of the molecule",
                      "an SCF program saves its coefficients as x[ao, mo]");
    density_.assign(n_ * n_, 0.0);
    if (core_ > 0)
      multiply_matrices(false, true, whole(n_), whole(n_), whole(core_), coefficients.data.data(),
                        coefficients.data.data(), 0.0, density_.data());
  }

  std::size_t core() const { return core_; }
  std::size_t orbitals() const { return all_ - core_; }

  InputHamiltonian transformed() {
    two_electron();
    InputHamiltonian out;
    out.orbitals = static_cast<std::int32_t>(orbitals());
    std::vector<double> h = one_electron(), f = h;
    for (std::size_t i = 0; i < f.size(); ++i) f[i] += 2.0 * coulomb_[i] - exchange_[i];
    out.core_energy = job_.scalars.at("nn_repulsion");
    for (std::size_t i = 0; i < f.size(); ++i) out.core_energy += density_[i] * (h[i] + f[i]);
    over_orbitals(f.data());
    for (std::size_t p = 0; p < orbitals(); ++p)
      for (std::size_t q = 0; q <= p; ++q) out.one.push_back(product_[p + orbitals() * q]);
    out.two = std::move(two_);
    return out;
  }

 private:
  static std::int64_t whole(std::size_t n) { return static_cast<std::int64_t>(n); }
  FunctionRange everything() const { return {0, whole(n_)}; }

  std::vector<double> one_electron() {
    std::vector<double> h(n_ * n_), potentials(n_ * n_);
    integrals_->core_hamiltonian(everything(), everything(), h.data());
    if (const std::vector<Ecp> ecps = chemistry(job_).hamiltonian ? std::vector<Ecp>() : ecps_of_job(job_);
        !ecps.empty()) {
      make_ecp_integrals(functions_, ecps)->matrix(everything(), everything(), potentials.data());
      for (std::size_t i = 0; i < h.size(); ++i) h[i] += potentials[i];
    }
    return h;
  }

  /// product_ := C^T m C
  void over_orbitals(const double* m) {
    half_.resize(n_ * orbitals());
    product_.resize(orbitals() * orbitals());
    multiply_matrices(false, false, whole(n_), whole(orbitals()), whole(n_), m, c_.data(), 0.0, half_.data());
    multiply_matrices(true, false, whole(orbitals()), whole(orbitals()), whole(n_), c_.data(), half_.data(), 0.0,
                      product_.data());
  }

  /// What (mu nu|r s) of all mu, nu adds to Coulomb and exchange matrices of the core, and its place in two_.
  void add(const double* m, std::size_t r, std::size_t s) {
    if (core_ > 0) {
      double sum = 0.0;
      for (std::size_t i = 0; i < n_ * n_; ++i) sum += density_[i] * m[i];
      coulomb_[r + n_ * s] = coulomb_[s + n_ * r] = sum;
      multiply_matrices(false, false, whole(n_), 1, whole(n_), m, &density_[n_ * s], 1.0, &exchange_[n_ * r]);
      if (r != s)
        multiply_matrices(false, false, whole(n_), 1, whole(n_), m, &density_[n_ * r], 1.0, &exchange_[n_ * s]);
    }
    over_orbitals(m);
    const std::size_t at = InputHamiltonian::pair(r, s), stride = pairs_of(n_);
    for (std::size_t p = 0; p < orbitals(); ++p)
      for (std::size_t q = 0; q <= p; ++q)
        two_[InputHamiltonian::pair(p, q) * stride + at] = product_[p + orbitals() * q];
  }

  /// Rows of two_ are pairs of orbitals, first with pairs of functions, then of orbitals up to the row's own, then
  /// without gaps.
  void two_electron() {
    const std::size_t stride = pairs_of(n_), rows = pairs_of(orbitals());
    two_.assign(rows * stride, 0.0);
    coulomb_.assign(n_ * n_, 0.0);
    exchange_.assign(n_ * n_, 0.0);
    std::vector<FunctionRange> shells;
    std::int64_t first = 0;
    for (const Shell& shell : functions_.shells) {
      shells.push_back({first, shell.n_functions()});
      first += shell.n_functions();
    }
    std::vector<double> block;
    for (const FunctionRange& r : shells)
      for (const FunctionRange& s : shells) {
        if (s.first > r.first) break;
        block.resize(n_ * n_ * static_cast<std::size_t>(r.count * s.count));
        integrals_->repulsion({everything(), everything(), r, s}, block.data());
        for (std::int64_t j = 0; j < s.count; ++j)
          for (std::int64_t i = r.first == s.first ? j : 0; i < r.count; ++i)
            add(&block[n_ * n_ * static_cast<std::size_t>(i + r.count * j)], static_cast<std::size_t>(r.first + i),
                static_cast<std::size_t>(s.first + j));
      }
    std::vector<double> square(n_ * n_);
    std::size_t to = 0;
    for (std::size_t row = 0; row < rows; ++row) {
      const double* from = &two_[row * stride];
      for (std::size_t r = 0; r < n_; ++r)
        for (std::size_t s = 0; s <= r; ++s)
          square[r + n_ * s] = square[s + n_ * r] = from[InputHamiltonian::pair(r, s)];
      over_orbitals(square.data());
      for (std::size_t p = 0, at = 0; p < orbitals() && at <= row; ++p)
        for (std::size_t q = 0; q <= p && at <= row; ++q, ++at) two_[to++] = product_[p + orbitals() * q];
    }
    two_.resize(to);
  }

  const JobData& job_;
  const Molecule& functions_;
  std::size_t n_, core_, all_ = 0;
  std::unique_ptr<AoIntegrals> integrals_;
  std::vector<double> c_, density_, coulomb_, exchange_, half_, product_, two_;
};

}  // namespace

double bytes_of_orbital_integrals(const JobData& job) {
  const double n =
      chemistry(job).hamiltonian ? chemistry(job).hamiltonian->orbitals : chemistry(job).molecule.n_basis();
  const double orbitals = std::max(0.0, n - chemistry(job).molecule.frozen_core);
  return sizeof(double) * (n * (n + 1) / 2) * (orbitals * (orbitals + 1) / 2);
}

InputHamiltonian integrals_over_orbitals(const JobData& job, const SavedStatics& saved) {
  const auto found = saved.find("c"), fock = saved.find("fock_mo");
  if (found == saved.end())
    throw SialError("no orbitals of a closed shell were saved, over which integrals are wanted",
                    "RHF saves its coefficients x[ao, mo] as `set_persistent c \"c\"`");
  const Molecule functions =
      chemistry(job).hamiltonian ? orbitals_as_functions(*chemistry(job).hamiltonian) : chemistry(job).molecule;
  Transformation transformation(job, functions, found->second);
  InputHamiltonian out = transformation.transformed();
  const auto [alpha, beta] = electron_counts(functions);
  const auto core = static_cast<std::int32_t>(transformation.core());
  out.electrons = alpha + beta - 2 * core;
  out.multiplicity = alpha - beta + 1;
  const auto n = static_cast<std::int64_t>(transformation.core() + transformation.orbitals());
  if (fock == saved.end()) return out;
  const DataArray& f = fock->second;
  if (f.extents.size() == 2 && f.extents[0] >= n && f.extents[1] >= n)
    for (std::int64_t p = core; p < n; ++p)
      out.energies.push_back(f.data[static_cast<std::size_t>(p * f.extents[0] + p)]);
  return out;
}

}  // namespace sial
