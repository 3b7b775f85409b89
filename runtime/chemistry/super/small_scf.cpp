#include "runtime/chemistry/super/small_scf.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <set>

#include <fmt/format.h>

#include "runtime/chemistry/integrals/ecp_integrals.h"
#include "runtime/chemistry/integrals/integrals.h"
#include "runtime/chemistry/molecule/chemistry.h"
#include "runtime/chemistry/molecule/molecule.h"
#include "runtime/core/base/error.h"
#include "runtime/core/super/dense_algebra.h"
#include "runtime/core/super/diis.h"

namespace sial {
namespace {

using Matrix = std::vector<double>;

constexpr int max_iterations = 200;
constexpr std::size_t max_history = 8;
constexpr double commutator_threshold = 1e-9, smallest_overlap = 1e-9;
constexpr std::int64_t max_stored_integrals = std::int64_t{1} << 25;  // 256 MB
constexpr std::int64_t group_functions = 12;  // shells are taken together up to about so many functions

/// Two-electron parts of both Fock matrices for given densities.
class TwoElectron {
 public:
  TwoElectron(AoIntegrals& integrals, const Molecule& molecule) : integrals_(integrals), n_(molecule.n_basis()) {
    std::int64_t first = 0, count = 0;
    for (const Shell& s : molecule.shells) {
      if (count > 0 && count + s.n_functions() > group_functions) {
        groups_.push_back({first, count});
        first += count;
        count = 0;
      }
      count += s.n_functions();
    }
    if (count > 0) groups_.push_back({first, count});
    std::int64_t total = 0;
    for_each_quartet([&](const std::array<FunctionRange, 4>& r) { total += size(r); });
    keep_ = total <= max_stored_integrals;
    if (!keep_) return;
    kept_.resize(total);
    double* out = kept_.data();
    for_each_quartet([&](const std::array<FunctionRange, 4>& r) {
      integrals_.repulsion(r, out);
      out += size(r);
    });
  }

  void add(const SpinMatrices& density, SpinMatrices& fock) {
    const double* at = kept_.data();
    for_each_quartet([&](const std::array<FunctionRange, 4>& r) {
      if (!keep_) {
        buffer_.resize(size(r));
        integrals_.repulsion(r, buffer_.data());
      }
      const double* x = keep_ ? at : buffer_.data();
      if (keep_) at += size(r);
      std::set<std::array<std::int64_t, 4>> seen;
      for (const std::array<int, 4>& m : arrangements)
        if (seen.insert({r[m[0]].first, r[m[1]].first, r[m[2]].first, r[m[3]].first}).second)
          add_arrangement(x, r, m, density, fock);
    });
  }

 private:
  static constexpr std::array<int, 4> arrangements[] = {{0, 1, 2, 3}, {1, 0, 2, 3}, {0, 1, 3, 2}, {1, 0, 3, 2},
                                                        {2, 3, 0, 1}, {3, 2, 0, 1}, {2, 3, 1, 0}, {3, 2, 1, 0}};

  static std::int64_t size(const std::array<FunctionRange, 4>& r) {
    return r[0].count * r[1].count * r[2].count * r[3].count;
  }

  /// One of each set of quartets that are permutations of each other.
  template <class Body>
  void for_each_quartet(Body body) const {
    for (std::size_t i = 0; i < groups_.size(); ++i)
      for (std::size_t j = 0; j <= i; ++j)
        for (std::size_t k = 0; k <= i; ++k)
          for (std::size_t l = 0; l <= (k == i ? j : k); ++l) body({groups_[i], groups_[j], groups_[k], groups_[l]});
  }

  /// F[p,q] += (pq|rs) D[r,s] with the total density, F[p,r] -= (pq|rs) D[q,s] with the spin's own, for one
  /// arrangement.
  void add_arrangement(const double* x, const std::array<FunctionRange, 4>& ranges, const std::array<int, 4>& m,
                       const SpinMatrices& density, SpinMatrices& fock) const {
    std::array<std::int64_t, 4> stride{1, 0, 0, 0};
    for (int d = 1; d < 4; ++d) stride[d] = stride[d - 1] * ranges[d - 1].count;
    const FunctionRange p = ranges[m[0]], q = ranges[m[1]], r = ranges[m[2]], s = ranges[m[3]];
    for (std::int64_t js = s.first; js < s.first + s.count; ++js)
      for (std::int64_t jr = r.first; jr < r.first + r.count; ++jr) {
        const double total = density.alpha[jr + n_ * js] + density.beta[jr + n_ * js];
        for (std::int64_t jq = q.first; jq < q.first + q.count; ++jq) {
          const double own_a = density.alpha[jq + n_ * js], own_b = density.beta[jq + n_ * js];
          const double* line =
              x + (js - s.first) * stride[m[3]] + (jr - r.first) * stride[m[2]] + (jq - q.first) * stride[m[1]];
          for (std::int64_t jp = 0; jp < p.count; ++jp) {
            const double value = line[jp * stride[m[0]]];
            const std::int64_t row = p.first + jp;
            fock.alpha[row + n_ * jq] += value * total;
            fock.beta[row + n_ * jq] += value * total;
            fock.alpha[row + n_ * jr] -= value * own_a;
            fock.beta[row + n_ * jr] -= value * own_b;
          }
        }
      }
  }

  AoIntegrals& integrals_;
  std::int64_t n_;
  std::vector<FunctionRange> groups_;
  bool keep_ = false;
  std::vector<double> kept_, buffer_;
};

/// x of n x k with x^T s x = 1; linear dependencies are left out.
Matrix orthonormal_functions(const Matrix& s, std::int64_t n, std::int64_t& k) {
  Matrix u = s;
  std::optional<std::vector<double>> values = diagonalise(n, u.data());
  if (!values) throw SialError("the eigenvalues of the overlap did not converge");
  Matrix x;
  for (std::int64_t j = n - 1; j >= 0; --j)
    if ((*values)[j] >= smallest_overlap)
      for (std::int64_t i = 0; i < n; ++i) x.push_back(u[i + n * j] / std::sqrt((*values)[j]));
  k = std::ssize(x) / n;
  return x;
}

double dot(const Matrix& a, const Matrix& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

class Uhf {
 public:
  Uhf(const Molecule& molecule, std::int32_t n_alpha, std::int32_t n_beta)
      : integrals_(make_ao_integrals(molecule)),
        two_electron_(*integrals_, molecule),
        n_alpha_(n_alpha),
        n_beta_(n_beta) {
    const std::int64_t n = molecule.n_basis();
    result_.n = n;
    s_.resize(n * n);
    h_.resize(n * n);
    integrals_->overlap({0, n}, {0, n}, s_.data());
    integrals_->core_hamiltonian({0, n}, {0, n}, h_.data());
    if (!molecule.ecps.empty()) {
      Matrix cores(n * n);
      make_ecp_integrals(molecule, molecule.ecps)->matrix({0, n}, {0, n}, cores.data());
      for (std::size_t i = 0; i < h_.size(); ++i) h_[i] += cores[i];
    }
    x_ = orthonormal_functions(s_, n, k_);
    if (std::max(n_alpha, n_beta) > k_)
      throw SialError(
          fmt::format("{} electrons of one spin do not fit into {} functions", std::max(n_alpha, n_beta), k_),
          "use a larger basis");
    nuclear_ = nuclear_repulsion(molecule);
    // Equivalent functions of one shell are told apart in the guess only, so that which of them is occupied is no
    // accident.
    guess_ = h_;
    std::int64_t at = 0;
    for (const Shell& shell : molecule.shells) {
      const std::int64_t components = shell.n_functions() / shell.n_contractions;
      for (std::int64_t f = 0; f < shell.n_functions(); ++f, ++at)
        guess_[at * (n + 1)] += 1e-3 * static_cast<double>(f % components);
    }
  }

  SmallScf run() {
    SpinMatrices fock{guess_, guess_};
    double previous = 0.0;
    for (int iteration = 0; iteration < max_iterations && !result_.converged; ++iteration) {
      occupy(fock);
      result_.fock = {h_, h_};
      two_electron_.add(result_.density, result_.fock);
      result_.energy =
          nuclear_ + 0.5 * (dot(h_, result_.density.alpha) + dot(result_.fock.alpha, result_.density.alpha) +
                            dot(h_, result_.density.beta) + dot(result_.fock.beta, result_.density.beta));
      Matrix error = commutator(result_.fock.alpha, result_.density.alpha);
      const Matrix beta = commutator(result_.fock.beta, result_.density.beta);
      error.insert(error.end(), beta.begin(), beta.end());
      double largest = 0.0;
      for (double e : error) largest = std::max(largest, std::abs(e));
      result_.converged = largest < commutator_threshold && std::abs(result_.energy - previous) < 1e-9;
      previous = result_.energy;
      if (result_.converged) break;
      fock = extrapolate(std::move(error));
    }
    const SpinMatrices density = result_.density;
    occupy(result_.fock);       // orbitals of the last Fock matrix
    result_.density = density;  // which belongs to this density
    return result_;
  }

 private:
  Matrix to_orthonormal(const Matrix& m) const {
    const std::int64_t n = result_.n;
    Matrix half(n * k_), full(k_ * k_);
    multiply_matrices(false, false, n, k_, n, m.data(), x_.data(), 0.0, half.data());
    multiply_matrices(true, false, k_, k_, n, x_.data(), half.data(), 0.0, full.data());
    return full;
  }

  void occupy(const SpinMatrices& fock) {
    const std::int64_t n = result_.n;
    auto spin = [&](const Matrix& f, std::int64_t electrons, Matrix& orbitals, Matrix& density) {
      Matrix v = to_orthonormal(f);
      if (!diagonalise(k_, v.data())) throw SialError("the eigenvalues of a Fock matrix did not converge");
      orbitals.assign(n * n, 0.0);  // columns of dropped functions stay zero
      multiply_matrices(false, false, n, k_, k_, x_.data(), v.data(), 0.0, orbitals.data());
      density.assign(n * n, 0.0);
      multiply_matrices(false, true, n, n, electrons, orbitals.data(), orbitals.data(), 0.0, density.data());
    };
    spin(fock.alpha, n_alpha_, result_.orbitals.alpha, result_.density.alpha);
    spin(fock.beta, n_beta_, result_.orbitals.beta, result_.density.beta);
  }

  /// X^T (F D S - S D F) X
  Matrix commutator(const Matrix& f, const Matrix& d) const {
    const std::int64_t n = result_.n;
    Matrix fd(n * n), fds(n * n), e(n * n);
    multiply_matrices(false, false, n, n, n, f.data(), d.data(), 0.0, fd.data());
    multiply_matrices(false, false, n, n, n, fd.data(), s_.data(), 0.0, fds.data());
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < n; ++i) e[i + n * j] = fds[i + n * j] - fds[j + n * i];
    return to_orthonormal(e);
  }

  /// DIIS over the last iterations, both spins together.
  SpinMatrices extrapolate(Matrix error) {
    history_.push_back({result_.fock, std::move(error)});
    if (history_.size() > max_history) history_.pop_front();
    const std::int64_t m = std::ssize(history_);
    Matrix products(m * m);
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < m; ++j) products[i + m * j] = dot(history_[i].error, history_[j].error);
    const std::vector<double> c = diis_coefficients(m, products.data());
    SpinMatrices f{Matrix(result_.fock.alpha.size(), 0.0), Matrix(result_.fock.beta.size(), 0.0)};
    for (std::int64_t i = 0; i < m; ++i)
      for (std::size_t k = 0; k < f.alpha.size(); ++k) {
        f.alpha[k] += c[i] * history_[i].fock.alpha[k];
        f.beta[k] += c[i] * history_[i].fock.beta[k];
      }
    return f;
  }

  struct Step {
    SpinMatrices fock;
    Matrix error;
  };
  std::unique_ptr<AoIntegrals> integrals_;
  TwoElectron two_electron_;
  std::int64_t n_alpha_, n_beta_, k_ = 0;  // k_: functions without the linear dependencies
  Matrix s_, h_, x_, guess_;
  double nuclear_ = 0.0;
  std::deque<Step> history_;
  SmallScf result_;
};

}  // namespace

SmallScf small_uhf(const Molecule& molecule, std::int32_t n_alpha, std::int32_t n_beta) {
  return Uhf(molecule, n_alpha, n_beta).run();
}

}  // namespace sial
