#include "runtime/chemistry/files/molden.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "runtime/chemistry/molecule/chemistry.h"
#include "runtime/chemistry/molecule/molecule.h"
#include "runtime/core/base/error.h"
#include "runtime/core/base/number.h"

namespace sial {
namespace {

constexpr std::int32_t max_l = 4;
constexpr const char* letters = "spdfg";

/// The format's Cartesian functions, in its order and words.
constexpr std::string_view cartesian_order[] = {
    "1", "x y z", "xx yy zz xy xz yz", "xxx yyy zzz xyy xxy xxz xzz yzz yyz xyz",
    "xxxx yyyy zzzz xxxy xxxz yyyx yyyz zzzx zzzy xxyy xxzz yyzz xxyz yyxz zzxy"};

/// Of each function of the format: our function within the contraction. Ours: Cartesian with x descending, then y.
std::vector<std::int32_t> positions(std::int32_t l, bool pure) {
  std::vector<std::int32_t> out;
  if (pure) return zonal_first(l);
  for (const std::string_view word : words_of(cartesian_order[l])) {
    const auto power = [&](char x) { return static_cast<std::int32_t>(std::ranges::count(word, x)); };
    const std::int32_t rest = l - power('x');  // of y and z: 1 + 2 + ... + rest functions with more of x stand before
    out.push_back(rest * (rest + 1) / 2 + power('z'));
  }
  return out;
}

/// Of each function of the file: ours. Functions of an atom that come in several pieces in our order are brought
/// together.
struct Functions {
  std::vector<std::int32_t> ours;
  std::string basis;  // the section [GTO] and what says which functions are pure
};

Functions functions_of(const Molecule& m) {
  Functions f;
  std::vector<std::vector<std::int32_t>> first(m.atoms.size());  // shells of each atom
  std::vector<std::int32_t> start;
  std::int32_t n = 0;
  for (std::size_t s = 0; s < m.shells.size(); ++s) {
    first[static_cast<std::size_t>(m.shells[s].atom)].push_back(static_cast<std::int32_t>(s));
    start.push_back(n);
    n += m.shells[s].n_functions();
  }
  std::array<bool, max_l + 1> pure{}, cartesian{};
  f.basis = "[GTO]\n";
  for (std::size_t a = 0; a < m.atoms.size(); ++a) {
    f.basis += fmt::format("{:5d} 0\n", a + 1);
    for (const std::int32_t s : first[a]) {
      const Shell& shell = m.shells[static_cast<std::size_t>(s)];
      if (shell.l > max_l)
        throw InputError(
            fmt::format("the Molden format has functions up to g, and the basis set of atom {} ({}) has l = {}", a + 1,
                        m.atoms[a].symbol, shell.l),
            "leave out `--molden`, or take a basis set without them");
      (shell.pure && shell.l > 1 ? pure : cartesian)[static_cast<std::size_t>(shell.l)] = true;
      const std::size_t primitives = shell.exponents.size();
      const std::vector<std::int32_t> within = positions(shell.l, shell.pure && shell.l > 1);
      for (std::int32_t c = 0; c < shell.n_contractions; ++c) {
        std::string lines;
        std::size_t used = 0;
        for (std::size_t p = 0; p < primitives; ++p)
          if (const double coefficient = shell.coefficients[static_cast<std::size_t>(c) * primitives + p];
              coefficient != 0.0) {
            lines += fmt::format(" {:24.16e} {:24.16e}\n", shell.exponents[p], coefficient);
            ++used;
          }
        f.basis += fmt::format(" {} {:4d} 1.00\n{}", letters[shell.l], used, lines);
        const auto size = static_cast<std::int32_t>(within.size());
        for (const std::int32_t k : within) f.ours.push_back(start[static_cast<std::size_t>(s)] + c * size + k);
      }
    }
    f.basis += "\n";
  }
  for (std::size_t l = 2; l <= max_l; ++l)
    if (pure[l] && cartesian[l])
      throw InputError(
          fmt::format("the basis set has pure and Cartesian {} functions, and a Molden file has one kind", letters[l]),
          "leave out `--molden`");
  if (pure[2] || pure[3]) {
    if (!cartesian[2] && !cartesian[3]) f.basis += "[5D7F]\n";
    else f.basis += pure[2] ? "[5D10F]\n" : "[7F]\n";
  }
  if (pure[4]) f.basis += "[9G]\n";
  return f;
}

}  // namespace

void check_molden(const Molecule& molecule) { functions_of(molecule); }

std::string molden_text(const Molecule& molecule, const SavedStatics& saved) {
  const std::vector<SavedOrbitals> all = saved_orbitals(molecule, saved, "a Molden file");
  const Functions functions = functions_of(molecule);
  const std::int64_t n = molecule.n_basis();
  std::string out =
      fmt::format("[Molden Format]\n[Title]\n {} atoms, {}\n[Atoms] AU\n", molecule.atoms.size(), molecule.basis_name);
  std::string cores;
  for (std::size_t a = 0; a < molecule.atoms.size(); ++a) {
    const Atom& atom = molecule.atoms[a];
    const std::int32_t number = atom.charge + atom.core_electrons;
    out += fmt::format("{:<3s} {:5d} {:4d} {:22.14f} {:22.14f} {:22.14f}\n", number > 0 ? element_symbol(number) : "X",
                       a + 1, number, atom.position[0], atom.position[1], atom.position[2]);
    if (atom.core_electrons > 0) cores += fmt::format("{} : {}\n", a + 1, atom.core_electrons);
  }
  if (!cores.empty()) out += "[Core]\n" + cores;
  out += functions.basis + "[MO]\n";
  for (const SavedOrbitals& o : all) {
    for (std::int64_t p = 0; p < o.number(); ++p) {
      const double energy = o.has_energies() ? o.energy(p) : 0.0;
      out += fmt::format(" Sym= A\n Ene= {:22.14e}\n Spin= {}\n Occup= {:.6f}\n", energy, o.is_beta ? "Beta" : "Alpha",
                         o.occupation_of(p));
      for (std::size_t k = 0; k < functions.ours.size(); ++k)
        out += fmt::format("{:5d} {:22.14e}\n", k + 1,
                           o.coefficients->data[static_cast<std::size_t>(p * n + functions.ours[k])]);
    }
  }
  return out;
}

}  // namespace sial
