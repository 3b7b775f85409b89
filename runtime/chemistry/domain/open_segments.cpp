// Segments that a job leaves to us: those of an earlier run, and the ranges of which others may be chosen.

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/chemistry/domain/chemistry_domain.h"
#include "runtime/chemistry/molecule/chemistry.h"
#include "runtime/chemistry/molecule/hamiltonian.h"
#include "runtime/chemistry/molecule/molecule.h"
#include "runtime/core/job/segments.h"
#include "runtime/core/model/earlier_results.h"

namespace sial {
namespace {

using Sizes = std::vector<std::int32_t>;

/// Where segments of the elements `first` + 1 .. `last` end.
Sizes ends_within(const Sizes& sizes, std::int32_t first, std::int32_t last) {
  Sizes ends;
  std::int32_t end = 0;
  for (const std::int32_t size : sizes)
    if (end += size; first < end && end <= last) ends.push_back(end);
  return ends;
}

/// Whether the job leaves a part of a kind to us, and the earlier segments agree with the other where it is stated.
bool can_follow(const Job& job, const std::string& kind, const Sizes& now, const Sizes& earlier) {
  if (!is_automatic(job, kind)) return false;
  if (kind == "ao" || kind == "la") return true;
  const Chemistry& c = chemistry(job.data);
  const auto [n_alpha, n_beta] = electron_counts(c.hamiltonian ? orbitals_as_functions(*c.hamiltonian) : c.molecule);
  const bool beta = kind == "mob";
  // A closed shell's beta orbitals are cut as its alpha ones, unless something is stated about them.
  const auto stated = [&](const std::string& key) {
    return ((!beta || n_alpha == n_beta) && !is_automatic(job, key)) || (beta && !is_automatic(job, "beta_" + key));
  };
  const std::int32_t n = all_elements(now), occupied = beta ? n_beta : n_alpha;
  const bool occ = stated("occ"), virt = stated("virt");
  return !(occ && virt) && (!occ || ends_within(now, 0, occupied) == ends_within(earlier, 0, occupied)) &&
         (!virt || ends_within(now, occupied, n) == ends_within(earlier, occupied, n));
}

std::int32_t value(const Job& job, const char* name) {
  const auto found = job.data.ints.find(name);
  return found == job.data.ints.end() ? 0 : found->second;
}

std::int32_t largest_segment(const Job& job, IndexKind kind, std::int32_t first, std::int32_t last) {
  const auto found = job.data.segments.find(kind);
  std::int32_t size = 0;
  for (std::int32_t s = std::max(first, 1);
       found != job.data.segments.end() && s <= std::min(last, static_cast<std::int32_t>(found->second.size())); ++s)
    size = std::max(size, found->second[static_cast<std::size_t>(s) - 1]);
  return size;
}

}  // namespace

std::vector<AutomaticRange> ChemistryDomain::automatic_ranges(const Job& job) const {
  std::vector<AutomaticRange> ranges;
  if (!chemistry(job.data).has_molecule || job.legacy) return ranges;
  const auto add = [&](const char* key, const char* what, std::int32_t elements, std::int32_t usual) {
    if (elements > 0 && usual > 0 && is_automatic(job, key)) ranges.push_back({key, what, elements, usual, usual / 2});
  };
  if (is_automatic(job, "moa") && is_automatic(job, "mo")) {
    add("virt", "virtual orbitals", value(job, "eavirtorb") - value(job, "bavirtorb") + 1,
        largest_segment(job, IndexKind::moa, value(job, "bavirt"), value(job, "eavirt")));
    add("occ", "occupied orbitals", value(job, "eaoccorb") - value(job, "baoccorb") + 1,
        largest_segment(job, IndexKind::moa, value(job, "baocc"), value(job, "eaocc")));
  }
  add("ao", "basis functions", chemistry(job.data).molecule.n_basis(),
      largest_segment(job, IndexKind::ao, 1, value(job, "norb")));
  return ranges;
}

std::vector<std::string> ChemistryDomain::earlier_segments(const Job& job, const NamedSegments& earlier) const {
  if ((!chemistry(job.data).has_molecule && !chemistry(job.data).hamiltonian) || job.legacy) return {};
  std::vector<std::string> options;
  for (const auto& [kind, sizes] : named_segments(job.data)) {
    const auto found = earlier.find(kind);
    if (found == earlier.end() || all_elements(found->second) != all_elements(sizes) ||
        !can_follow(job, kind, sizes, found->second))
      continue;
    options.push_back(fmt::format("{}={}", kind, fmt::join(found->second, ",")));
  }
  try {
    Job cut = job;
    for (const std::string& option : options) apply_segments(cut, option);
  } catch (const SialError&) { return {}; }
  return options;
}

}  // namespace sial
