#include "runtime/chemistry/files/trexio.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <numeric>

#include <fmt/format.h>

#include "runtime/chemistry/basis/basis.h"
#include "runtime/chemistry/files/trexio_file.h"
#include "runtime/chemistry/molecule/chemistry.h"
#include "runtime/chemistry/molecule/molecule.h"
#include "runtime/core/base/error.h"

namespace sial {
namespace {

constexpr std::int32_t max_momentum = 20;

double double_factorial(std::int32_t n) {
  double product = 1.0;
  for (; n > 1; n -= 2) product *= n;
  return product;
}

/// Gives z^l exp(-exponent r^2) unit norm.
double norm_of_primitive(double exponent, std::int32_t l) {
  const double radial = 2.0 * std::pow(2.0 * exponent, l + 1.5) / std::tgamma(l + 1.5);
  return std::sqrt(radial * (2 * l + 1) / (4.0 * std::numbers::pi));
}

bool is_cartesian(const Molecule& molecule) {
  return std::any_of(molecule.shells.begin(), molecule.shells.end(), [](const Shell& s) { return s.l > 1 && !s.pure; });
}

void add_nuclei(const Molecule& molecule, TrexioData& out) {
  for (const Atom& atom : molecule.atoms) {
    out.nucleus_charge.push_back(atom.charge);
    out.nucleus_coord.insert(out.nucleus_coord.end(), atom.position.begin(), atom.position.end());
    out.nucleus_label.push_back(atom.charge > 0 ? element_symbol(atom.charge + atom.core_electrons) : "X");
  }
  out.repulsion = nuclear_repulsion(molecule);
  const auto [alpha, beta] = electron_counts(molecule);
  out.up = alpha;
  out.down = beta;
  out.electrons = alpha + beta;
}

/// Of each function of the file, our function within the shell.
std::vector<std::int32_t> file_order(std::int32_t l, bool cartesian) {
  if (!cartesian) return l == 1 ? std::vector<std::int32_t>{2, 0, 1} : zonal_first(l);
  std::vector<std::int32_t> order(static_cast<std::size_t>((l + 1) * (l + 2) / 2));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

/// Of each Cartesian function, which has unit norm with the factor, where z^l has.
std::vector<double> cartesian_norms(std::int32_t l) {
  std::vector<double> norms;
  for (std::int32_t x = l; x >= 0; --x)
    for (std::int32_t y = l - x; y >= 0; --y) {
      const std::int32_t z = l - x - y;
      norms.push_back(
          std::sqrt(double_factorial(2 * l - 1) /
                    (double_factorial(2 * x - 1) * double_factorial(2 * y - 1) * double_factorial(2 * z - 1))));
    }
  return norms;
}

/// Contractions become shells of their own. `ours` gets our function for each of the file.
void add_basis(const Molecule& molecule, TrexioData& out, std::vector<std::int64_t>& ours) {
  out.cartesian = is_cartesian(molecule);
  std::int64_t first = 0;
  for (const Shell& s : molecule.shells)
    for (std::int32_t c = 0; c < s.n_contractions; ++c) {
      const auto shell = static_cast<std::int32_t>(out.shell_l.size());
      out.shell_nucleus.push_back(s.atom);
      out.shell_l.push_back(s.l);
      out.shell_factor.push_back(1.0);
      for (std::size_t p = 0; p < s.exponents.size(); ++p) {
        const double coefficient = s.coefficients[static_cast<std::size_t>(c) * s.exponents.size() + p];
        if (coefficient == 0.0) continue;
        out.primitive_shell.push_back(shell);
        out.exponent.push_back(s.exponents[p]);
        out.coefficient.push_back(coefficient);
        out.primitive_factor.push_back(norm_of_primitive(s.exponents[p], s.l));
      }
      const std::vector<std::int32_t> order = file_order(s.l, out.cartesian);
      const std::vector<double> norms = out.cartesian ? cartesian_norms(s.l) : std::vector<double>(order.size(), 1.0);
      out.ao_normalization.insert(out.ao_normalization.end(), norms.begin(), norms.end());
      for (const std::int32_t k : order) {
        out.ao_shell.push_back(shell);
        ours.push_back(first + k);
      }
      first += std::ssize(order);
    }
}

/// The local part has the angular momentum above the largest of the others.
void add_potentials(const Molecule& molecule, TrexioData& out) {
  if (molecule.ecps.empty()) return;
  out.ecp_max_l_plus_1.assign(molecule.atoms.size(), 0);
  out.ecp_core.assign(molecule.atoms.size(), 0);
  for (const Ecp& e : molecule.ecps) {
    std::int32_t local = 0;
    for (const EcpTerm& t : e.terms) local = std::max(local, t.l + 1);
    out.ecp_max_l_plus_1[static_cast<std::size_t>(e.atom)] = local;
    out.ecp_core[static_cast<std::size_t>(e.atom)] = e.electrons;
    for (const EcpTerm& t : e.terms) {
      out.ecp_nucleus.push_back(e.atom);
      out.ecp_l.push_back(t.l < 0 ? local : t.l);
      out.ecp_power.push_back(t.power - 2);
      out.ecp_exponent.push_back(t.exponent);
      out.ecp_coefficient.push_back(t.coefficient);
    }
  }
}

[[noreturn]] void fail(const std::string& path, const std::string& message, const std::string& hint) {
  throw InputError(fmt::format("the TREXIO file `{}` {}", path, message), hint);
}

constexpr const char* damaged = "was it written completely? `trexio_tools` or another program may check it";

std::vector<Atom> atoms_of(const TrexioData& data, const std::string& path) {
  std::vector<Atom> atoms;
  for (std::size_t a = 0; a < data.nucleus_charge.size(); ++a) {
    Atom atom;
    const double charge = data.nucleus_charge[a];
    const std::int32_t core = data.ecp_core.empty() ? 0 : data.ecp_core[a];
    if (!(charge >= 0.0 && charge < 200.0) || charge != std::floor(charge) || core < 0)
      fail(path, fmt::format("has a nucleus {} with charge {} and {} core electrons", a + 1, charge, core),
           "charges are whole numbers here");
    atom.charge = static_cast<std::int32_t>(charge);
    atom.core_electrons = core;
    for (std::size_t k = 0; k < 3; ++k) {
      atom.position[k] = data.nucleus_coord[3 * a + k];
      if (!std::isfinite(atom.position[k]))
        fail(path, fmt::format("has a nucleus {} whose coordinates are not finite", a + 1), damaged);
    }
    // A label may say which element; some programs write the charge without the potential.
    const std::int32_t number = a < data.nucleus_label.size() ? atomic_number(data.nucleus_label[a]) : 0;
    if (number > 0 && core > 0 && atom.charge == number) atom.charge -= core;
    if (number > 0 && atom.charge > 0 && atom.charge + core != number)
      fail(path,
           fmt::format("has a nucleus {} labelled {} with charge {} and {} core electrons", a + 1,
                       data.nucleus_label[a], charge, core),
           "the charge is the atomic number less the electrons of the potential");
    atom.symbol = atom.charge > 0 ? element_symbol(atom.charge + core) : "X";
    atoms.push_back(atom);
  }
  return atoms;
}

std::vector<Shell> shells_of(const TrexioData& data, const std::string& path) {
  if (std::string type = data.basis_type; type != "Gaussian" && type != "GAUSSIAN" && type != "gaussian")
    fail(path, fmt::format("has a basis set of type `{}`", type), "basis sets of Gaussian functions can be read");
  const auto atoms = static_cast<std::int32_t>(data.nucleus_charge.size());
  std::vector<Shell> shells(data.shell_l.size());
  for (std::size_t s = 0; s < shells.size(); ++s) {
    shells[s].atom = data.shell_nucleus[s];
    shells[s].l = data.shell_l[s];
    shells[s].pure = !data.cartesian;
    if (shells[s].atom < 0 || shells[s].atom >= atoms || shells[s].l < 0 || shells[s].l > max_momentum)
      fail(path,
           fmt::format("has a shell {} of nucleus {} with angular momentum {}", s + 1, shells[s].atom + 1, shells[s].l),
           damaged);
  }
  for (std::size_t p = 0; p < data.exponent.size(); ++p) {
    const std::int32_t at = data.primitive_shell[p];
    if (at < 0 || at >= std::ssize(shells) || !(data.exponent[p] > 0.0) || !std::isfinite(data.exponent[p]))
      fail(path, fmt::format("has a primitive {} of shell {} with exponent {}", p + 1, at + 1, data.exponent[p]),
           damaged);
    Shell& s = shells[static_cast<std::size_t>(at)];
    s.exponents.push_back(data.exponent[p]);
    s.coefficients.push_back(data.coefficient[p] * data.primitive_factor[p] / norm_of_primitive(data.exponent[p], s.l));
  }
  for (std::size_t s = 0; s < shells.size(); ++s) {
    normalise(shells[s]);
    if (shells[s].exponents.empty() || !std::isfinite(shells[s].coefficients.front()))
      fail(path, fmt::format("has a shell {} without a norm", s + 1), damaged);
  }
  std::stable_sort(shells.begin(), shells.end(), [](const Shell& a, const Shell& b) { return a.atom < b.atom; });
  return shells;
}

std::vector<Ecp> potentials_of(const TrexioData& data, const std::string& path) {
  std::vector<Ecp> all;
  for (std::size_t a = 0; a < data.ecp_core.size(); ++a) {
    Ecp ecp{static_cast<std::int32_t>(a), data.ecp_core[a], {}};
    for (std::size_t t = 0; t < data.ecp_nucleus.size(); ++t) {
      if (data.ecp_nucleus[t] < 0 || data.ecp_nucleus[t] >= std::ssize(data.ecp_core))
        fail(path, fmt::format("has a term {} of a potential at nucleus {}", t + 1, data.ecp_nucleus[t] + 1), damaged);
      if (data.ecp_nucleus[t] != ecp.atom || data.ecp_coefficient[t] == 0.0) continue;
      const std::int32_t l = data.ecp_l[t], local = data.ecp_max_l_plus_1[a];
      if (l < 0 || l > local || local > max_momentum || data.ecp_power[t] < -2 || !(data.ecp_exponent[t] > 0.0))
        fail(path,
             fmt::format("has a term {} of a potential with angular momentum {} of {}, power {} and exponent {}", t + 1,
                         l, local, data.ecp_power[t], data.ecp_exponent[t]),
             damaged);
      ecp.terms.push_back({l == local ? -1 : l, data.ecp_power[t] + 2, data.ecp_exponent[t], data.ecp_coefficient[t]});
    }
    if (ecp.electrons > 0 || !ecp.terms.empty()) all.push_back(std::move(ecp));
  }
  return all;
}

/// Our function for each of the file, and what its coefficients are to be multiplied with.
struct FileFunctions {
  std::vector<std::int64_t> ours;
  std::vector<double> factor;
};

/// Empty where the file does not say enough. `molecule` has the file's shells, those of each atom together.
FileFunctions functions_of(const TrexioData& data, const Molecule& molecule) {
  std::vector<std::size_t> order(data.shell_l.size());  // shells of the file in our order
  for (std::size_t s = 0; s < order.size(); ++s) order[s] = s;
  std::ranges::stable_sort(order, {}, [&](std::size_t s) { return data.shell_nucleus[s]; });
  std::vector<std::int64_t> first(order.size()), next(order.size(), 0);
  std::vector<double> factor(order.size(), 1.0), largest(order.size(), 0.0);
  std::vector<std::size_t> our_shell(order.size()), primitive(order.size(), 0);
  std::int64_t functions = 0;
  for (std::size_t s = 0; s < order.size(); ++s) {
    our_shell[order[s]] = s;
    first[order[s]] = functions;
    functions += molecule.shells[s].n_functions();
  }
  for (std::size_t p = 0; p < data.exponent.size(); ++p) {
    const auto s = static_cast<std::size_t>(data.primitive_shell[p]);
    const double file =
        data.coefficient[p] * data.primitive_factor[p] / norm_of_primitive(data.exponent[p], data.shell_l[s]);
    const double mine = molecule.shells[our_shell[s]].coefficients[primitive[s]++];
    if (std::abs(file) <= largest[s]) continue;
    largest[s] = std::abs(file);
    factor[s] = (s < data.shell_factor.size() ? data.shell_factor[s] : 1.0) * file / mine;
  }
  FileFunctions out;
  if (std::ssize(data.ao_shell) != functions) return out;
  for (std::size_t k = 0; k < data.ao_shell.size(); ++k) {
    const std::int32_t in = data.ao_shell[k];
    if (in < 0 || in >= std::ssize(order)) return {};
    const auto s = static_cast<std::size_t>(in);
    const std::int32_t l = data.shell_l[s];
    const std::vector<std::int32_t> places = file_order(l, data.cartesian);
    const std::int64_t at = next[s]++;
    if (at >= std::ssize(places)) return {};
    const std::int32_t mine = places[static_cast<std::size_t>(at)];
    out.ours.push_back(first[s] + mine);
    const double norm = data.cartesian ? cartesian_norms(l)[static_cast<std::size_t>(mine)] : 1.0;
    out.factor.push_back(factor[s] * (k < data.ao_normalization.size() ? data.ao_normalization[k] : norm) / norm);
  }
  return out;
}

}  // namespace

std::vector<DataArray> trexio_orbitals(const TrexioData& data, const Molecule& molecule) {
  const std::int64_t n = molecule.n_basis();
  const FileFunctions functions = functions_of(data, molecule);
  if (data.mo_coefficient.empty() || functions.ours.empty() ||
      data.mo_coefficient.size() % functions.ours.size() != 0 ||
      !std::ranges::all_of(data.mo_coefficient, [](double x) { return std::isfinite(x); }))
    return {};
  std::vector<std::size_t> of_spin[2];
  const std::size_t orbitals = data.mo_coefficient.size() / functions.ours.size();
  for (std::size_t p = 0; p < orbitals; ++p)
    of_spin[p < data.mo_spin.size() && data.mo_spin[p] == 1 ? 1 : 0].push_back(p);
  std::vector<DataArray> out;
  for (std::vector<std::size_t>& list : of_spin) {
    if (list.empty()) continue;
    if (data.mo_occupation.size() == orbitals)
      std::ranges::stable_sort(list, std::ranges::greater(), [&](std::size_t p) { return data.mo_occupation[p]; });
    DataArray& c = out.emplace_back(DataArray{{n, n}, std::vector<double>(static_cast<std::size_t>(n * n), 0.0)});
    for (std::size_t to = 0; to < std::min(list.size(), static_cast<std::size_t>(n)); ++to)
      for (std::size_t k = 0; k < functions.ours.size(); ++k)
        c.data[to * static_cast<std::size_t>(n) + static_cast<std::size_t>(functions.ours[k])] =
            data.mo_coefficient[list[to] * functions.ours.size() + k] * functions.factor[k];
  }
  return out;
}

void check_trexio(const Molecule& molecule) {
  const auto is_pure = [](const Shell& s) { return s.l > 1 && s.pure; };
  if (is_cartesian(molecule) && std::any_of(molecule.shells.begin(), molecule.shells.end(), is_pure))
    throw InputError("the basis set has pure and Cartesian functions, and a TREXIO file has one kind",
                     "leave out `--trexio`");
}

TrexioData trexio_data(const Molecule& molecule, const SavedStatics& saved) {
  check_trexio(molecule);
  const std::vector<SavedOrbitals> all = saved_orbitals(molecule, saved, "a TREXIO file");
  TrexioData out;
  std::vector<std::int64_t> ours;
  add_nuclei(molecule, out);
  add_basis(molecule, out, ours);
  add_potentials(molecule, out);
  out.description = molecule.basis_name;
  out.mo_type = all.size() == 2 ? "UHF" : "RHF";
  const bool energies = std::all_of(all.begin(), all.end(), [](const SavedOrbitals& o) { return o.has_energies(); });
  for (const SavedOrbitals& o : all)
    for (std::int64_t p = 0; p < o.number(); ++p) {
      double largest = 0.0;
      for (const std::int64_t k : ours) largest = std::max(largest, std::abs(o.coefficient(k, p)));
      if (largest == 0.0) continue;
      for (const std::int64_t k : ours) out.mo_coefficient.push_back(o.coefficient(k, p));
      if (energies) out.mo_energy.push_back(o.energy(p));
      out.mo_occupation.push_back(o.occupation_of(p));
      out.mo_spin.push_back(o.is_beta ? 1 : 0);
      out.mo_class.emplace_back(p < molecule.frozen_core ? "Core" : p < o.occupied ? "Inactive" : "Virtual");
    }
  return out;
}

Molecule trexio_molecule(const TrexioData& data, const std::string& path) {
  Molecule m;
  m.basis_name = fmt::format("the basis set of {}", path);
  if (data.nucleus_charge.empty()) fail(path, "has no nuclei", "it lacks the group `nucleus`");
  if (data.shell_l.empty()) fail(path, "has no basis set", "it lacks the group `basis`");
  m.atoms = atoms_of(data, path);
  m.shells = shells_of(data, path);
  m.ecps = potentials_of(data, path);
  std::int32_t nuclei = 0;
  for (const Atom& a : m.atoms) nuclei += a.charge;
  if (data.up && data.down) {
    if (*data.down > *data.up)
      fail(path, fmt::format("has {} electrons of spin up and {} of spin down", *data.up, *data.down),
           "here as many are up as down, or more");
    m.charge = nuclei - *data.up - *data.down;
    m.multiplicity = *data.up - *data.down + 1;
  } else if (data.electrons) {
    m.charge = nuclei - *data.electrons;
  }
  return m;
}

}  // namespace sial
