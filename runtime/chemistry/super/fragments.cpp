#include "runtime/chemistry/super/fragments.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "runtime/chemistry/basis/ecp.h"
#include "runtime/chemistry/molecule/chemistry.h"
#include "runtime/core/base/error.h"
#include "runtime/core/super/bodies.h"

namespace sial {
namespace {

struct RangeNames {
  FragmentRange range;
  const char *array, *early_name;
  IndexKind kind;
  const char *first, *last;
};

constexpr RangeNames range_names[] = {
    {FragmentRange::ao, "w_frag_ao", nullptr, IndexKind::ao, nullptr, nullptr},
    {FragmentRange::alpha_occupied, "w_frag_aocc", "w_frag_occa", IndexKind::moa, "baocc", "eaocc"},
    {FragmentRange::alpha_virtual, "w_frag_avirt", "w_frag_virta", IndexKind::moa, "bavirt", "eavirt"},
    {FragmentRange::beta_occupied, "w_frag_bocc", "w_frag_occb", IndexKind::mob, "bbocc", "ebocc"},
    {FragmentRange::beta_virtual, "w_frag_bvirt", "w_frag_virtb", IndexKind::mob, "bbvirt", "ebvirt"}};

const RangeNames& names_of(FragmentRange range) {
  return *std::find_if(std::begin(range_names), std::end(range_names),
                       [&](const RangeNames& n) { return n.range == range; });
}

std::vector<FragmentRange> ranges_of(IndexKind kind) {
  using enum FragmentRange;
  if (kind == IndexKind::moa || kind == IndexKind::mo) return {alpha_occupied, alpha_virtual};
  if (kind == IndexKind::mob) return {beta_occupied, beta_virtual};
  return {ao};
}

const std::vector<std::int32_t>& table(const JobData& job, IndexKind kind) {
  static const std::vector<std::int32_t> none;
  auto it = job.segments.find(kind);
  return it == job.segments.end() ? none : it->second;
}

}  // namespace

Fragments::Fragments(SuperContext& context) : job_(context.job()) {
  const Molecule& molecule = require_molecule(context.job());
  auto it = job_.ints.find("nfrags");
  if (it == job_.ints.end() || it->second < 1)
    throw SialError("this job has no fragments",
                    "its int `nfrags` must be their number, and its integer arrays `w_frag_ao`, ... their owners");
  count_ = it->second;
  if (const auto* given = array("w_frag_atom")) {
    if (given->size() != molecule.atoms.size())
      throw SialError(fmt::format("`w_frag_atom` has {} entries, and the molecule has {} atoms", given->size(),
                                  molecule.atoms.size()));
    atom_owners_ = *given;
    return;
  }
  atom_owners_.assign(molecule.atoms.size(), 0);
  const std::vector<std::int32_t>& sizes = table(job_, IndexKind::ao);
  const std::vector<std::int32_t> segment_owners = owners(FragmentRange::ao).list;
  std::size_t segment = 0;
  std::int64_t end = sizes.empty() ? 0 : sizes[0], function = 0;
  for (const Shell& s : molecule.shells) {
    while (segment + 1 < sizes.size() && function >= end) end += sizes[++segment];
    const std::int32_t here = segment_owners.at(segment);
    std::int32_t& known = atom_owners_[s.atom];
    if (known != 0 && known != here)
      throw SialError(
          fmt::format("the functions of atom {} lie in segments of fragments {} and {}", s.atom + 1, known, here),
          "an atom belongs to one fragment");
    known = here;
    function += s.n_functions();
  }
  for (std::size_t a = 0; a < atom_owners_.size(); ++a)
    if (atom_owners_[a] == 0)
      throw SialError(fmt::format("atom {} has no functions, so its fragment is unknown", a + 1),
                      "the integer array `w_frag_atom` names the fragment of each atom");
}

const std::vector<std::int32_t>* Fragments::array(const std::string& name) const {
  auto it = job_.int_arrays.find(name);
  if (it == job_.int_arrays.end()) return nullptr;
  for (std::int32_t owner : it->second.data)
    if (owner < 1 || owner > count_)
      throw SialError(fmt::format("`{}` names fragment {}, and the job has {} (`nfrags`)", name, owner, count_));
  return &it->second.data;
}

std::int32_t Fragments::required_int(const char* name) const {
  auto it = job_.ints.find(name);
  if (it == job_.ints.end()) throw SialError(fmt::format("the job has no int `{}`", name));
  return it->second;
}

std::int32_t Fragments::number(const SuperArg& arg, int position) const {
  const double value = *arg.data;
  if (value != std::floor(value) || value < 1 || value > count_)
    throw SialError(
        fmt::format("{} is {}, and the job's fragments are 1 to {}", describe(arg, position), value, count_));
  return static_cast<std::int32_t>(value);
}

bool Fragments::has_owners(const JobData& job, FragmentRange range) {
  const RangeNames& names = names_of(range);
  return job.int_arrays.count(names.array) != 0 || (names.early_name && job.int_arrays.count(names.early_name) != 0);
}

Fragments::Owners Fragments::owners(FragmentRange range) const {
  const RangeNames& names = names_of(range);
  const auto* found = array(names.array);
  std::string name = names.array;
  if (const auto* early = names.early_name ? array(names.early_name) : nullptr) {
    if (found && *found != *early)
      throw SialError(fmt::format("`{}` and `{}` name different fragments", names.array, names.early_name),
                      fmt::format("both say whose the segments are: leave out `{}`", names.early_name));
    if (!found) name = names.early_name;
    found = early;
  }
  if (!found)
    throw SialError(fmt::format("the job has no integer array `{}`", names.array),
                    "it names the fragment of each segment");
  const std::int64_t all = std::ssize(table(job_, names.kind)), entries = std::ssize(*found);
  if (!names.first) {
    if (entries != all)
      throw SialError(fmt::format("`{}` has {} entries, and there are {} segments", name, entries, all),
                      "it names the fragment of each segment");
    return {1, *found};
  }
  const std::int32_t first = required_int(names.first), last = required_int(names.last);
  const bool occupied = range == FragmentRange::alpha_occupied || range == FragmentRange::beta_occupied;
  const std::int32_t from = occupied ? 1 : first;  // longer arrays name the fragments of frozen orbitals as well
  if (entries == all && first >= 1 && last <= all)
    return {from, std::vector<std::int32_t>(found->begin() + (from - 1), found->begin() + std::max(from - 1, last))};
  if (occupied && entries == last) return {1, *found};
  if (entries != std::max(0, last - first + 1))
    throw SialError(fmt::format("`{}` has {} entries, and `{}` to `{}` are segments {} to {} of {}", name, entries,
                                names.first, names.last, first, last, all),
                    "it names the fragment of each segment");
  return {first, *found};
}

Fragments::Owners Fragments::owners_with_frozen(FragmentRange range) const {
  Owners result = owners(range);
  if (const bool occupied = range == FragmentRange::alpha_occupied || range == FragmentRange::beta_occupied;
      occupied && result.first > 1)
    throw SialError(fmt::format("`{}` does not name the fragments of the frozen orbitals in segments 1 to {}",
                                names_of(range).array, result.first - 1),
                    "let it begin with segment 1");
  return result;
}

std::pair<std::int32_t, std::int32_t> Fragments::positions(FragmentRange range, std::int32_t fragment) const {
  const std::vector<std::int32_t> list = owners(range).list;
  const auto first = std::find(list.begin(), list.end(), fragment);
  if (first == list.end()) return {1, 0};
  const auto last = std::find(list.rbegin(), list.rend(), fragment).base();
  const auto other = std::find_if(first, last, [&](std::int32_t owner) { return owner != fragment; });
  const auto position = [&](auto it) { return static_cast<std::int32_t>(it - list.begin()) + 1; };
  if (other != last)
    throw SialError(
        fmt::format("`{}`: segments {} to {} are those of fragment {}, but segment {} between them is of fragment {}",
                    names_of(range).array, position(first), position(last) - 1, fragment, position(other), *other),
        "the segments of a fragment must follow each other");
  return {position(first), position(last) - 1};
}

std::vector<std::int32_t> Fragments::segments_of(IndexKind kind, std::int32_t fragment) const {
  std::vector<std::int32_t> result;
  for (FragmentRange range : ranges_of(kind)) {
    const auto [first, list] = owners_with_frozen(range);
    for (std::size_t s = 0; s < list.size(); ++s)
      if (list[s] == fragment) result.push_back(first + static_cast<std::int32_t>(s));
  }
  return result;
}

bool Fragments::own_orbitals(const JobData& job, IndexKind kind) {
  const std::vector<FragmentRange> ranges = ranges_of(kind);
  return ranges.size() == 2 &&
         std::all_of(ranges.begin(), ranges.end(), [&](FragmentRange range) { return has_owners(job, range); });
}

std::vector<std::int32_t> Fragments::orbital_owners(IndexKind kind) const {
  const std::vector<std::int32_t>& sizes = table(job_, kind);
  std::vector<std::int32_t> by_segment(sizes.size(), 0), result;
  for (FragmentRange range : ranges_of(kind)) {
    const auto [first, list] = owners(range);
    for (std::size_t s = 0; s < list.size(); ++s) by_segment.at(first + s - 1) = list[s];
  }
  for (std::size_t s = 0; s < sizes.size(); ++s) result.insert(result.end(), sizes[s], by_segment[s]);
  return result;
}

std::int64_t Fragments::functions(std::int32_t fragment) const {
  std::int64_t n = 0;
  for (const Shell& s : chemistry(job_).molecule.shells)
    if (atom_owners_[s.atom] == fragment) n += s.n_functions();
  return n;
}

Molecule Fragments::alone(std::int32_t fragment) const {
  const Molecule& whole = chemistry(job_).molecule;
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
    const auto [first, list] = owners_with_frozen(range);
    std::int32_t sum = 0;
    for (std::size_t s = 0; s < list.size(); ++s)
      if (list[s] == fragment) sum += table(job_, names.kind).at(first + s - 1);
    return sum;
  };
  if (has_owners(job_, FragmentRange::alpha_occupied)) {
    const std::int32_t alpha = extents(FragmentRange::alpha_occupied);
    return {alpha, has_owners(job_, FragmentRange::beta_occupied) ? extents(FragmentRange::beta_occupied) : alpha};
  }
  std::int32_t charge = 0;
  for (std::size_t a = 0; a < atom_owners_.size(); ++a)
    if (atom_owners_[a] == fragment) charge += static_cast<std::int32_t>(chemistry(job_).molecule.atoms[a].charge);
  return {charge - charge / 2, charge / 2};
}

}  // namespace sial
