// AoIntegrals on top of libint2; the only file that knows it. libint's shells have one contraction each, list pure
// functions from m = -l to +l, and give Cartesian functions the norm of x^l: all of that is mapped to our order and
// norms here.

#include "runtime/chemistry/integrals/integrals.h"
#include "runtime/chemistry/molecule/chemistry.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <libint2.hpp>

#include "runtime/chemistry/integrals/double_factorial.h"
#include "runtime/chemistry/integrals/hermite_repulsion.h"
#include "runtime/core/base/check.h"
#include "runtime/core/base/error.h"

namespace sial {
namespace {

// An integral is taken as zero when its Schwarz bound is below the first, and lacks at most the second by leaving out
// primitives.
constexpr double schwarz_threshold = integral_threshold;
constexpr double primitive_precision = 1e-14;
// Primitives of one pair are dropped only where no other pair could make up for their smallness.
constexpr double pair_precision = 1e-20;

/// One contraction of one of our shells.
struct LibintShell {
  libint2::Shell shell;
  std::int64_t first = 0;              // its first basis function
  std::vector<std::int64_t> position;  // libint's function -> ours within the piece
  std::vector<double> scale;           // to our norms
  bool scaled = false;
  std::int64_t size() const { return static_cast<std::int64_t>(position.size()); }
};

LibintShell make_piece(const Shell& s, int contraction, const Atom& atom, std::int64_t first) {
  LibintShell p;
  p.first = first;
  std::size_t n = s.exponents.size();
  libint2::svector<double> exponents(s.exponents.begin(), s.exponents.end());
  libint2::svector<double> coefficients(s.coefficients.begin() + contraction * n,
                                        s.coefficients.begin() + (contraction + 1) * n);
  bool pure = s.pure && s.l >= 2;
  p.shell = libint2::Shell(exponents, {{s.l, pure, coefficients}}, atom.position);
  if (pure) {
    for (int k = 0; k <= 2 * s.l; ++k) p.position.push_back(2 * s.l - k);
    p.scale.assign(2 * s.l + 1, 1.0);
  } else {
    for (int x = s.l; x >= 0; --x)
      for (int y = s.l - x; y >= 0; --y) {
        int z = s.l - x - y;
        p.position.push_back(std::ssize(p.position));
        p.scale.push_back(
            std::sqrt(double_factorial(2 * s.l - 1) /
                      (double_factorial(2 * x - 1) * double_factorial(2 * y - 1) * double_factorial(2 * z - 1))));
        p.scaled = p.scaled || p.scale.back() != 1.0;
      }
  }
  return p;
}

/// The same for the other method, which takes functions as they are.
GaussianShell hermite_shell(const LibintShell& piece) {
  const libint2::Shell& s = piece.shell;
  const auto& contraction = s.contr[0];
  GaussianShell shell;
  shell.center = s.O;
  shell.l = contraction.l;
  shell.exponents.assign(s.alpha.begin(), s.alpha.end());
  shell.coefficients.assign(contraction.coeff.begin(), contraction.coeff.end());
  shell.first = piece.first;
  shell.count = piece.size();
  const int l = shell.l;
  const std::int64_t cartesians = (l + 1) * (l + 2) / 2;
  shell.transform.resize(static_cast<std::size_t>(shell.count * cartesians));
  for (std::int64_t k = 0; k < shell.count; ++k) {
    double* row = shell.transform.data() + piece.position[static_cast<std::size_t>(k)] * cartesians;
    if (!contraction.pure) {
      row[k] = piece.scale[static_cast<std::size_t>(k)];
      continue;
    }
    for (int x = l; x >= 0; --x)
      for (int y = l - x; y >= 0; --y)
        *row++ = libint2::solidharmonics::SolidHarmonicsCoefficients<double>::coeff(l, static_cast<int>(k) - l, x, y,
                                                                                    l - x - y);
  }
  return shell;
}

/// On one centre two primitives count by the sum of their exponents alone. Contractions of the same primitives, as
/// general ones are, have most sums twice: such pairs become one.
void merge_primitives(libint2::ShellPair& pair, const libint2::Shell& a, const libint2::Shell& b) {
  if (a.O != b.O) return;
  auto weight = [&](const libint2::ShellPair::PrimPairData& p) {
    return a.contr[0].coeff[p.p1] * b.contr[0].coeff[p.p2];
  };
  std::map<std::pair<double, double>, std::size_t> position;
  std::vector<libint2::ShellPair::PrimPairData> merged;
  for (const auto& p : pair.primpairs) {
    const std::pair<double, double> exponents = std::minmax({a.alpha[p.p1], b.alpha[p.p2]});
    auto [it, is_new] = position.try_emplace(exponents, merged.size());
    if (is_new) {
      merged.push_back(p);
      continue;
    }
    auto& q = merged[it->second];
    const double ratio = weight(p) / weight(q);  // what is screened out for its coefficient never comes here
    q.K += p.K * ratio;
    q.ln_scr += std::log1p(std::abs(ratio));
  }
  pair.primpairs = std::move(merged);
}

class LibintIntegrals : public AoIntegrals {
 public:
  LibintIntegrals(const Molecule& molecule, IntegralCode method) {
    libint2::initialize();
    std::size_t max_primitives = 1;
    int max_l = 0;
    for (const Shell& s : molecule.shells) {
      if (s.l > LIBINT_MAX_AM)
        throw SialError(fmt::format("basis `{}` has functions of angular momentum {}; integrals go up to {}",
                                    molecule.basis_name, s.l, LIBINT_MAX_AM));
      max_primitives = std::max(max_primitives, s.exponents.size());
      max_l = std::max(max_l, s.l);
      for (int c = 0; c < s.n_contractions; ++c) {
        pieces_.push_back(make_piece(s, c, molecule.atoms[s.atom], groups_.total()));
        groups_.add(pieces_.back().size());
      }
    }
    auto engine = [&](libint2::Operator op) { return libint2::Engine(op, max_primitives, max_l, 0); };
    overlap_ = engine(libint2::Operator::overlap);
    kinetic_ = engine(libint2::Operator::kinetic);
    nuclear_ = engine(libint2::Operator::nuclear);
    std::vector<std::pair<double, std::array<double, 3>>> charges;
    for (const Atom& a : molecule.atoms) charges.emplace_back(a.charge, a.position);
    nuclear_.set_params(charges);
    dipole_ = engine(libint2::Operator::emultipole1);
    repulsion_ = engine(libint2::Operator::coulomb);
    repulsion_.set(libint2::ScreeningMethod::Conservative).set_precision(primitive_precision);
    if (uses_hermite_repulsion(molecule, method)) {
      std::vector<GaussianShell> shells;
      for (const LibintShell& piece : pieces_) shells.push_back(hermite_shell(piece));
      hermite_ = std::make_unique<HermiteRepulsion>(std::move(shells));
    } else {
      make_pairs();
    }
  }

  void overlap(FunctionRange mu, FunctionRange nu, double* out) override {
    one_electron(overlap_, 0, mu, nu, out, false);
  }

  void core_hamiltonian(FunctionRange mu, FunctionRange nu, double* out) override {
    one_electron(kinetic_, 0, mu, nu, out, false);
    one_electron(nuclear_, 0, mu, nu, out, true);
  }

  void dipole(int component, FunctionRange mu, FunctionRange nu, double* out) override {
    one_electron(dipole_, component + 1, mu, nu, out, false);
  }

  void repulsion(const std::array<FunctionRange, 4>& ranges, double* out,
                 std::span<const FockMatrix> densities) override {
    if (hermite_) return hermite_->block(ranges, densities, out);
    std::array<FunctionGroups::Range, 4> r;
    std::array<std::int64_t, 4> stride;
    std::int64_t size = 1;
    for (int d = 0; d < 4; ++d) {
      r[d] = groups_.range(ranges[d]);
      stride[d] = size;
      size *= ranges[d].count;
    }
    std::fill_n(out, size, 0.0);
    std::array<FunctionSets, 4> sets;
    for (int d = 0; d < 4; ++d)
      for (std::size_t i = r[d].begin; i < r[d].end; ++i) sets[d].push_back({{pieces_[i].first, pieces_[i].size()}});
    const DensityScreen screen(densities, {&sets[0], &sets[1], &sets[2], &sets[3]});
    // Within a block the symmetries (ab|cd) = (ba|cd) = (ab|dc) = (cd|ab) hold where the segments agree: each set of
    // equal shell quartets is computed once and written to all its places.
    bool same_bra = ranges[0] == ranges[1], same_ket = ranges[2] == ranges[3];
    bool same_pairs = ranges[0] == ranges[2] && ranges[1] == ranges[3];
    for (std::size_t i = r[0].begin; i < r[0].end; ++i)
      for (std::size_t j = r[1].begin; j < (same_bra ? i + 1 : r[1].end); ++j) {
        const Pair& bra = pair(i, j);
        if (DensityScreen::negligible(bra.bound * largest_bound_, screen.largest())) continue;
        for (std::size_t k = r[2].begin; k < r[2].end; ++k)
          for (std::size_t l = r[3].begin; l < (same_ket ? k + 1 : r[3].end); ++l) {
            if (same_pairs && (k > i || (k == i && l > j))) continue;
            const Pair& ket = pair(k, l);
            if (DensityScreen::negligible(bra.bound * ket.bound, screen.largest({i - r[0].begin, j - r[1].begin,
                                                                                 k - r[2].begin, l - r[3].begin}))) {
              ++counts_.skipped;
              continue;
            }
            ++counts_.computed;
            // Pairs are kept with the later piece first. The ket of ours is the bra of libint, whose last index runs
            // fastest.
            const bool swapped_bra = i < j, swapped_ket = k < l;
            std::array<std::size_t, 4> quartet{std::max(k, l), std::min(k, l), std::max(i, j), std::min(i, j)};
            // One order of the pairs whatever the block: its arrangements agree to the last bit.
            const bool exchanged = std::pair{quartet[0], quartet[1]} < std::pair{quartet[2], quartet[3]};
            if (exchanged) {
              std::swap(quartet[0], quartet[2]);
              std::swap(quartet[1], quartet[3]);
            }
            const auto& results = repulsion_.compute2<libint2::Operator::coulomb, libint2::BraKet::xx_xx, 0>(
                pieces_[quartet[0]].shell, pieces_[quartet[1]].shell, pieces_[quartet[2]].shell,
                pieces_[quartet[3]].shell, exchanged ? &bra.data : &ket.data, exchanged ? &ket.data : &bra.data);
            if (!results[0]) continue;
            for (int image = 0; image < 8; ++image) {
              bool swap_bra = image & 1, swap_ket = image & 2, swap_pairs = image & 4;
              if ((swap_bra && (!same_bra || i == j)) || (swap_ket && (!same_ket || k == l)) ||
                  (swap_pairs && (!same_pairs || (i == k && j == l))))
                continue;
              std::array<int, 4> dimension{2, 3, 0, 1};  // where each index of libint's quartet goes
              if (swap_pairs) dimension = {0, 1, 2, 3};
              if (swap_ket != swapped_ket) std::swap(dimension[0], dimension[1]);
              if (swap_bra != swapped_bra) std::swap(dimension[2], dimension[3]);
              if (exchanged) {
                std::swap(dimension[0], dimension[2]);
                std::swap(dimension[1], dimension[3]);
              }
              scatter(results[0], quartet, dimension, ranges, stride, out);
            }
          }
      }
  }

  QuartetCounts quartets() const override { return hermite_ ? hermite_->counts() : counts_; }

 private:
  /// What every quartet that holds two pieces needs of them.
  struct Pair {
    libint2::ShellPair data;  // empty where the bound makes every quartet vanish
    double bound = 0.0;       // sqrt of the largest (ij|ij)
  };

  const Pair& pair(std::size_t i, std::size_t j) const {
    return i < j ? pairs_[j * (j + 1) / 2 + i] : pairs_[i * (i + 1) / 2 + j];
  }

  void make_pairs() {
    // The square root makes small numbers large: bounds of 1e-12 need all of an integral of 1e-24.
    libint2::Engine engine = repulsion_;
    engine.set_precision(0.0);
    std::size_t n = pieces_.size();
    pairs_.resize(n * (n + 1) / 2);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j <= i; ++j) {
        Pair& p = pairs_[i * (i + 1) / 2 + j];
        p.data.init(pieces_[i].shell, pieces_[j].shell, std::log(pair_precision),
                    libint2::ScreeningMethod::Conservative);
        merge_primitives(p.data, pieces_[i].shell, pieces_[j].shell);
        p.bound = schwarz_bound(engine, pieces_[i], pieces_[j]);
        largest_bound_ = std::max(largest_bound_, p.bound);
      }
    for (Pair& p : pairs_)
      if (p.bound * largest_bound_ < schwarz_threshold) p.data = {};
  }

  void one_electron(libint2::Engine& engine, int which, FunctionRange mu, FunctionRange nu, double* out, bool add) {
    const auto rows = groups_.range(mu), columns = groups_.range(nu);
    if (!add) std::fill_n(out, mu.count * nu.count, 0.0);
    for (std::size_t i = rows.begin; i < rows.end; ++i)
      for (std::size_t j = columns.begin; j < columns.end; ++j) {
        const LibintShell &p = pieces_[i], &q = pieces_[j];
        // compute() would also instantiate every two-electron body, which takes the compiler a minute.
        const double* values = engine.compute1(p.shell, q.shell)[which];
        if (!values) continue;
        for (std::int64_t a = 0; a < p.size(); ++a)
          for (std::int64_t b = 0; b < q.size(); ++b)
            out[(p.first - mu.first + p.position[a]) + (q.first - nu.first + q.position[b]) * mu.count] +=
                values[a * q.size() + b] * p.scale[a] * q.scale[b];
      }
  }

  /// Writes one shell quartet into the block; index m of the quartet runs along dimension[m].
  void scatter(const double* values, const std::array<std::size_t, 4>& quartet, const std::array<int, 4>& dimension,
               const std::array<FunctionRange, 4>& ranges, const std::array<std::int64_t, 4>& stride,
               double* out) const {
    std::array<const LibintShell*, 4> p;
    std::array<std::int64_t, 4> s;
    for (int m = 0; m < 4; ++m) {
      p[m] = &pieces_[quartet[m]];
      s[m] = stride[dimension[m]];
      out += (p[m]->first - ranges[dimension[m]].first) * s[m];
    }
    const bool scaled = p[0]->scaled || p[1]->scaled || p[2]->scaled || p[3]->scaled;
    const std::int64_t n = p[3]->size(), *last = p[3]->position.data();
    for (std::int64_t a = 0; a < p[0]->size(); ++a)
      for (std::int64_t b = 0; b < p[1]->size(); ++b)
        for (std::int64_t c = 0; c < p[2]->size(); ++c, values += n) {
          double* line = out + p[0]->position[a] * s[0] + p[1]->position[b] * s[1] + p[2]->position[c] * s[2];
          if (scaled) {
            const double scale = p[0]->scale[a] * p[1]->scale[b] * p[2]->scale[c];
            for (std::int64_t d = 0; d < n; ++d) line[last[d] * s[3]] = values[d] * scale * p[3]->scale[d];
          } else {
            for (std::int64_t d = 0; d < n; ++d) line[last[d] * s[3]] = values[d];
          }
        }
  }

  /// sqrt of the largest (ij|ij).
  static double schwarz_bound(libint2::Engine& engine, const LibintShell& p, const LibintShell& q) {
    const double* values = engine.compute2<libint2::Operator::coulomb, libint2::BraKet::xx_xx, 0>(
        p.shell, q.shell, p.shell, q.shell, nullptr, nullptr)[0];
    if (!values) return 0.0;
    double largest = 0.0;
    std::int64_t n = p.size() * q.size();
    for (std::int64_t ab = 0; ab < n; ++ab) {
      double scale = p.scale[ab / q.size()] * q.scale[ab % q.size()];
      largest = std::max(largest, std::abs(values[ab * n + ab]) * scale * scale);
    }
    return std::sqrt(largest);
  }

  std::vector<LibintShell> pieces_;
  FunctionGroups groups_;  // the pieces
  libint2::Engine overlap_, kinetic_, nuclear_, dipole_, repulsion_;
  std::vector<Pair> pairs_;  // j <= i
  double largest_bound_ = 0.0;
  QuartetCounts counts_;
  std::unique_ptr<HermiteRepulsion> hermite_;  // null where libint computes these integrals
};

}  // namespace

bool uses_hermite_repulsion(const Molecule& molecule, IntegralCode method) {
  constexpr int max_l = 3;  // above, libint is faster
  return method == IntegralCode::hermite ||
         (method == IntegralCode::automatic &&
          std::all_of(molecule.shells.begin(), molecule.shells.end(), [](const Shell& s) { return s.l <= max_l; }));
}

std::unique_ptr<AoIntegrals> make_ao_integrals(const Molecule& molecule, IntegralCode method) {
  return std::make_unique<LibintIntegrals>(molecule, method);
}

}  // namespace sial
