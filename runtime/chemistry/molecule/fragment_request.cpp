#include "runtime/chemistry/molecule/fragment_request.h"

#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/chemistry/molecule/chemistry.h"
#include "runtime/core/base/error.h"
#include "runtime/core/job/job.h"

namespace sial {
namespace {

using Sizes = std::vector<std::int32_t>;

/// Fragment of each atom, from 1; 0 where none is stated.
Sizes owners_of_atoms(const FragmentRequest& request, std::size_t atoms) {
  Sizes owners(atoms, 0);
  for (std::size_t f = 0; f < request.atoms.size(); ++f)
    for (std::int32_t a : request.atoms[f]) owners.at(a - 1) = static_cast<std::int32_t>(f) + 1;
  return owners;
}

std::int32_t electrons_of(const FragmentRequest& request, std::size_t f, const Molecule& molecule) {
  std::int32_t n = request.charges.empty() ? 0 : -request.charges[f];
  for (std::int32_t a : request.atoms[f]) n += molecule.atoms.at(a - 1).charge;
  return n;
}

/// The fragment of each of `count` segments from `first` (0) on, which together hold the parts.
Sizes owners_of_segments(const Sizes& sizes, std::size_t first, std::size_t count,
                         const std::vector<FragmentPart>& parts, std::string_view key, std::string_view what) {
  Sizes owners;
  std::size_t part = 0;
  std::int32_t left = 0;  // of the part
  auto next = [&] {
    while (left == 0 && part < parts.size()) left = parts[part++].count;
  };
  for (std::size_t s = first; s < first + count; ++s) {
    next();
    if (sizes.at(s) > left) {
      Sizes counts;
      for (const FragmentPart& p : parts) counts.push_back(p.count);
      throw InputError(
          fmt::format("`{}` segment {} holds {} of more than one fragment", key, s - first + 1, what),
          fmt::format("the fragments have {}: end a segment after each, or write \"auto\"", fmt::join(counts, ", ")));
    }
    left -= sizes[s];
    owners.push_back(parts[part - 1].fragment);
  }
  return owners;
}

}  // namespace

void check_fragments(const FragmentRequest& request, const Molecule& molecule) {
  const auto atoms = static_cast<std::int32_t>(molecule.atoms.size());
  std::vector<std::int32_t> seen(atoms, 0);
  for (std::size_t f = 0; f < request.atoms.size(); ++f) {
    const Sizes& list = request.atoms[f];
    if (list.empty()) throw InputError(fmt::format("fragment {} has no atoms", f + 1));
    for (std::size_t k = 0; k < list.size(); ++k) {
      if (list[k] < 1 || list[k] > atoms)
        throw InputError(
            fmt::format("fragment {} names atom {}, and the molecule has atoms 1 to {}", f + 1, list[k], atoms));
      if (std::int32_t& other = seen[list[k] - 1]; other != 0)
        throw InputError(fmt::format("atom {} is in fragments {} and {}", list[k], other, f + 1),
                         "an atom belongs to one fragment");
      else other = static_cast<std::int32_t>(f) + 1;
      if (k > 0 && list[k] != list[k - 1] + 1)
        throw InputError(fmt::format("the atoms of fragment {} do not follow each other: {} comes after {}", f + 1,
                                     list[k], list[k - 1]),
                         "order the atoms of the xyz file by fragments");
    }
  }
  for (std::int32_t a = 0; a < atoms; ++a)
    if (seen[a] == 0) throw InputError(fmt::format("atom {} is in no fragment", a + 1));
  if (!request.charges.empty() && request.charges.size() != request.atoms.size())
    throw InputError(fmt::format("`fragment_charges` lists {} charges, and there are {} fragments",
                                 request.charges.size(), request.atoms.size()));
  const std::int32_t charge = std::accumulate(request.charges.begin(), request.charges.end(), 0);
  if (charge != molecule.charge)
    throw InputError(fmt::format("the charges of the fragments add up to {}, and that of the molecule is {}", charge,
                                 molecule.charge),
                     "list the charge of every fragment: fragment_charges = [0, 1]");
  if (molecule.multiplicity != 1)
    throw InputError("fragments are for closed shells, and `multiplicity` is not 1",
                     "name the fragment of each segment under [arrays] instead: w_frag_ao, ...");
  if (molecule.frozen_core > 0)
    throw InputError("fragments and `frozen_core` do not go together",
                     "name the fragment of each segment under [arrays] instead: w_frag_ao, ...");
  for (std::size_t f = 0; f < request.atoms.size(); ++f)
    if (const std::int32_t n = electrons_of(request, f, molecule); n < 0 || n % 2 != 0)
      throw InputError(fmt::format("fragment {} has {} electrons: fragments are for closed shells", f + 1, n),
                       "state charges with fragment_charges = [...], one for each fragment");
}

FragmentParts fragment_parts(const FragmentRequest& request, const Molecule& molecule, std::int32_t occupied) {
  const std::int32_t n = molecule.n_basis();
  FragmentParts parts;
  if (request.atoms.empty()) {
    parts.functions = {{1, n}};
    parts.occupied = {{1, occupied}};
    parts.virtuals = {{1, n - occupied}};
    parts.shells = {molecule};
    return parts;
  }
  const Sizes owners = owners_of_atoms(request, molecule.atoms.size());
  Sizes functions(request.atoms.size(), 0);
  for (const Shell& s : molecule.shells) {
    const std::int32_t f = owners.at(s.atom);
    if (parts.functions.empty() || parts.functions.back().fragment != f) {
      parts.functions.push_back({f, 0});
      parts.shells.emplace_back();
    }
    parts.functions.back().count += s.n_functions();
    parts.shells.back().shells.push_back(s);
    functions[f - 1] += s.n_functions();
  }
  for (std::size_t f = 0; f < request.atoms.size(); ++f) {
    const auto number = static_cast<std::int32_t>(f) + 1;
    const std::int32_t pairs = electrons_of(request, f, molecule) / 2;
    if (pairs > functions[f])
      throw InputError(fmt::format("the {} electron pairs of fragment {} do not fit into its {} functions", pairs,
                                   number, functions[f]),
                       "use a larger basis");
    parts.occupied.push_back({number, pairs});
    parts.virtuals.push_back({number, functions[f] - pairs});
  }
  return parts;
}

void set_fragment_tables(Job& job, const FragmentParts& parts, std::int32_t alpha_occupied,
                         std::int32_t beta_occupied) {
  if (chemistry(job.data).fragments.atoms.empty()) return;
  const auto count = static_cast<std::int32_t>(chemistry(job.data).fragments.atoms.size());
  if (job.stated_values.count("nfrags") && job.data.ints["nfrags"] != count)
    throw InputError(
        fmt::format("`nfrags` is {}, and `fragments` under [molecule] lists {}", job.data.ints["nfrags"], count),
        "leave out `nfrags`");
  job.data.ints["nfrags"] = count;
  auto set = [&](const char* name, Sizes owners) {
    job.data.int_arrays[name] = {{std::ssize(owners)}, std::move(owners), "the fragments"};
  };
  set("w_frag_atom", owners_of_atoms(chemistry(job.data).fragments, chemistry(job.data).molecule.atoms.size()));
  const Sizes& ao = job.data.segments.at(IndexKind::ao);
  set("w_frag_ao", owners_of_segments(ao, 0, ao.size(), parts.functions, "ao", "functions"));
  auto orbitals = [&](IndexKind kind, std::size_t occupied, const char* occupied_name, const char* virtual_name,
                      const char* occupied_key, const char* virtual_key) {
    const Sizes& sizes = job.data.segments.at(kind);
    set(occupied_name, owners_of_segments(sizes, 0, occupied, parts.occupied, occupied_key, "orbitals"));
    set(virtual_name,
        owners_of_segments(sizes, occupied, sizes.size() - occupied, parts.virtuals, virtual_key, "orbitals"));
  };
  orbitals(IndexKind::moa, alpha_occupied, "w_frag_aocc", "w_frag_avirt", "occ", "virt");
  orbitals(IndexKind::mob, beta_occupied, "w_frag_bocc", "w_frag_bvirt", "beta_occ", "beta_virt");
}

}  // namespace sial
