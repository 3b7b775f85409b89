#pragma once
// Inside the report: the faces of a job's advice that others begin with or contain.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "compiler/report/advice/advice.h"

namespace sial::report {

/// `program`: the one that the report is about.
std::string advice_text(const JobAdvice& advice, const std::string& program);
nlohmann::ordered_json advice_json(const JobAdvice& advice);

}  // namespace sial::report
