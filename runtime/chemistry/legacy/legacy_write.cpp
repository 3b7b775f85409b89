// Jobs as initial data: the other half of legacy_job.h.

#include <cmath>
#include <filesystem>
#include <numbers>

#include <fmt/format.h>

#include "runtime/chemistry/basis/ecp.h"
#include "runtime/chemistry/legacy/legacy_job.h"
#include "runtime/chemistry/molecule/chemistry.h"
#include "runtime/core/base/error.h"
#include "runtime/core/base/names.h"

namespace sial {
namespace {

/// Replaces values of names the file has, appends those the user gave beside it.
template <class T>
void update_values(std::vector<std::pair<std::string, T>>& values, const std::map<std::string, T>& now,
                   const std::set<std::string>& given) {
  std::set<std::string> seen;
  for (auto& [name, value] : values) {
    const auto found = now.find(lower_case(name));
    if (found != now.end()) value = found->second;
    seen.insert(lower_case(name));
  }
  for (const auto& [name, value] : now)
    if (given.count(name) && !seen.count(name)) values.emplace_back(name, value);
}

template <class T, class Arrays>
void update_arrays(std::vector<LegacyArray<T>>& arrays, const Arrays& now) {
  for (LegacyArray<T>& a : arrays) {
    const auto& present = now.at(lower_case(a.name));
    a.dims.assign(present.extents.begin(), present.extents.end());
    a.data = present.data;
  }
}

LegacyDat updated(const Job& job) {
  LegacyDat dat = *job.legacy;
  update_values(dat.ints, job.data.ints, job.stated_values);
  update_values(dat.scalars, job.data.scalars, job.stated_values);
  std::set<IndexKind> seen;
  for (auto& [kind, sizes] : dat.segments) {
    if (const auto found = job.data.segments.find(kind); found != job.data.segments.end()) sizes = found->second;
    seen.insert(kind);
  }
  for (const auto& [kind, sizes] : job.data.segments)
    if (!seen.count(kind)) dat.segments.emplace_back(kind, sizes);
  update_arrays(dat.arrays, job.data.arrays);
  update_arrays(dat.int_arrays, job.data.int_arrays);
  return dat;
}

/// Norm of the primitive x^l exp(-a r^2).
double primitive_norm(double a, int l) {
  double odd = 1.0;
  for (int k = 2 * l - 1; k > 1; k -= 2) odd *= k;
  return std::pow(2.0 * a / std::numbers::pi, 0.75) * std::pow(4.0 * a, 0.5 * l) / std::sqrt(odd);
}

/// The shell tables that integral instructions read.
void add_basis(const Molecule& m, std::map<std::string, std::int32_t>& ints,
               std::map<std::string, std::vector<double>>& reals,
               std::map<std::string, std::vector<std::int32_t>>& integers,
               std::map<std::string, std::vector<std::int32_t>>& dims) {
  const auto natoms = static_cast<std::int32_t>(m.atoms.size());
  for (const char* name : {"alphas", "alpha_norms", "pcoeffs", "tcoords", "coords", "charge"}) reals[name];
  for (const Atom& a : m.atoms) {
    reals["charge"].push_back(a.charge);
    reals["coords"].insert(reals["coords"].end(), a.position.begin(), a.position.end());
  }
  std::int32_t functions = 0;
  for (const Shell& s : m.shells) {
    const auto n = static_cast<std::int32_t>(s.exponents.size());
    integers["atom"].push_back(s.atom + 1);
    integers["ivangmom"].push_back(s.l);
    integers["npfps"].push_back(n);
    integers["ncfps"].push_back(s.n_contractions);
    integers["ixalphas"].push_back(static_cast<std::int32_t>(reals["alphas"].size()) + 1);
    integers["ixpcoeffs"].push_back(static_cast<std::int32_t>(reals["pcoeffs"].size()) + 1);
    integers["indx_cc"].push_back(static_cast<std::int32_t>(integers["ccbeg"].size()) + 1);
    integers["end_nfps"].push_back(functions += s.n_functions());
    for (std::int32_t c = 0; c < s.n_contractions; ++c) {
      std::int32_t begin = 1, end = n;
      while (begin < n && s.coefficients[c * n + begin - 1] == 0.0) ++begin;
      while (end > begin && s.coefficients[c * n + end - 1] == 0.0) --end;
      integers["ccbeg"].push_back(begin);
      integers["ccend"].push_back(end);
    }
    for (const double a : s.exponents) {
      reals["alphas"].push_back(a);
      reals["alpha_norms"].push_back(primitive_norm(a, s.l));
    }
    reals["pcoeffs"].insert(reals["pcoeffs"].end(), s.coefficients.begin(), s.coefficients.end());
    const auto& centre = m.atoms[s.atom].position;
    reals["tcoords"].insert(reals["tcoords"].end(), centre.begin(), centre.end());
  }
  const auto nshells = static_cast<std::int32_t>(m.shells.size());
  dims["coords"] = {3, natoms};
  dims["tcoords"] = {3, nshells};
  const EcpArrays ecps = arrays_of_ecps(m);
  for (const auto& [name, values] : ecps.reals) reals[name] = values;
  for (const auto& [name, values] : ecps.integers) integers[name] = values;
  for (const auto& [name, extents] : ecps.extents) dims[name] = extents;
  ints["nalphas"] = static_cast<std::int32_t>(reals["alphas"].size());
  ints["npcoeffs"] = static_cast<std::int32_t>(reals["pcoeffs"].size());
  ints["n_c_funcs"] = static_cast<std::int32_t>(integers["ccbeg"].size());
  ints["nshells"] = ints["ntotshells"] = nshells;
  ints["natoms"] = ints["ncenters"] = natoms;
  ints["max_shells"] = std::max(nshells, 5000);
}

LegacyDat composed(const Job& job) {
  LegacyDat dat;
  for (const std::string& path : job.programs) {
    std::filesystem::path name = std::filesystem::path(path).filename();
    dat.programs.push_back(name.replace_extension(".siox").string());
  }
  std::map<std::string, std::int32_t> ints = job.data.ints;
  std::map<std::string, std::vector<double>> reals;
  std::map<std::string, std::vector<std::int32_t>> integers, dims;
  if (chemistry(job.data).has_molecule) add_basis(chemistry(job.data).molecule, ints, reals, integers, dims);
  for (auto [kind, name, cumulative] : {std::tuple{IndexKind::ao, "ao_seg_ranges", true},
                                        {IndexKind::mo, "mo_seg_ranges", false},
                                        {IndexKind::moa, "moa_seg_ranges", false},
                                        {IndexKind::mob, "mob_seg_ranges", false}}) {
    const auto found = job.data.segments.find(kind);
    if (found == job.data.segments.end()) continue;
    std::int32_t end = 0;
    for (const std::int32_t size : found->second) integers[name].push_back(cumulative ? end += size : size);
  }
  for (const auto& [name, values] : job.data.int_arrays) {
    integers[name] = values.data;
    dims[name].assign(values.extents.begin(), values.extents.end());
  }
  std::map<std::string, std::vector<std::int32_t>> real_dims = dims;
  for (const auto& [name, values] : job.data.arrays) {
    reals[name] = values.data;
    real_dims[name].assign(values.extents.begin(), values.extents.end());
  }
  dat.ints.assign(ints.begin(), ints.end());
  dat.scalars.assign(job.data.scalars.begin(), job.data.scalars.end());
  dat.segments.assign(job.data.segments.begin(), job.data.segments.end());
  const auto extents = [](const auto& table, const std::string& name, std::size_t size) {
    const auto found = table.find(name);
    return found != table.end() ? found->second : std::vector<std::int32_t>{static_cast<std::int32_t>(size)};
  };
  for (auto& [name, data] : reals) dat.arrays.push_back({name, extents(real_dims, name, data.size()), std::move(data)});
  for (auto& [name, data] : integers)
    dat.int_arrays.push_back({name, extents(dims, name, data.size()), std::move(data)});
  for (const std::string& name : dat.programs) dat.configs.push_back({name, {}});
  return dat;
}

}  // namespace

LegacyDat to_legacy_dat(const Job& job) {
  LegacyDat dat = job.legacy ? updated(job) : composed(job);
  return dat;
}

}  // namespace sial
