// Atomic densities, occupations and damping at the start of an SCF.

#include <catch2/catch.hpp>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "runtime/chemistry/basis/basis.h"
#include "runtime/chemistry/molecule/chemistry.h"
#include "runtime/chemistry/super/small_scf.h"
#include "tests/unit/chemistry/super/context.h"
#include "tests/unit/chemistry/super/data.h"

using namespace sial;
using Catch::Matchers::Contains;
using Values = std::vector<double>;

namespace {

void set_molecule(FakeContext& c, const std::string& basis, std::vector<Atom> atoms) {
  chemistry(c.data).has_molecule = true;
  chemistry(c.data).molecule.atoms = atoms;
  chemistry(c.data).molecule.shells = read_basis(find_basis(basis, "."), atoms, true);
}

}  // namespace

TEST_CASE("unrestricted SCF of atoms against another program") {
  const nlohmann::json data = reference_data("atoms.json");
  for (const auto& [basis, atoms] : data.items())
    for (const auto& [symbol, energy] : atoms.items()) {
      CAPTURE(basis, symbol);
      Molecule m;
      m.atoms = {make_atom(symbol, 0.1, -0.2, 0.3)};
      m.shells = read_basis(find_basis(basis, "."), m.atoms, true);
      const int z = static_cast<int>(m.atoms[0].charge);
      const SmallScf scf = small_uhf(m, z - z / 2, z / 2);
      CHECK(scf.converged);
      CHECK(std::abs(scf.energy - energy.get<double>()) < 1e-9);
    }
}

TEST_CASE("densities of the atoms of a molecule") {
  FakeContext c;
  set_molecule(c, "6-31g*", {make_atom("H", 0, 0, 1.8), make_atom("O", 0, 0, 0), make_atom("H", 0, 1.7, -0.4)});
  const std::int64_t n = chemistry(c.data).molecule.n_basis();
  Array s = ao_matrix(n), fa = ao_matrix(n), fb = ao_matrix(n), h = ao_matrix(n), nai = ao_matrix(n);
  execute(c, "return_ovl", {s});
  for (auto [atom, alpha, beta, first, count] :
       {std::tuple{1, 1, 0, 0, 2}, {2, 4, 4, 2, static_cast<int>(n) - 4}, {3, 1, 0, static_cast<int>(n) - 2, 2}}) {
    Scalar k{static_cast<double>(atom)};
    fa.data.assign(n * n, 7.0);
    execute(c, "a4_scf_atom", {fa, fb, h, nai, s, k});
    CHECK(std::abs(trace_product(fa.data, s.data) - alpha) < 1e-10);
    CHECK(std::abs(trace_product(fb.data, s.data) - beta) < 1e-10);
    // Zero outside the atom's own block, idempotent inside: D S D = D.
    double outside = 0.0, worst = 0.0;
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        bool inside = i >= first && i < first + count && j >= first && j < first + count;
        if (!inside) outside = std::max(outside, std::abs(fa.data[i + n * j]));
        double dsd = 0.0;
        for (std::int64_t p = 0; p < n; ++p)
          for (std::int64_t q = 0; q < n; ++q) dsd += fa.data[i + n * p] * s.data[p + n * q] * fa.data[q + n * j];
        worst = std::max(worst, std::abs(dsd - fa.data[i + n * j]));
      }
    CHECK(outside == 0.0);
    CHECK(worst < 1e-9);
  }
  // Oxygen: 1s, 2s, and of the three 2p the first two.
  Scalar oxygen{2};
  execute(c, "a4_scf_atom", {fa, fb, h, nai, s, oxygen});
  auto p_population = [&](int component) {
    double sum = 0.0;
    std::int64_t at = 0;
    for (const Shell& shell : chemistry(c.data).molecule.shells) {
      if (shell.l == 1)
        for (std::int64_t j = 0; j < n; ++j) sum += fa.data[at + component + n * j] * s.data[j + n * (at + component)];
      at += shell.n_functions();
    }
    return sum;
  };
  CHECK(std::abs(p_population(0) - 1.0) < 1e-9);
  CHECK(std::abs(p_population(1) - 1.0) < 1e-9);
  CHECK(std::abs(p_population(2) - 0.0) < 1e-9);

  Scalar none{4};
  CHECK_THAT(execution_error(c, "a4_scf_atom", {fa, fb, h, nai, s, none}), Contains("no atom 4"));
  Array small = ao_matrix(3);
  CHECK_THAT(execution_error(c, "a4_scf_atom", {small, small, h, nai, s, oxygen}), Contains("does not hold function"));
}

TEST_CASE("densities of free atoms, averaged over spins and directions") {
  FakeContext c;
  set_molecule(c, "6-31g*", {make_atom("H", 0, 0, 1.8), make_atom("O", 0, 0, 0), make_atom("H", 0, 1.7, -0.4)});
  const std::int64_t n = chemistry(c.data).molecule.n_basis();
  Array s = ao_matrix(n), d = ao_matrix(n);
  execute(c, "return_ovl", {s});
  std::vector<Values> densities;
  for (const double atom : {1.0, 2.0, 3.0}) {
    Scalar number{atom};
    d.data.assign(d.data.size(), 7.0);
    execute(c, "free_atom_density", {d, number});
    CHECK(std::abs(trace_product(d.data, s.data) - (atom == 2.0 ? 4.0 : 0.5)) < 1e-9);
    densities.push_back(d.data);
  }
  // Both hydrogens have the same, oxygen's p and d functions are equivalent, and those of different components do not
  // mix.
  for (std::int64_t j = 0; j < 2; ++j)
    for (std::int64_t i = 0; i < 2; ++i) CHECK(densities[0][i + n * j] == densities[2][n - 2 + i + n * (n - 2 + j)]);
  std::int64_t at = 0;
  for (const Shell& shell : chemistry(c.data).molecule.shells) {
    for (std::int64_t k = 1; k < shell.n_functions() && shell.l > 0; ++k) {
      CHECK(densities[1][at + k + n * (at + k)] == densities[1][at + n * at]);
      CHECK(densities[1][at + k + n * at] == 0.0);
    }
    at += shell.n_functions();
  }
  Scalar none{0};
  CHECK_THAT(execution_error(c, "free_atom_density", {d, none}), Contains("no atom 0"));
  Scalar oxygen{2};
  Array small = ao_matrix(3);
  CHECK_THAT(execution_error(c, "free_atom_density", {small, oxygen}), Contains("does not hold function"));
}

TEST_CASE("first occupations") {
  FakeContext c;
  Array occupation({4}, {5, 5, 5, 5});
  occupation.whole();
  Scalar alpha{0}, beta{1};
  CHECK_THAT(execution_error(c, "a4_get_init_occupation", {occupation, alpha}), Contains("no int `nalpha_occupied`"));
  c.data.ints = {{"nalpha_occupied", 3}, {"nbeta_occupied", 2}};
  execute(c, "a4_get_init_occupation", {occupation, alpha});
  CHECK(occupation.data == Values{1, 1, 1, 0});
  execute(c, "a4_get_init_occupation", {occupation, beta});
  CHECK(occupation.data == Values{1, 1, 0, 0});
  c.data.ints["nbeta_occupied"] = 5;
  CHECK_THAT(execution_error(c, "a4_get_init_occupation", {occupation, beta}), Contains("`nbeta_occupied` is 5"));

  std::ofstream("OCCNUMS") << "1 0.5 0 1\n1 1 0 0.25\n";
  execute(c, "a4_get_init_occupation", {occupation, alpha});
  CHECK(occupation.data == Values{1, 0.5, 0, 1});
  execute(c, "a4_get_init_occupation", {occupation, beta});
  CHECK(occupation.data == Values{1, 1, 0, 0.25});
  std::ofstream("OCCNUMS") << "1 0 1 0";  // one set serves both spins
  execute(c, "a4_get_init_occupation", {occupation, beta});
  CHECK(occupation.data == Values{1, 0, 1, 0});
  std::ofstream("OCCNUMS") << "1 1 1";
  CHECK_THAT(execution_error(c, "a4_get_init_occupation", {occupation, alpha}),
             Contains("holds 3 numbers") && Contains("4 orbitals"));
  std::ofstream("OCCNUMS") << "1 1 x 0";
  CHECK_THAT(execution_error(c, "a4_get_init_occupation", {occupation, alpha}), Contains("`x`"));
  std::ofstream("OCCNUMS") << "1 1 2 0";
  CHECK_THAT(execution_error(c, "a4_get_init_occupation", {occupation, alpha}), Contains("`2`"));
  std::filesystem::remove("OCCNUMS");
}

TEST_CASE("occupations by overlap with the old orbitals") {
  FakeContext c;
  // Two old occupied orbitals (the third column is zero): the first has become orbital 1, the second orbital 4.
  Array overlap({4, 3}, {0.9, 0.1, 0.3, 0.2, 0.1, 0.2, 0.0, -0.8, 0, 0, 0, 0}), occupation({4}, {1, 1, 1, 1});
  execute(c, "a4_return_occupation", {overlap, occupation});
  CHECK(occupation.data == Values{1, 0, 0, 1});
  Array unchanged({3, 3}, {1, 0, 0, 0, 1, 0, 0, 0, 0}), aufbau({3});
  execute(c, "a4_return_occupation", {unchanged, aufbau});
  CHECK(aufbau.data == Values{1, 1, 0});
  Array few({2});
  CHECK_THAT(execution_error(c, "a4_return_occupation", {overlap, few}), Contains("2 elements"));
}

TEST_CASE("damping factors") {
  FakeContext c;
  // Change, previous change, average, factor before and after, worked out by hand from the table of cases.
  const double cases[][5] = {
      {-2.0, -1.0, 0.5, 1.0, 16.0},      // falling faster, far above the average: 16 max(1, 0.5)
      {-2.0, -1.0, 8.0, 3.0, 3.0 / 16},  // falling faster, below half the average
      {-2.0, -1.0, 1.5, 3.0, 3.0},       // between: unchanged
      {-0.25, -1.0, 0.5, 32.0, 2.0},     // falling slower than a quarter
      {-0.5, -1.0, 0.5, 8.0, 2.0},       // falling slower, not by a quarter: (1/2)^2 8
      {-1.0, 1.0, 0.5, 1.0, 64.0},       // turned down by more than the average: 4 1 16
      {-0.125, 0.25, 0.5, 1.0, 0.25},    // turned down, the step below the average: 4 1 / 16
      {-0.5, 0.5, 0.75, 1.0, 4.0},       // turned down otherwise
      {1.0, -1.0, 1.0, 0.5, 64.0},       // turned up by more than half the average: 4 1 16
      {0.25, -1.0, 1.0, 2.0, 8.0},       // turned up otherwise
      {0.0625, -0.0625, 1.0, 2.0, 0.5},  // turned up, the step below a fifth of the average: 4 2 / 16
      {4.0, 1.0, 1.0, 2.0, 32.0},        // rising four times as fast
      {0.25, 1.0, 1.0, 2.0, 0.5},        // rising, a quarter: 4 2 / 16
      {2.0, 1.0, 1.0, 2.0, 8.0},         // rising: (2)^2 2
      {-3.0, 1.0, 1.0, 100.0, 256.0},    // never above 256
  };
  for (const auto& x : cases) {
    CAPTURE(x[0], x[1], x[2], x[3]);
    Array p({3}, {x[0], x[1], x[2]});
    Scalar damp{x[3]};
    execute(c, "a4_david_damp_factor", {p, damp});
    CHECK(damp.value == x[4]);
  }
  Array two({2});
  Scalar damp;
  CHECK_THAT(execution_error(c, "a4_david_damp_factor", {two, damp}), Contains("three numbers"));
}
