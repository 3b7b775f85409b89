#pragma once
// Molecules put together by hand.

#include <string>

#include "runtime/chemistry/molecule/chemistry.h"
#include "runtime/chemistry/molecule/molecule.h"
#include "tests/unit/chemistry/super/reference_data.h"

/// Coordinates in bohr.
inline sial::Atom make_atom(const std::string& symbol, double x, double y, double z) {
  sial::Atom atom;
  atom.charge = sial::atomic_number(symbol);
  atom.symbol = symbol;
  atom.position = {x, y, z};
  return atom;
}
