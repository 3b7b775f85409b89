#pragma once
// The job of a run.json for the report: finds the modules of its programs, or compiles them again from sources with the
// hash that the run names, and asks the cost model of the kernels about orders of indices.

#include <string>
#include <vector>

#include "compiler/report/advice/advice.h"

namespace sial {

/// `given`: a module that the user named, empty for none. Sources and modules are searched where the run says they
/// were, beside run.json and the module, and in the folders; sources kept in run.json need no file. What is not found
/// leaves its reason in the program.
report::Job load_job(const std::string& run_json, const std::string& given, const std::vector<std::string>& folders);

/// Advice for the whole job; proposals are compiled before they are made.
report::JobAdvice advise(const report::Job& job);

}  // namespace sial
