#include "runtime/core/job/segments.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/core/bytecode/layout.h"
#include "runtime/core/job/domain.h"

namespace sial {

std::vector<std::int32_t> equal_segments(std::int32_t n, std::int32_t target) {
  if (n == 0) return {};
  const std::int32_t pieces = (n + target - 1) / target;
  std::vector<std::int32_t> sizes(static_cast<std::size_t>(pieces), n / pieces);
  for (std::int32_t i = 0; i < n % pieces; ++i) ++sizes[static_cast<std::size_t>(i)];
  return sizes;
}

bool is_automatic(const Job& job, const std::string& key) {
  const auto r = job.segment_requests.find(key);
  return r == job.segment_requests.end() || (r->second.sizes.empty() && r->second.target == 0);
}

std::string segment_options(const NamedSegments& wanted, const NamedSegments& own) {
  if (wanted == own ||
      std::any_of(own.begin(), own.end(), [&](const auto& entry) { return !wanted.contains(entry.first); }))
    return {};
  std::string options;
  for (const auto& [kind, sizes] : wanted)
    options += fmt::format("{}--segments {}={}", options.empty() ? "" : " ", kind, fmt::join(sizes, ","));
  return options;
}

void set_int(Job& job, const std::string& name, std::int32_t value) {
  if (!job.stated_values.contains(name)) job.data.ints[name] = value;
}

void derive_job_data(Job& job) {
  job.segment_choices.clear();
  if (!job.legacy) {  // everything is in the file
    for (const auto& [key, kind] : segment_kinds)
      if (const auto r = job.segment_requests.find(key); r != job.segment_requests.end() && !r->second.sizes.empty())
        job.data.segments[kind] = r->second.sizes;
    if (const auto ao = job.data.segments.find(IndexKind::ao); ao != job.data.segments.end())
      set_int(job, "norb", static_cast<std::int32_t>(ao->second.size()));
  }
  domain().derive(job);
}

}  // namespace sial
