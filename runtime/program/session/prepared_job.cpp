#include "runtime/program/session/prepared_job.h"

#include <algorithm>
#include <ostream>
#include <set>
#include <string_view>

#include "runtime/core/interp/blocks/input_arrays.h"
#include "runtime/core/job/array_source.h"
#include "runtime/core/job/domain.h"
#include "runtime/core/job/segments.h"
#include "runtime/program/session/extents.h"
#include "runtime/program/session/restart.h"

namespace sial {
namespace {

bool is_made(const std::pair<const std::string, DataArray>& array) { return static_cast<bool>(array.second.fill); }

/// Arrays that the science would make and no program declares: one may be large.
void drop_unused_arrays(JobData& data, const Programs& programs) {
  std::set<std::string_view> used;
  for (const auto& program : programs)
    for (const ArrayRow& a : program->arrays)
      if (a.predefined) used.insert(a.name);
  std::erase_if(data.arrays, [&](const auto& item) {
    return is_made(item) && !used.contains(item.first) && domain().gives_array(data, item.first);
  });
}

}  // namespace

Job& PreparedJob::own() { return own_ ? *own_ : own_.emplace(stated_); }

void PreparedJob::take_ranges() {
  if (lacks_values(job(), programs_)) take_extents(own(), programs_);
}

void PreparedJob::read_arrays_of_files() {
  if (!job().data.sources.empty()) read_whole_arrays(own().data, programs_);
}

void PreparedJob::read_arrays() {
  read_arrays_of_files();
  if (!std::ranges::any_of(job().data.arrays, is_made)) return;
  JobData& data = own().data;
  drop_unused_arrays(data, programs_);
  make_arrays(data, arrays_read_in_parts(programs_));
}

void PreparedJob::follow(const CheckpointIndex& index) {
  for (std::string& line : follow_checkpoint(index, own())) lines_.push_back(std::move(line));
}

void PreparedJob::choose(std::span<const std::string> segments, std::span<const std::string> lines) {
  for (const std::string& option : segments) apply_segments(own(), option);
  if (!job().values_of_arrays.empty()) take_extents(own(), programs_);
  lines_.insert(lines_.end(), lines.begin(), lines.end());
}

void PreparedJob::say_choices(std::ostream& err) const {
  for (const auto& lines : {job().segment_choices, lines_})
    for (const std::string& line : lines) err << line << std::endl;
}

}  // namespace sial
