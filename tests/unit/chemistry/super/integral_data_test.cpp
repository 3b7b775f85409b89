// Integrals against libcint's (data/integrals.json, made by data/make_integrals.py): s to f functions, spherical and
// Cartesian, and general contractions.

#include <catch2/catch.hpp>

#include <cmath>

#include "tests/unit/chemistry/super/reference_data.h"

#include "runtime/chemistry/molecule/chemistry.h"

using namespace sial;

namespace {

void check_case(const char* name) {
  INFO(name);
  const nlohmann::json all = reference_data("integrals.json"), &data = all.at(name);
  FakeContext c;
  chemistry(c.data).has_molecule = true;
  chemistry(c.data).molecule = reference_molecule(data);
  const std::int64_t n = chemistry(c.data).molecule.n_basis();
  const auto shells = shell_ranges(chemistry(c.data).molecule);

  Array m = reference_block({{0, n}, {0, n}});
  execute(c, "return_ovl", {m});
  CHECK(matrix_error(m, data, "overlap") < 1e-12);
  execute(c, "return_h1", {m});
  CHECK(matrix_error(m, data, "h1") < 1e-11);
  for (double k : {1, 2, 3}) {
    Scalar nuclei, component{k};
    execute(c, "compute_dipole_integrals", {m, nuclei, component});
    CHECK(matrix_error(m, data, k == 1 ? "x" : k == 2 ? "y" : "z") < 1e-12);
  }

  // Each unique quartet of shells as a block of its own, and as a part of the block of all functions.
  Array whole = reference_block({{0, n}, {0, n}, {0, n}, {0, n}});
  execute(c, "compute_integral_batch", {whole});
  double worst = 0.0, worst_part = 0.0, largest = 0.0;
  REQUIRE(data.at("repulsion").size() == [&] {
    std::size_t p = shells.size() * (shells.size() + 1) / 2;
    return p * (p + 1) / 2;
  }());
  for (const auto& row : data.at("repulsion")) {
    auto range = [&](int d) { return shells.at(row.at(d).get<std::size_t>()); };
    Array block = reference_block({range(0), range(1), range(2), range(3)});
    execute(c, "compute_integral_batch", {block});
    double squares = 0.0, weighted = 0.0;
    std::int64_t k = 0;
    for (std::int64_t l = 0; l < range(3).second; ++l)
      for (std::int64_t q = 0; q < range(2).second; ++q)
        for (std::int64_t j = 0; j < range(1).second; ++j)
          for (std::int64_t i = 0; i < range(0).second; ++i, ++k) {
            squares += block.data[k] * block.data[k];
            weighted += block.data[k] * std::cos(static_cast<double>(k));
            const std::int64_t at =
                range(0).first + i + n * (range(1).first + j + n * (range(2).first + q + n * (range(3).first + l)));
            worst_part = std::max(worst_part, std::abs(block.data[k] - whole.data[at]));
          }
    worst =
        std::max({worst, std::abs(squares - row.at(4).get<double>()), std::abs(weighted - row.at(5).get<double>())});
    largest = std::max(largest, row.at(4).get<double>());
  }
  CHECK(largest > 1.0);
  CHECK(worst < 1e-10);  // of sums over up to ten thousand elements
  CHECK(worst_part < 1e-13);
}

}  // namespace

TEST_CASE("integrals over spherical s, p, d, f functions against libcint") { check_case("spdf_spherical"); }
TEST_CASE("integrals over Cartesian s, p, d, f functions against libcint") { check_case("spdf_cartesian"); }
TEST_CASE("integrals over general contractions against libcint") { check_case("general"); }
