#pragma once
// A job's numbers as the analyses take them. Private to the facts.

#include <vector>

#include "compiler/analysis/bound.h"
#include "compiler/report/model.h"

namespace sial::facts {

analysis::Job job_of(const report::JobValues& values);

/// Extents of the segments in an index's range, in order; ones for a simple index. Throws SialError if one is missing.
std::vector<std::int32_t> extents_of(const ir::Program& program, const analysis::Job& job, IndexId index);

}  // namespace sial::facts
