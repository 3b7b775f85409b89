#include "runtime/super/fragments.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "runtime/base/error.h"
#include "runtime/job/ecp.h"
#include "runtime/super/bodies.h"

namespace sial {
namespace {

struct RangeNames { FragmentRange range; const char* array; IndexKind kind; const char* first; const char* last; };

constexpr RangeNames range_names[] = {{FragmentRange::ao, "w_frag_ao", IndexKind::ao, nullptr, nullptr},
                                      {FragmentRange::alpha_occupied, "w_frag_occa", IndexKind::moa, "baocc", "eaocc"},
                                      {FragmentRange::alpha_virtual, "w_frag_virta", IndexKind::moa, "bavirt", "eavirt"},
                                      {FragmentRange::beta_occupied, "w_frag_occb", IndexKind::mob, "bbocc", "ebocc"},
                                      {FragmentRange::beta_virtual, "w_frag_virtb", IndexKind::mob, "bbvirt", "ebvirt"}};

const RangeNames& names_of(FragmentRange range) {
  return *std::find_if(std::begin(range_names), std::end(range_names), [&](const RangeNames& n) { return n.range == range; });
}

const std::vector<std::int32_t>& table(const JobData& job, IndexKind kind) {
  static const std::vector<std::int32_t> none;
  auto it = job.segments.find(kind);
  return it == job.segments.end() ? none : it->second;
}

}  // namespace

Fragments::Fragments(SuperContext& context) : job_(context.job()) {
  const Molecule& molecule = require_molecule(context);
  auto it = job_.ints.find("nfrags");
  if (it == job_.ints.end() || it->second < 1) throw SialError("this job has no fragments", "its int `nfrags` must be their number, and its integer arrays `w_frag_ao`, ... their owners");
  count_ = it->second;
  if (const auto* given = array("w_frag_atom")) {
    if (given->size() != molecule.atoms.size()) throw SialError(fmt::format("`w_frag_atom` has {} entries, and the molecule has {} atoms", given->size(), molecule.atoms.size()));
    atom_owners_ = *given;
    return;
  }
  atom_owners_.assign(molecule.atoms.size(), 0);
  const std::vector<std::int32_t>& sizes = table(job_, IndexKind::ao);
  const std::vector<std::int32_t> segment_owners = owners(FragmentRange::ao).second;
  std::size_t segment = 0;
  std::int64_t end = sizes.empty() ? 0 : sizes[0], function = 0;
  for (const Shell& s : molecule.shells) {
    while (segment + 1 < sizes.size() && function >= end) end += sizes[++segment];
    const std::int32_t here = segment_owners.at(segment);
    std::int32_t& known = atom_owners_[s.atom];
    if (known != 0 && known != here) throw SialError(fmt::format("the functions of atom {} lie in segments of fragments {} and {}", s.atom + 1, known, here), "an atom belongs to one fragment");
    known = here;
    function += s.n_functions();
  }
  for (std::size_t a = 0; a < atom_owners_.size(); ++a)
    if (atom_owners_[a] == 0) throw SialError(fmt::format("atom {} has no functions, so its fragment is unknown", a + 1), "the integer array `w_frag_atom` names the fragment of each atom");
}

const std::vector<std::int32_t>* Fragments::array(const std::string& name) const {
  auto it = job_.int_arrays.find(name);
  if (it == job_.int_arrays.end()) return nullptr;
  for (std::int32_t owner : it->second.data)
    if (owner < 1 || owner > count_) throw SialError(fmt::format("`{}` names fragment {}, and the job has {} (`nfrags`)", name, owner, count_));
  return &it->second.data;
}

std::int32_t Fragments::required_int(const char* name) const {
  auto it = job_.ints.find(name);
  if (it == job_.ints.end()) throw SialError(fmt::format("the job has no int `{}`", name));
  return it->second;
}

std::int32_t Fragments::number(const SuperArg& arg, int position) const {
  const double value = *arg.data;
  if (value != std::floor(value) || value < 1 || value > count_) throw SialError(fmt::format("{} is {}, and the job's fragments are 1 to {}", describe(arg, position), value, count_));
  return static_cast<std::int32_t>(value);
}

std::pair<std::int32_t, std::vector<std::int32_t>> Fragments::owners(FragmentRange range) const {
  const RangeNames& names = names_of(range);
  const auto* found = array(names.array);
  if (!found) throw SialError(fmt::format("the job has no integer array `{}`", names.array), "it names the fragment of each segment");
  const std::int64_t all = std::ssize(table(job_, names.kind)), entries = std::ssize(*found);
  if (!names.first) {
    if (entries != all) throw SialError(fmt::format("`{}` has {} entries, and there are {} segments", names.array, entries, all));
    return {1, *found};
  }
  const std::int32_t first = required_int(names.first), last = required_int(names.last);
  if (entries == all && first >= 1 && last <= all) return {first, std::vector<std::int32_t>(found->begin() + (first - 1), found->begin() + std::max(first - 1, last))};
  if (entries != std::max(0, last - first + 1))
    throw SialError(fmt::format("`{}` has {} entries, and `{}` to `{}` are segments {} to {} of {}", names.array, entries, names.first, names.last, first, last, all));
  return {first, *found};
}

std::vector<std::int32_t> Fragments::segments_of(IndexKind kind, std::int32_t fragment) const {
  using enum FragmentRange;
  std::vector<FragmentRange> ranges{ao};
  if (kind == IndexKind::moa || kind == IndexKind::mo) ranges = {alpha_occupied, alpha_virtual};
  if (kind == IndexKind::mob) ranges = {beta_occupied, beta_virtual};
  std::vector<std::int32_t> result;
  for (FragmentRange range : ranges) {
    const auto [first, list] = owners(range);
    for (std::size_t s = 0; s < list.size(); ++s)
      if (list[s] == fragment) result.push_back(first + static_cast<std::int32_t>(s));
  }
  return result;
}

Molecule Fragments::alone(std::int32_t fragment) const {
  const Molecule& whole = job_.molecule;
  Molecule part;
  part.basis_name = whole.basis_name;
  std::vector<std::int32_t> renumbered(whole.atoms.size(), -1);
  for (std::size_t a = 0; a < whole.atoms.size(); ++a)
    if (atom_owners_[a] == fragment) {
      renumbered[a] = static_cast<std::int32_t>(part.atoms.size());
      part.atoms.push_back(whole.atoms[a]);
    }
  for (const Shell& s : whole.shells)
    if (renumbered[s.atom] >= 0) {
      part.shells.push_back(s);
      part.shells.back().atom = renumbered[s.atom];
    }
  for (Ecp& e : ecps_of_job(job_))
    if (renumbered[e.atom] >= 0) {
      e.atom = renumbered[e.atom];
      part.ecps.push_back(std::move(e));
    }
  return part;
}

std::pair<std::int32_t, std::int32_t> Fragments::electrons(std::int32_t fragment) const {
  auto extents = [&](FragmentRange range) {
    const RangeNames& names = names_of(range);
    const auto [first, list] = owners(range);
    std::int32_t sum = 0;
    for (std::size_t s = 0; s < list.size(); ++s)
      if (list[s] == fragment) sum += table(job_, names.kind).at(first + s - 1);
    return sum;
  };
  if (array("w_frag_occa")) {
    const std::int32_t alpha = extents(FragmentRange::alpha_occupied);
    return {alpha, array("w_frag_occb") ? extents(FragmentRange::beta_occupied) : alpha};
  }
  std::int32_t charge = 0;
  for (std::size_t a = 0; a < atom_owners_.size(); ++a)
    if (atom_owners_[a] == fragment) charge += static_cast<std::int32_t>(job_.molecule.atoms[a].charge);
  return {charge - charge / 2, charge / 2};
}

}  // namespace sial
