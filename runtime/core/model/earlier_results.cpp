#include "runtime/core/model/earlier_results.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/core/bytecode/layout.h"
#include "runtime/core/interp/context/bind.h"
#include "runtime/core/job/domain.h"

namespace sial {

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

std::vector<std::string> restored_segments(const Job& job) {
  return job.restore_files.empty()
             ? std::vector<std::string>()
             : domain().earlier_segments(job, ResultsReader(job.restore_files.front()).segments());
}

std::string earlier_segments_line(const std::vector<std::string>& options, const std::string& source) {
  std::vector<std::string> kinds;
  for (const std::string& option : options) kinds.push_back(option.substr(0, option.find('=')));
  return fmt::format("segments {} = auto: those of {}", fmt::join(kinds, ", "), source);
}

}  // namespace sial
