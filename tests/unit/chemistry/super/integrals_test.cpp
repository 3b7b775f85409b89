// Integrals against closed forms, and a whole dense SCF against reference energies.

#include <catch2/catch.hpp>

#include <cmath>
#include <numbers>

#include "runtime/chemistry/basis/basis.h"
#include "runtime/chemistry/molecule/chemistry.h"
#include "runtime/chemistry/molecule/molecule.h"
#include "tests/unit/chemistry/super/context.h"

using namespace sial;
using Catch::Matchers::Contains;
using Values = std::vector<double>;

namespace {

const double pi = std::numbers::pi;

Atom atom(std::int32_t charge, double x, double y, double z) { return {charge, element_symbol(charge), {x, y, z}}; }

Shell gaussian(std::int32_t on, std::int32_t l, double exponent, bool pure = false) {
  return {on, l, pure, {exponent}, {1.0}, 1};
}

std::vector<Atom> water() {
  const double b = bohr_in_angstrom;
  return {atom(8, 0, 0, 0), atom(1, 0, 0.756950327264 / b, 0.585882276618 / b),
          atom(1, 0, -0.756950327264 / b, 0.585882276618 / b)};
}

void set_molecule(FakeContext& c, std::vector<Atom> atoms, std::vector<Shell> shells) {
  chemistry(c.data).has_molecule = true;
  chemistry(c.data).molecule.atoms = std::move(atoms);
  chemistry(c.data).molecule.shells = std::move(shells);
}

/// A block over ranges of basis functions given as (first, count).
Array ao_block(std::vector<std::pair<std::int64_t, std::int64_t>> ranges) {
  std::vector<std::int64_t> extents;
  for (auto& r : ranges) extents.push_back(r.second);
  Array a(extents, {}, IndexKind::ao);
  for (std::size_t d = 0; d < ranges.size(); ++d)
    a.at(static_cast<int>(d), static_cast<int>(ranges[d].first) + 1, ranges[d].first);
  return a;
}

/// Boys function F0.
double f0(double t) { return t < 1e-12 ? 1.0 : 0.5 * std::sqrt(pi / t) * std::erf(std::sqrt(t)); }

}  // namespace

TEST_CASE("s functions against closed forms") {
  FakeContext c;
  const double a = 0.8, b = 1.3, r = 1.4;
  set_molecule(c, {atom(1, 0, 0, 0), atom(2, 0, 0, r)}, {gaussian(0, 0, a), gaussian(1, 0, b)});
  const double norm = std::pow(2 * a / pi, 0.75) * std::pow(2 * b / pi, 0.75);
  const double p = a + b, mu = a * b / p, k = std::exp(-mu * r * r), s = norm * std::pow(pi / p, 1.5) * k;

  Array m = ao_matrix(2);
  execute(c, "return_ovl", {m});
  CHECK(m.data[0] == Approx(1.0).epsilon(1e-13));
  CHECK(m.data[1] == Approx(s).epsilon(1e-13));
  CHECK(m.data[2] == Approx(s).epsilon(1e-13));

  execute(c, "return_h1", {m});
  // Gaussian product centre at z = b r / p; kinetic mu (3 - 2 mu r^2) S; attraction -2 pi / p K sum Z F0.
  double z = b * r / p;
  double attraction = -2 * pi / p * k * norm * (1 * f0(p * z * z) + 2 * f0(p * (r - z) * (r - z)));
  CHECK(m.data[2] == Approx(mu * (3 - 2 * mu * r * r) * s + attraction).epsilon(1e-12));
  // The diagonal one at centre 1: 3a/2 - 2 sqrt(2a/pi) (Z1 + Z2 F0(2 a r^2)).
  CHECK(m.data[0] == Approx(1.5 * a - 2 * std::sqrt(2 * a / pi) * (1 + 2 * f0(2 * a * r * r))).epsilon(1e-12));

  Scalar nuclei, component{3};
  execute(c, "compute_dipole_integrals", {m, nuclei, component});
  CHECK(nuclei.value == Approx(2 * r));
  CHECK(m.data[2] == Approx(s * z).epsilon(1e-13));
  CHECK(m.data[3] == Approx(r).epsilon(1e-13));
  component.value = 12;
  execute(c, "compute_dipole_integrals", {m, nuclei, component});
  CHECK(nuclei.value == Approx(2 * r));
  CHECK(m.data == Values{0, 0, 0, 0});
  component.value = 1;
  execute(c, "compute_dipole_integrals", {m, nuclei, component});
  CHECK(nuclei.value == 0);
  CHECK(m.data[2] == 0);
  component.value = 4;
  CHECK_THAT(execution_error(c, "compute_dipole_integrals", {m, nuclei, component}),
             Contains("not a dipole component"));

  execute(c, "compute_nn_repulsion", {nuclei});
  CHECK(nuclei.value == Approx(2 / r));

  // (ab|ab) and (aa|bb) of s functions: 2 pi^(5/2) / (p q sqrt(p+q)) K K F0.
  Array v = ao_block({{0, 2}, {0, 2}, {0, 2}, {0, 2}});
  execute(c, "compute_integral_batch", {v});
  auto at = [&](int i, int j, int k2, int l) { return v.data[i + 2 * j + 4 * k2 + 8 * l]; };
  CHECK(at(0, 1, 0, 1) ==
        Approx(norm * norm * 2 * std::pow(pi, 2.5) / (p * p * std::sqrt(2 * p)) * k * k).epsilon(1e-12));
  double na = std::pow(2 * a / pi, 1.5), nb = std::pow(2 * b / pi, 1.5);
  double coulomb = na * nb * 2 * std::pow(pi, 2.5) / (4 * a * b * std::sqrt(2 * p)) * f0(4 * a * b / (2 * p) * r * r);
  CHECK(at(0, 0, 1, 1) == Approx(coulomb).epsilon(1e-12));
  CHECK(at(1, 1, 0, 0) == Approx(coulomb).epsilon(1e-12));
  CHECK(at(0, 0, 0, 0) == Approx(2 * std::sqrt(a / pi)).epsilon(1e-12));
}

TEST_CASE("charge clouds of distant functions are small, their integrals with others less so") {
  // (ab|ab) is tiny, its square root is not: the bound must not be taken from a screened integral.
  for (double r : {5.0, 6.07, 6.6, 7.0, 7.3}) {
    FakeContext c;
    set_molecule(c, {atom(1, 0, 0, 0), atom(1, 0, 0, r), atom(1, 0, 0, r / 2)},
                 {gaussian(0, 0, 1.0), gaussian(1, 0, 1.0), gaussian(2, 0, 1.0)});
    Array v = ao_block({{0, 1}, {1, 1}, {2, 1}, {2, 1}});
    execute(c, "compute_integral_batch", {v});
    const double norm = std::pow(2 / pi, 3.0), want = norm * std::pow(pi, 2.5) / 4 * std::exp(-r * r / 2);
    INFO(r);
    CHECK(v.data[0] == Approx(want).margin(1e-13));
  }
}

TEST_CASE("order and norms of d functions") {
  FakeContext c;
  // One d shell at the origin seen by a far s probe at (x, y, z): only signs and ratios of the overlaps matter.
  const double x = 0.3, y = 0.5, z = 0.7;
  for (bool pure : {false, true}) {
    c.slots.clear();
    set_molecule(c, {atom(1, 0, 0, 0), atom(1, x, y, z)}, {gaussian(0, 2, 0.9, pure), gaussian(1, 0, 0.4)});
    std::int64_t n = pure ? 5 : 6;
    Array s = ao_matrix(n + 1);
    execute(c, "return_ovl", {s});
    for (std::int64_t i = 0; i <= n; ++i) CHECK(s.data[i * (n + 2)] == Approx(1.0).epsilon(1e-13));
    const double* column = s.data.data() + n * (n + 1);  // <d| probe>
    const double q3 = std::sqrt(3.0);
    if (pure) {
      // m = +2 .. -2: (xx-yy) sqrt(3)/2, xz sqrt(3), (2zz-xx-yy)/2, yz sqrt(3), xy sqrt(3), times one common factor.
      Values want{(x * x - y * y) * q3 / 2, x * z * q3, (2 * z * z - x * x - y * y) / 2, y * z * q3, x * y * q3};
      for (int i = 0; i < 5; ++i) CHECK(column[i] / column[1] == Approx(want[i] / want[1]).epsilon(1e-12));
    } else {
      // xx, xy, xz, yy, yz, zz, each of unit norm: xy-type ones carry sqrt(3) times the coefficient of xx.
      CHECK(column[1] / column[2] == Approx(y / z).epsilon(1e-12));
      CHECK(column[4] / column[2] == Approx(y / x).epsilon(1e-12));
      CHECK((column[0] - column[3]) / column[1] == Approx((x * x - y * y) / (q3 * x * y)).epsilon(1e-12));
      CHECK((column[5] - column[3]) / column[1] == Approx((z * z - y * y) / (q3 * x * y)).epsilon(1e-12));
      CHECK(s.data[0 * 7 + 3] == Approx(1 / 3.0).epsilon(1e-13));  // <xx|yy>
    }
  }
}

TEST_CASE("general contractions: contraction slow, component fast") {
  FakeContext c;
  Shell general{0, 1, false, {2.0, 0.5}, {1.0, 0.0, 0.0, 1.0}, 2};
  set_molecule(c, {atom(1, 0, 0, 0)}, {general});
  Array s = ao_matrix(6);
  execute(c, "return_ovl", {s});
  double between = std::pow(2 * std::sqrt(2.0 * 0.5) / 2.5, 2.5);
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 6; ++j)
      CHECK(std::abs(s.data[i + 6 * j] - (i == j ? 1.0 : i % 3 == j % 3 ? between : 0.0)) < 1e-13);
}

TEST_CASE("blocks of repulsion integrals: symmetries and segments") {
  FakeContext c;
  auto atoms = water();
  set_molecule(c, atoms, read_basis(find_basis("cc-pvdz", "."), atoms, true));
  const std::int64_t n = 24;
  Array all = ao_block({{0, n}, {0, n}, {0, n}, {0, n}});
  execute(c, "compute_integral_batch", {all});
  auto at = [&](std::int64_t i, std::int64_t j, std::int64_t k, std::int64_t l) {
    return all.data[i + n * (j + n * (k + n * l))];
  };
  double worst = 0.0;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t k = 0; k < n; ++k)
        for (std::int64_t l = 0; l < n; ++l)
          for (double other : {at(j, i, k, l), at(i, j, l, k), at(k, l, i, j)})
            worst = std::max(worst, std::abs(at(i, j, k, l) - other));
  CHECK(worst < 1e-13);  // inside a shell quartet only equal up to rounding

  // Every block of three segments, computed without in-block symmetry where the segments differ, is part of the whole.
  const std::vector<std::pair<std::int64_t, std::int64_t>> segments{{0, 9}, {9, 10}, {19, 5}};
  worst = 0.0;
  for (auto a : segments)
    for (auto b : segments)
      for (auto d : segments)
        for (auto e : segments) {
          Array block = ao_block({a, b, d, e});
          std::fill(block.data.begin(), block.data.end(), 99.0);
          execute(c, "compute_integral_batch", {block});
          std::size_t x = 0;
          for (std::int64_t l = 0; l < e.second; ++l)
            for (std::int64_t k = 0; k < d.second; ++k)
              for (std::int64_t j = 0; j < b.second; ++j)
                for (std::int64_t i = 0; i < a.second; ++i)
                  worst = std::max(worst,
                                   std::abs(block.data[x++] - at(a.first + i, b.first + j, d.first + k, e.first + l)));
        }
  CHECK(worst < 1e-13);

  Array split = ao_block({{0, 4}, {0, 4}});
  CHECK_THAT(execution_error(c, "return_ovl", {split}), Contains("splits the shell"));
  Array outside = ao_block({{24, 3}, {0, 9}});
  CHECK_THAT(execution_error(c, "return_ovl", {outside}), Contains("the basis has 24"));
  Array wrong({2, 2});
  CHECK_THAT(execution_error(c, "return_ovl", {wrong}), Contains("aoindex"));
  FakeContext empty;
  CHECK_THAT(execution_error(empty, "return_ovl", {outside}), Contains("no molecule"));
  CHECK_THAT(execution_error(c, "compute_integral_batch", {outside}), Contains("four dimensions"));
}

namespace {

/// Fock matrices from densities, quartet by quartet of segments, each class by its own instruction.
void build_fock(FakeContext& c, const std::vector<std::pair<std::int64_t, std::int64_t>>& segments, Array& da,
                Array& db, Array& fa, Array& fb) {
  const int n = static_cast<int>(segments.size());
  for (int m = 0; m < n; ++m)
    for (int v = m; v < n; ++v)
      for (int l = m; l < n; ++l)
        for (int s = l; s < n; ++s) {
          if (l == m && s < v) continue;
          const char* name = "compute_ubatch1";
          if (m == v && l == s) name = m == l ? "compute_ubatch6" : "compute_ubatch7";
          else if (m == v || l == s) name = "compute_ubatch2";
          else if (m == l && v == s) name = "compute_ubatch8";
          else if (m == l || m == s || v == l || v == s) name = "compute_ubatch4";
          Array x = ao_block({segments[m], segments[v], segments[l], segments[s]});
          execute(c, name, {x, da, db, fa, fb});
          bool returns = std::string(name) == "compute_ubatch6";
          CHECK(std::any_of(x.data.begin(), x.data.end(), [](double e) { return e != 0.0; }) == returns);
        }
}

std::vector<std::pair<std::int64_t, std::int64_t>> segments_of(const Molecule& m, std::size_t shells_each) {
  std::vector<std::pair<std::int64_t, std::int64_t>> segments;
  std::int64_t first = 0;
  for (std::size_t i = 0; i < m.shells.size(); ++i) {
    if (i % shells_each == 0) segments.emplace_back(first, 0);
    segments.back().second += m.shells[i].n_functions();
    first += m.shells[i].n_functions();
  }
  return segments;
}

}  // namespace

TEST_CASE("the Fock build equals the plain sums, for unlike densities") {
  FakeContext c;
  auto atoms = water();
  set_molecule(c, atoms, read_basis(find_basis("6-31g", "."), atoms, true));
  const std::int64_t n = chemistry(c.data).molecule.n_basis();
  Array da = ao_matrix(n), db = ao_matrix(n), fa = ao_matrix(n), fb = ao_matrix(n);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      da.data[i + n * j] = std::cos(1.0 + i + j) + (i == j);
      db.data[i + n * j] = std::sin(0.3 * (i + 1) * (j + 1));
    }
  build_fock(c, segments_of(chemistry(c.data).molecule, 2), da, db, fa, fb);
  Array all = ao_block({{0, n}, {0, n}, {0, n}, {0, n}});
  execute(c, "compute_integral_batch", {all});
  double worst = 0.0;
  for (std::int64_t p = 0; p < n; ++p)
    for (std::int64_t q = 0; q < n; ++q) {
      double a = 0.0, b = 0.0;
      for (std::int64_t r = 0; r < n; ++r)
        for (std::int64_t s = 0; s < n; ++s) {
          double j = all.data[p + n * (q + n * (r + n * s))], k = all.data[p + n * (r + n * (q + n * s))];
          a += j * (da.data[r + n * s] + db.data[r + n * s]) - k * da.data[r + n * s];
          b += j * (da.data[r + n * s] + db.data[r + n * s]) - k * db.data[r + n * s];
        }
      worst = std::max({worst, std::abs(a - fa.data[p + n * q]), std::abs(b - fb.data[p + n * q])});
    }
  CHECK(worst < 1e-10);
}

namespace {

Values multiply(const Values& a, bool transpose_a, const Values& b, std::int64_t n) {
  Values c(n * n, 0.0);
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t k = 0; k < n; ++k) c[i + n * j] += (transpose_a ? a[k + n * i] : a[i + n * k]) * b[k + n * j];
  return c;
}

/// Closed-shell SCF with damped start, no extrapolation; enough for small molecules.
double scf_energy(const char* basis, bool pure) {
  FakeContext c;
  auto atoms = water();
  set_molecule(c, atoms, read_basis(find_basis(basis, "."), atoms, pure));
  const std::int64_t n = chemistry(c.data).molecule.n_basis();
  auto segments = segments_of(chemistry(c.data).molecule, 3);
  Array h = ao_matrix(n), s = ao_matrix(n), u = ao_matrix(n);
  Scalar dropped, nuclear;
  execute(c, "return_h1", {h});
  execute(c, "return_ovl", {s});
  execute(c, "compute_nn_repulsion", {nuclear});
  execute(c, "eigen_calc_sqr_inv", {s, u, dropped});
  Values q = multiply(u.data, false, s.data, n);
  Array fock = h;
  Array half = ao_matrix(n);  // density of one spin
  double energy = 0.0, previous = 1.0;
  for (int iteration = 0; iteration < 60 && std::abs(energy - previous) > 1e-11; ++iteration) {
    previous = energy;
    Array f = ao_matrix(n), v = ao_matrix(n);
    f.data = multiply(q, true, multiply(fock.data, false, q, n), n);
    execute(c, "eigen_calc", {f, v});
    Values orbitals = multiply(q, false, v.data, n);
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        double d = 0.0;
        for (int o = 0; o < 5; ++o) d += orbitals[i + n * o] * orbitals[j + n * o];
        half.data[i + n * j] = iteration == 0 ? d : 0.7 * d + 0.3 * half.data[i + n * j];
      }
    Array fa = h, fb = h;
    build_fock(c, segments, half, half, fa, fb);
    fock = fa;
    energy = nuclear.value;
    for (std::int64_t i = 0; i < n * n; ++i) energy += (h.data[i] + fa.data[i]) * half.data[i];
  }
  return energy;
}

}  // namespace

TEST_CASE("energies of water against independent references") {
  CHECK(std::abs(scf_energy("sto-3g", true) - -74.9629282708) < 1e-9);
  CHECK(std::abs(scf_energy("6-31g*", true) - -76.0091323802) < 1e-9);
  CHECK(std::abs(scf_energy("6-31g*", false) - -76.0105299763) < 1e-9);
  CHECK(std::abs(scf_energy("cc-pvdz", true) - -76.0267986975) < 1e-9);
}

TEST_CASE("the Fock build with a block alone") {
  FakeContext c;
  auto atoms = water();
  set_molecule(c, atoms, read_basis(find_basis("sto-3g", "."), atoms, true));
  Array expected = ao_block({{0, 5}, {5, 1}, {0, 5}, {6, 1}}), x = expected;
  execute(c, "compute_integral_batch", {expected});
  execute(c, "compute_ubatch6", {x});
  CHECK(x.data == expected.data);
  execute(c, "compute_ubatch1", {x});
  CHECK(x.data == Values(25, 0.0));
}
