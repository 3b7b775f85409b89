#include "runtime/chemistry/segments/earlier_results.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/chemistry/molecule/chemistry.h"
#include "runtime/chemistry/molecule/molecule.h"
#include "runtime/chemistry/segments/segments.h"
#include "runtime/core/base/error.h"
#include "runtime/core/interp/context/bind.h"

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
  const auto [n_alpha, n_beta] = electron_counts(chemistry(job.data).molecule);
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

}  // namespace

SavedArrays saved_arrays(const Job& job) {
  SavedArrays saved;
  for (const std::string& path : job.restore_files) {
    ResultsReader reader(path);
    for (const std::string& label : reader.saved_arrays()) saved[label] = reader.layout(label);
  }
  for (const auto& [label, array] : job.saved_blocks_before) saved[label] = array->layout;
  return saved;
}

NamedSegments named_segments(const JobData& data) {
  NamedSegments segments;
  for (const auto& [kind, sizes] : data.segments) segments[kind_name(kind)] = sizes;
  return segments;
}

std::vector<std::string> earlier_segments(const Job& job, const NamedSegments& earlier) {
  if (!chemistry(job.data).has_molecule || job.legacy) return {};
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

std::vector<std::string> restored_segments(const Job& job) {
  return job.restore_files.empty() ? std::vector<std::string>()
                                   : earlier_segments(job, ResultsReader(job.restore_files.front()).segments());
}

std::string earlier_segments_line(const std::vector<std::string>& options, const std::string& source) {
  std::vector<std::string> kinds;
  for (const std::string& option : options) kinds.push_back(option.substr(0, option.find('=')));
  return fmt::format("segments {} = auto: those of {}", fmt::join(kinds, ", "), source);
}

}  // namespace sial
