#pragma once
// The analyses as text, for `--emit=intent|ranges|access|cost`: one line per fact, in program order, procedures first.
// With a job the numbers of that job stand beside the expressions.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/analysis/bound.h"

namespace sial::analysis {

/// Their names for `--emit`.
inline constexpr std::string_view fact_kinds[] = {"intent", "ranges", "access", "cost"};

std::string intent_text(const ir::Program& program);
std::string ranges_text(const ir::Program& program, const std::optional<Job>& job);
std::string access_text(const ir::Program& program);
std::string cost_text(const ir::Program& program, const std::optional<Job>& job);

/// One of the above by its name.
std::string facts_text(const ir::Program& program, std::string_view kind, const std::optional<Job>& job);

/// From `name=value` and `kind=extent,extent,...` as sialrun takes them. Throws SialError for words it cannot read.
Job job_of(const std::vector<std::string>& values, const std::vector<std::string>& segments);

}  // namespace sial::analysis
