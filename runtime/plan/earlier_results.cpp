#include "runtime/plan/earlier_results.h"

#include <algorithm>
#include <initializer_list>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/base/error.h"
#include "runtime/interp/bind.h"
#include "runtime/job/segments.h"

namespace sial {
namespace {

bool all_automatic(const Job& job, std::initializer_list<const char*> keys) {
  return std::all_of(keys.begin(), keys.end(), [&](const char* key) { return is_automatic(job, key); });
}

}  // namespace

SavedArrays saved_arrays(const Job& job) {
  SavedArrays saved;
  for (const std::string& path : job.restore_files) {
    ResultsReader reader(path);
    for (const std::string& label : reader.saved_arrays()) saved[label] = reader.layout(label);
  }
  return saved;
}

std::vector<std::string> earlier_segments(const Job& job) {
  if (job.restore_files.empty() || !job.data.has_molecule || job.legacy) return {};
  const auto earlier = ResultsReader(job.restore_files.front()).segments();
  const bool orbitals = all_automatic(job, {"mo", "moa", "mob", "occ", "virt", "beta_occ", "beta_virt"});
  std::vector<std::string> options;
  for (const auto& [kind, extents] : job.data.segments) {
    const std::string name = kind_name(kind);
    const auto found = earlier.find(name);
    const bool left_to_us = name == "ao" ? all_automatic(job, {"ao"}) : orbitals;
    if (found == earlier.end() || !left_to_us || found->second == extents || all_elements(found->second) != all_elements(extents)) continue;
    options.push_back(fmt::format("{}={}", name, fmt::join(found->second, ",")));
  }
  try {
    Job cut = job;
    for (const std::string& option : options) apply_segments(cut, option);
  } catch (const SialError&) {
    return {};
  }
  return options;
}

}  // namespace sial
