#pragma once
// Molecules and matrices of the JSON files in data/.

#include <fstream>
#include <string>

#include <nlohmann/json.hpp>

#include "runtime/chemistry/molecule/chemistry.h"
#include "runtime/chemistry/molecule/molecule.h"
#include "tests/unit/chemistry/super/context.h"
#include "tests/unit/main/source_path.h"

inline nlohmann::json reference_data(const std::string& file) {
  std::ifstream in(sial::source_path("tests/unit/chemistry/super/data/" + file));
  if (!in) throw std::runtime_error("no reference data " + file);
  return nlohmann::json::parse(in);
}

inline sial::Molecule reference_molecule(const nlohmann::json& data) {
  sial::Molecule m;
  for (const auto& a : data.at("atoms"))
    m.atoms.push_back({a.at("charge"), sial::element_symbol(a.at("charge")), a.at("position")});
  for (const auto& s : data.at("shells")) {
    sial::Shell& shell = m.shells.emplace_back();
    shell.atom = s.at("atom");
    shell.l = s.at("l");
    shell.pure = data.at("spherical") && shell.l >= 2;
    shell.exponents = s.at("exponents").get<std::vector<double>>();
    shell.n_contractions = static_cast<std::int32_t>(s.at("coefficients").size());
    for (const auto& c : s.at("coefficients")) {
      auto row = c.get<std::vector<double>>();
      shell.coefficients.insert(shell.coefficients.end(), row.begin(), row.end());
    }
  }
  return m;
}

/// A block over ranges of basis functions.
inline Array reference_block(const std::vector<std::pair<std::int64_t, std::int64_t>>& first_and_count) {
  std::vector<std::int64_t> extents;
  for (auto& r : first_and_count) extents.push_back(r.second);
  Array a(extents, {}, sial::IndexKind::ao);
  for (std::size_t d = 0; d < extents.size(); ++d)
    a.at(static_cast<int>(d), static_cast<int>(first_and_count[d].first) + 1, first_and_count[d].first);
  return a;
}

/// (first function, number of functions) of each shell.
inline std::vector<std::pair<std::int64_t, std::int64_t>> shell_ranges(const sial::Molecule& m) {
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  std::int64_t first = 0;
  for (const sial::Shell& s : m.shells) {
    ranges.emplace_back(first, s.n_functions());
    first += s.n_functions();
  }
  return ranges;
}

/// Largest difference of a symmetric matrix from the reference of that name.
inline double matrix_error(const Array& a, const nlohmann::json& data, const char* name) {
  auto want = data.at(name).get<std::vector<double>>();
  if (want.size() != a.data.size()) return 1e300;
  double worst = 0.0;
  for (std::size_t i = 0; i < want.size(); ++i) worst = std::max(worst, std::abs(a.data[i] - want[i]));
  return worst;
}
