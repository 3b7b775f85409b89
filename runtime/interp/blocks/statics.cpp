#include "runtime/interp/blocks/statics.h"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/checkpoint/record_file.h"
#include "runtime/interp/job/checkpoint_records.h"

namespace sial {

Statics::Statics(const RunContext& context, const DeviceExecution& device, BlockMemory& memory)
    : context_(context), device_(device), memory_(memory), data_(context.module.arrays.size(), nullptr) {}

void Statics::make_used(Statement here) {
  const BoundProgram& bound = context_.bound;
  for (std::size_t a = 0; a < data_.size(); ++a)
    if (context_.module.arrays[a].kind == ArrayKind::static_ && bound.array_used[a] && bound.arrays[a].problem.empty())
      data(static_cast<std::int32_t>(a), here);
}

double* Statics::make(std::int32_t id, Statement here) {
  const BoundArray& array = context_.bound.arrays[id];
  context_.require_usable(array, here);
  const JobData& job = context_.env.job;
  const std::int64_t n = array.whole.size();
  double* data = memory_.allocate_for(id, n);
  std::fill_n(data, n, 0.0);
  data_[id] = data;
  if (!array.predefined) return data;
  const auto found = job.arrays.find(array.name);
  if (found == job.arrays.end() || (job.empty_means_none && found->second.data.empty() && n > 0)) {
    context_.warn(
        fmt::format("program `{}`: the job gives no data for the predefined static array `{}`; it starts as zeros",
                    context_.module.program, array.name));
    return data;
  }
  require_same_extents(array, found->second, here);
  std::copy(found->second.data.begin(), found->second.data.end(), data);
  return data;
}

/// Trailing extents of 1 do not matter: legacy files pad their arrays to rank 6.
void Statics::require_same_extents(const BoundArray& array, const DataArray& data, Statement here) const {
  const std::vector<std::int64_t>& given = data.extents;
  bool agree = true;
  for (std::size_t d = 0; d < std::max<std::size_t>(given.size(), array.rank); ++d)
    agree &=
        (d < given.size() ? given[d] : 1) == (d < static_cast<std::size_t>(array.rank) ? array.whole.extent[d] : 1);
  if (agree && static_cast<std::int64_t>(data.data.size()) == array.whole.size()) return;
  const std::vector<std::int64_t> declared(array.whole.extent.begin(), array.whole.extent.begin() + array.rank);
  context_.fail(
      here,
      fmt::format(
          "the job's data for the predefined static array `{}` have extents ({}), and the program declares ({})",
          array.name, fmt::join(given, ","), fmt::join(declared, ",")),
      "check the segment extents against the data");
}

double* Statics::whole(std::int32_t array, Intent intent, Statement here) {
  double* whole = data(array, here);
  device_.buffer_on_host(whole, size(array), intent, here);
  return whole;
}

const double* Statics::table(std::int32_t array, Statement here) const {
  if (data_[array]) device_.buffer_on_host(data_[array], size(array), Intent::read, here);
  return data_[array];
}

void Statics::all_on_host(Statement here) const {
  for (std::size_t a = 0; a < data_.size(); ++a)
    if (data_[a]) device_.buffer_on_host(data_[a], size(a), Intent::read, here);
}

DataArray Statics::contents(std::int32_t id) const {
  DataArray result;
  const BoundArray& array = context_.bound.arrays[id];
  result.extents.assign(array.whole.extent.begin(), array.whole.extent.begin() + array.rank);
  if (data_[id]) result.data.assign(data_[id], data_[id] + array.whole.size());
  return result;
}

void Statics::write(std::int32_t array, RecordWriter& writer) const {
  if (!data_[array]) return;
  Packer head;
  head.value(array);
  writer.record(record_static, head, {data_[array], static_cast<std::size_t>(size(array))});
}

void Statics::read(std::int32_t array, const RecordReader& reader, Statement here) {
  const std::span<const double> saved = reader.data();
  if (context_.module.arrays[array].kind != ArrayKind::static_ || size(array) != std::ssize(saved))
    reader.fail_damaged("does not fit the program");
  std::copy(saved.begin(), saved.end(), data(array, here));
}

void Statics::release_all() noexcept {
  for (std::size_t a = 0; a < data_.size(); ++a)
    if (data_[a]) memory_.release(data_[a], size(a));
}

}  // namespace sial
