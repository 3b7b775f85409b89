#pragma once
// run.json of earlier versions, in the words of the present format (5). Formats 2 and 3 differ from it in names alone;
// 4 has counters that are gone.

#include <nlohmann/json_fwd.hpp>

#include "runtime/core/base/formats.h"

namespace sial::report {

inline constexpr int oldest_format = 2, present_format = run_json_format;

/// Renames what formats 2 and 3 called otherwise; does nothing to the present format.
void use_present_names(nlohmann::ordered_json& run, int format);

}  // namespace sial::report
