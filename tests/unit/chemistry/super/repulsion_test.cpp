// Two-electron integrals by expansions in Hermite Gaussians: against libint's, on each kind of vectors; and what
// densities let them leave out.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>

#include "context.h"
#include "data.h"
#include "runtime/chemistry/basis/basis.h"
#include "runtime/chemistry/integrals/boys_table.h"
#include "runtime/chemistry/integrals/hermite_pairs.h"
#include "runtime/chemistry/integrals/integrals.h"
#include "runtime/chemistry/molecule/chemistry.h"

using namespace sial;
using Catch::Matchers::Contains;
using Values = std::vector<double>;

namespace {

Molecule molecule(const std::string& basis, bool pure, std::vector<Atom> atoms) {
  Molecule m;
  m.basis_name = basis;
  m.shells = read_basis(find_basis(basis, "."), atoms, pure);
  m.atoms = std::move(atoms);
  return m;
}

std::vector<Atom> skew_molecule() {
  return {make_atom("O", 0.1, -0.2, 0.3), make_atom("H", 1.3, 0.9, -0.4), make_atom("C", -1.1, 1.7, 0.8)};
}

/// Water molecules in a row.
std::vector<Atom> waters(int n) {
  std::vector<Atom> atoms;
  for (int k = 0; k < n; ++k) {
    const double z = 5.5 * k;
    atoms.push_back(make_atom("O", 0, 0, z));
    atoms.push_back(make_atom("H", 1.4, 0.2, z + 1.1));
    atoms.push_back(make_atom("H", -1.4, 0.3, z + 1.1));
  }
  return atoms;
}

std::int64_t size(const std::array<FunctionRange, 4>& r) { return r[0].count * r[1].count * r[2].count * r[3].count; }

double largest_difference(const Values& a, const Values& b) {
  double largest = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

/// A symmetric matrix that decays away from its diagonal, times `scale`.
Values density(std::int64_t n, double scale) {
  std::mt19937 random(11);
  std::uniform_real_distribution<double> value(-1, 1);
  Values d(static_cast<std::size_t>(n * n));
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i <= j; ++i)
      d[static_cast<std::size_t>(i + j * n)] = d[static_cast<std::size_t>(j + i * n)] =
          scale * value(random) * std::exp(-0.1 * static_cast<double>(j - i));
  return d;
}

FockMatrix whole(Values& m, std::int64_t n) { return {m.data(), {0, n}, {0, n}}; }

}  // namespace

TEST_CASE("Boys functions from their table") {
  for (const int m : {0, 1, 4, 8, 12}) {
    const std::vector<double> table = boys_table(m);
    REQUIRE(table.size() == static_cast<std::size_t>(boys_points * boys_row));
    for (const int point : {0, 1, 7, 100, 576}) {
      const double t = point * boys_grid;
      // Simpson's rule for the integral that defines it.
      double sum = 0.0;
      constexpr int steps = 4000;
      for (int k = 0; k <= steps; ++k) {
        const double x = static_cast<double>(k) / steps;
        sum += (k == 0 || k == steps ? 1 : k % 2 ? 4 : 2) * std::pow(x, 2 * m) * std::exp(-t * x * x);
      }
      CHECK(std::abs(table[static_cast<std::size_t>(point * boys_row)] - sum / (3 * steps)) < 1e-11);
      CHECK(table[static_cast<std::size_t>(point * boys_row + 7)] == Approx(std::exp(-t)).epsilon(1e-14));
    }
  }
}

TEST_CASE("all kinds of vectors give the same integrals over Hermite Gaussians") {
  std::vector<HermiteCode> codes{hermite_code_portable(), hermite_code()};
  std::mt19937 random(3);
  std::uniform_real_distribution<double> value(0.1, 2.0);
  for (const int l : {0, 1, 3, 6}) {
    constexpr std::int64_t n_bra = 5, n_ket = 3, lanes = 16;
    std::array<Values, 8> v;
    for (std::size_t k = 0; k < v.size(); ++k)
      for (std::int64_t i = 0; i < (k < 4 ? n_bra : n_ket); ++i)
        v[k].push_back(k == 1 && i == 0 ? 40.0 : value(random));
    const std::vector<HermiteStep> steps = hermite_steps(l);
    const std::vector<double> table = boys_table(l);
    std::vector<Values> results;
    for (const HermiteCode& code : codes) {
      Values r(static_cast<std::size_t>(n_hermites(l) * lanes)), work(static_cast<std::size_t>((l + 8) * lanes));
      code.integrals({{v[0].data(), v[1].data(), v[2].data(), v[3].data(), n_bra},
                      {v[4].data(), v[5].data(), v[6].data(), v[7].data(), n_ket},
                      l,
                      lanes,
                      table.data(),
                      steps.data(),
                      r.data(),
                      work.data()});
      results.push_back(std::move(r));
    }
    CHECK(largest_difference(results[0], results[1]) < 1e-11);
    // Without derivatives: 2 pi^(5/2) / (p q sqrt(p + q)) F0, where F0 has a closed form.
    for (std::int64_t i = 0; i < n_bra; ++i)
      for (std::int64_t j = 0; j < n_ket; ++j) {
        const auto a = static_cast<std::size_t>(i), b = static_cast<std::size_t>(j);
        const double p = v[0][a], q = v[4][b], x = v[1][a] - v[5][b], y = v[2][a] - v[6][b], z = v[3][a] - v[7][b],
                     t = p * q / (p + q) * (x * x + y * y + z * z);
        const double f0 = 0.5 * std::sqrt(std::numbers::pi / t) * std::erf(std::sqrt(t));
        CHECK(results[1][static_cast<std::size_t>(i * n_ket + j)] ==
              Approx(2 * std::pow(std::numbers::pi, 2.5) / (p * q * std::sqrt(p + q)) * f0).epsilon(1e-12));
      }
  }
  // Products, with rows and vectors that no loop of four divides.
  for (const std::int64_t rows : {1, 2, 3, 4, 7, 8, 13})
    for (const std::int64_t columns : {4, 8, 12, 16, 20, 24, 32, 36, 40}) {
      constexpr std::int64_t blocks = 3, length = 5;
      Values a(static_cast<std::size_t>(rows * blocks * length)),
          e(static_cast<std::size_t>(blocks * length * columns)),
          wanted(static_cast<std::size_t>(rows * columns), 0.25);
      for (double& x : a) x = value(random);
      for (double& x : e) x = value(random);
      std::vector<std::int32_t> index(static_cast<std::size_t>(rows * blocks));
      for (std::size_t k = 0; k < index.size(); ++k) index[k] = static_cast<std::int32_t>(index.size() - 1 - k);
      const Values before = wanted;
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t b = 0; b < blocks; ++b)
          for (std::int64_t k = 0; k < length; ++k)
            for (std::int64_t c = 0; c < columns; ++c)
              wanted[static_cast<std::size_t>(r * columns + c)] +=
                  a[static_cast<std::size_t>(index[static_cast<std::size_t>(r * blocks + b)] * length + k)] *
                  e[static_cast<std::size_t>((b * length + k) * columns + c)];
      for (const HermiteCode& code : codes) {
        Values out = before;
        code.contract({a.data(), 1, rows, 0, index.data(), blocks, length, blocks, length, e.data(), length * columns,
                       columns, nullptr, out.data(), true});
        CHECK(largest_difference(out, wanted) < 1e-12);
        // The same rows as groups of one, the blocks of each in a row.
        out.assign(out.size(), 0.0);
        Values in_order;
        for (const std::int32_t k : index)
          in_order.insert(in_order.end(), a.begin() + k * length, a.begin() + (k + 1) * length);
        const std::vector<std::int32_t> plain{0, 1, 2};
        code.contract({in_order.data(), rows, 1, blocks * length, plain.data(), 0, length, blocks, length, e.data(),
                       length * columns, columns, nullptr, out.data(), false});
        for (double& x : out) x += 0.25;
        CHECK(largest_difference(out, wanted) < 1e-12);
        // Where e is known to be zero nothing is read of it: what stands there would be seen.
        std::vector<std::int64_t> limits;
        Values zeros = e, garbage = e;
        for (std::int64_t c = 0; c < columns; ++c) {
          if (c % 4 == 0) limits.push_back(c / 4 % 3 * 2);
          for (std::int64_t k = 0; k < blocks * length; ++k)
            if (k % length >= limits.back())
              zeros[static_cast<std::size_t>(k * columns + c)] = garbage[static_cast<std::size_t>(k * columns + c)] =
                  0.0;
        }
        Values all(out.size()), limited(out.size());
        code.contract({a.data(), 1, rows, 0, index.data(), blocks, length, blocks, length, zeros.data(),
                       length * columns, columns, nullptr, all.data(), false});
        const std::int64_t largest = *std::max_element(limits.begin(), limits.end());
        for (std::int64_t k = 0; k < blocks * length; ++k)
          for (std::int64_t c = 0; c < columns; ++c)
            if (k % length >= largest) garbage[static_cast<std::size_t>(k * columns + c)] = 1e6;
        code.contract({a.data(), 1, rows, 0, index.data(), blocks, length, blocks, length, garbage.data(),
                       length * columns, columns, limits.data(), limited.data(), false});
        CHECK(largest_difference(all, limited) < 1e-12);
      }
    }
}

TEST_CASE("shells of one centre with the same exponents are a family") {
  const auto shell = [](double x, int l, std::vector<double> exponents) {
    return GaussianShell{{x, 0, 0}, l, exponents, exponents, {}, 0, 0};
  };
  const std::vector<GaussianShell> shells{shell(0, 0, {5, 1}), shell(0, 1, {5, 1}), shell(0, 0, {5, 2}),
                                          shell(1, 0, {5, 1}), shell(0, 0, {5, 1})};
  const std::vector<ShellFamily> families = shell_families(shells, 0, shells.size());
  REQUIRE(families.size() == 3);
  CHECK(families[0].shells == std::vector<std::size_t>{0, 1, 4});
  CHECK(families[0].l == 1);
  CHECK(families[1].shells == std::vector<std::size_t>{2});
  CHECK(families[2].shells == std::vector<std::size_t>{3});
}

TEST_CASE("both methods give the same two-electron integrals") {
  for (const auto& [basis, pure] : {std::pair{"sto-3g", true},
                                    {"6-31g*", true},
                                    {"6-31g*", false},
                                    {"cc-pvdz", true},
                                    {"aug-cc-pvdz", true},
                                    {"def2-tzvp", true}}) {
    CAPTURE(basis, pure);
    const Molecule m = molecule(basis, pure, skew_molecule());
    const auto hermite = make_ao_integrals(m, IntegralCode::hermite),
               libint = make_ao_integrals(m, IntegralCode::libint);
    const std::int64_t n = m.n_basis();
    std::vector<FunctionRange> atoms;
    for (std::int32_t atom = 0; atom < 3; ++atom) {
      std::int64_t count = 0;
      for (const Shell& s : m.shells)
        if (s.atom == atom) count += s.n_functions();
      atoms.push_back({atoms.empty() ? 0 : atoms.back().first + atoms.back().count, count});
    }
    REQUIRE(atoms.back().first + atoms.back().count == n);
    const auto &o = atoms[0], &h = atoms[1], &c = atoms[2];
    for (const std::array<FunctionRange, 4>& ranges :
         {std::array{o, o, o, o}, {o, h, c, o}, {h, o, o, h}, {h, o, h, o}, {c, c, o, o}, {o, c, h, h}, {c, o, c, h}}) {
      Values x(static_cast<std::size_t>(size(ranges))), y = x;
      hermite->repulsion(ranges, x.data());
      libint->repulsion(ranges, y.data());
      CHECK(largest_difference(x, y) < 2e-12);
    }
    CHECK(hermite->quartets().computed > 0);
    CHECK(hermite->quartets().computed < libint->quartets().computed);  // families of shells
  }
}

// Behind the end of its table the Boys function is taken without exp(-T), which high orders multiply by powers of the
// distance.
TEST_CASE("high angular momenta agree where the table of the Boys function ends") {
  for (const int l : {1, 2, 3, 4})
    for (const double t : {35.9, 36.05, 38.0, 42.0, 52.1, 63.9, 64.1, 70.0}) {
      CAPTURE(l, t);
      // Two shells of exponent 1: the pairs of each have the exponent 2, so that T is the square of their distance.
      const double far = std::sqrt(t / 3.0);
      Molecule m;
      m.atoms = {make_atom("H", 0, 0, 0), make_atom("H", far, far, far)};
      m.shells = {{0, l, true, {1.0}, {1.0}, 1}, {1, l, true, {1.0}, {1.0}, 1}};
      const std::int64_t n = 2 * l + 1;
      const auto hermite = make_ao_integrals(m, IntegralCode::hermite),
                 libint = make_ao_integrals(m, IntegralCode::libint);
      const std::array<FunctionRange, 4> ranges{FunctionRange{0, n}, {0, n}, {n, n}, {n, n}};
      Values x(static_cast<std::size_t>(size(ranges))), y = x;
      hermite->repulsion(ranges, x.data());
      libint->repulsion(ranges, y.data());
      CHECK(largest_difference(x, y) < 2e-13);
    }
}

TEST_CASE("higher angular momenta are left to libint") {
  Molecule m;
  m.atoms = {make_atom("C", 0, 0, 0)};
  m.shells = {{0, 4, true, {1.1}, {1.0}, 1}, {0, 0, true, {0.9}, {1.0}, 1}};
  const auto automatic = make_ao_integrals(m), libint = make_ao_integrals(m, IntegralCode::libint),
             hermite = make_ao_integrals(m, IntegralCode::hermite);
  const std::array<FunctionRange, 4> all{FunctionRange{0, 10}, {0, 10}, {0, 10}, {0, 10}};
  Values x(10000), y(10000), z(10000);
  automatic->repulsion(all, x.data());
  libint->repulsion(all, y.data());
  hermite->repulsion(all, z.data());
  CHECK(x == y);
  CHECK(largest_difference(x, z) < 1e-12);
}

TEST_CASE("quartets are left out by the densities they meet, and Fock matrices are what they were") {
  const Molecule m = molecule("6-31g", true, waters(3));
  const std::int64_t n = m.n_basis(), third = n / 3;
  for (const IntegralCode method : {IntegralCode::hermite, IntegralCode::libint})
    for (const double scale : {1.0, 1e-5, 1e-10}) {
      const auto all = make_ao_integrals(m, method), screened = make_ao_integrals(m, method);
      Values d = density(n, scale), fa(static_cast<std::size_t>(n * n)), fb = fa, ga = fa, gb = fa;
      const std::array<FockMatrix, 2> densities{whole(d, n), whole(d, n)};
      const std::vector<FunctionRange> ao{{0, third}, {third, third}, {2 * third, third}};
      for (std::size_t p = 0; p < 3; ++p)
        for (std::size_t q = p; q < 3; ++q)
          for (std::size_t r = p; r < 3; ++r)
            for (std::size_t s = r; s < 3; ++s) {
              if (p == r && q > s) continue;
              const std::array<FunctionRange, 4> ranges{ao[p], ao[q], ao[r], ao[s]};
              Values x(static_cast<std::size_t>(size(ranges))), y = x;
              all->repulsion(ranges, x.data());
              screened->repulsion(ranges, y.data(), densities);
              add_to_fock(x.data(), ranges, densities[0], densities[1], whole(fa, n), whole(fb, n));
              add_to_fock(y.data(), ranges, densities[0], densities[1], whole(ga, n), whole(gb, n));
            }
      CAPTURE(scale, static_cast<int>(method));
      CHECK(largest_difference(fa, ga) < 1e-11);
      CHECK(largest_difference(fb, gb) < 1e-11);
      CHECK(std::abs(trace_product(d, fa) - trace_product(d, ga)) < 1e-10 * scale);
      CHECK(screened->quartets().computed + screened->quartets().skipped <=
            all->quartets().computed + all->quartets().skipped);
      CHECK(screened->quartets().computed <= all->quartets().computed);
      if (scale == 1e-5) CHECK(screened->quartets().computed < all->quartets().computed);
      if (scale == 1e-10) CHECK(2 * screened->quartets().computed < all->quartets().computed);
    }
}

TEST_CASE("nothing is left out for a density that is not finite, and never of integrals that are wanted themselves") {
  FakeContext c;
  chemistry(c.data).has_molecule = true;
  chemistry(c.data).molecule = molecule("6-31g", true, waters(2));
  const std::int64_t n = chemistry(c.data).molecule.n_basis(), half = n / 2;
  const auto engine = [&] { return static_cast<AoIntegrals*>(c.slots.at("ao_integrals").get()); };
  Array x({half, half, half, half}, {}, IndexKind::ao), wanted = x, d = ao_matrix(n), fa = d, fb = d;
  for (Array* a : {&x, &wanted}) a->at(2, 2, half).at(3, 2, half);
  execute(c, "compute_integral_batch", {wanted});
  const std::int64_t full = engine()->quartets().computed;
  REQUIRE(full > 0);
  const auto computed = [&](const char* name, double element) {
    const std::int64_t before = engine()->quartets().computed;
    d.data.assign(d.data.size(), 1e-12);
    d.data[0] = element;
    std::fill(x.data.begin(), x.data.end(), 0.0);
    std::fill(fa.data.begin(), fa.data.end(), 0.0);
    execute(c, name, {x, d, d, fa, fb});
    return engine()->quartets().computed - before;
  };
  CHECK(computed("compute_ubatch1", 1e-12) < full);
  CHECK(computed("compute_ubatch1", std::numeric_limits<double>::quiet_NaN()) == full);
  CHECK(std::isnan(fa.data[static_cast<std::size_t>(half + n * half)]));
  CHECK(computed("compute_ubatch1", std::numeric_limits<double>::infinity()) == full);
  CHECK(computed("compute_ubatch6", 1e-12) == full);
  CHECK(x.data == wanted.data);
  d.data.assign(d.data.size(), 0.0);
  const std::int64_t before = engine()->quartets().computed;
  execute(c, "compute_ubatch1", {x, d, d, fa, fb});
  CHECK(engine()->quartets().computed == before);
}
