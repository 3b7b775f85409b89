#include "runtime/program/job/describe.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/core/base/bytes.h"
#include "runtime/core/bytecode/layout.h"
#include "runtime/core/job/domain.h"

namespace sial {
std::string describe_job(const Job& job, const std::vector<std::string>& folders) {
  const JobData& data = job.data;
  std::string out = job.file.empty() ? "" : fmt::format("{}\n", job.file);
  const Domain::Description about = domain().describe(job, folders);
  out += about.system;
  out +=
      job.segment_choices.empty()
          ? "segments\n"
          : fmt::format(
                "segments (automatic ones for {} rank{}, {} each; where programs run long, other ones are chosen by their time: `--dry-run` prints which)\n",
                job.ranks, job.ranks == 1 ? "" : "s", bytes_text(static_cast<std::int64_t>(job.memory_per_rank)));
  for (const auto& [kind, sizes] : data.segments)
    out +=
        fmt::format("  {:6} {} elements in {}: {}\n", kind_name(kind),
                    std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}), sizes.size(), fmt::join(sizes, " "));
  out += "programs\n" + about.programs;
  for (const std::string& name : job.programs) out += fmt::format("  {}\n", name);
  out += "ints\n";
  for (const auto& [name, value] : data.ints) out += fmt::format("  {} = {}\n", name, value);
  out += "scalars\n";
  for (const auto& [name, value] : data.scalars) out += fmt::format("  {} = {}\n", name, value);
  if (!data.arrays.empty() || !data.int_arrays.empty()) out += "arrays\n";
  for (const auto& [name, a] : data.arrays) out += fmt::format("  {}({})\n", name, fmt::join(a.extents, ","));
  for (const auto& [name, a] : data.int_arrays)
    out += fmt::format("  {}({}) integers\n", name, fmt::join(a.extents, ","));
  return out + about.settings;
}

}  // namespace sial
