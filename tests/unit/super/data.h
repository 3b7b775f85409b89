#pragma once
// Reference numbers of this folder's data files, and molecules put together by hand.

#include <fstream>
#include <stdexcept>
#include <string>

#include <nlohmann/json.hpp>

#include "runtime/job/job_data.h"
#include "runtime/job/molecule.h"

inline nlohmann::json reference_data(const std::string& name) {
  const std::string path = std::string(SIALX_SOURCE_DIR) + "/tests/unit/super/data/" + name;
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot read " + path);
  return nlohmann::json::parse(in);
}

/// Coordinates in bohr.
inline sial::Atom make_atom(const std::string& symbol, double x, double y, double z) {
  sial::Atom atom;
  atom.charge = sial::atomic_number(symbol);
  atom.symbol = symbol;
  atom.position = {x, y, z};
  return atom;
}
