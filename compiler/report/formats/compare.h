#pragma once
// Two runs side by side: what they were, where the time went, and the counters and lines in which they differ. A plain
// value computed from two run.json files; of other options, ranks or versions.

#include <string>

#include "compiler/report/advice/reached.h"
#include "compiler/report/model.h"

namespace sial::report {

/// `b` against `a`, as text or as JSON.
std::string compare_text(const Run& a, const Run& b, const std::vector<Reached>& reached = {});
std::string compare_json(const Run& a, const Run& b, const std::vector<Reached>& reached = {});

}  // namespace sial::report
