#include "runtime/core/interp/blocks/statics.h"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/core/checkpoint/record_file.h"
#include "runtime/core/interp/context/checkpoint_records.h"

namespace sial {

Statics::Statics(const RunContext& context, const DeviceExecution& device, BlockMemory& memory)
    : context_(context), device_(device), memory_(memory), data_(context.module.arrays.size(), nullptr) {}

void Statics::make_used(Statement here) {
  const BoundProgram& bound = context_.bound;
  for (std::size_t a = 0; a < data_.size(); ++a)
    if (context_.module.arrays[a].kind == ArrayKind::static_ && bound.array_used[a] && bound.arrays[a].problem.empty())
      data(ArrayId(a), here);
}

double* Statics::make(ArrayId id, Statement here) {
  const BoundArray& array = context_.bound.arrays[id.at()];
  context_.require_usable(array, here);
  const JobData& job = context_.env.job;
  const std::int64_t n = array.whole.size();
  double* data = memory_.allocate_for(id, n);
  if (!context_.model) std::fill_n(data, n, 0.0);
  data_[id.at()] = data;
  if (!array.predefined) return data;
  const auto found = job.arrays.find(array.name);
  if (found == job.arrays.end() || (job.empty_means_none && found->second.data.empty() && n > 0)) {
    context_.warn(
        fmt::format("program `{}`: the job gives no data for the predefined static array `{}`; it starts as zeros",
                    context_.module.program, array.name));
    return data;
  }
  require_same_extents(array, found->second, here);
  if (!context_.model) std::copy(found->second.data.begin(), found->second.data.end(), data);
  return data;
}

/// Trailing extents of 1 do not matter: legacy files pad their arrays to rank 6.
void Statics::require_same_extents(const BoundArray& array, const DataArray& data, Statement here) const {
  const std::vector<std::int64_t>& input = data.extents;
  bool agree = true;
  for (std::size_t d = 0; d < std::max<std::size_t>(input.size(), array.rank); ++d)
    agree &=
        (d < input.size() ? input[d] : 1) == (d < static_cast<std::size_t>(array.rank) ? array.whole.extent[d] : 1);
  if (agree && static_cast<std::int64_t>(data.data.size()) == array.whole.size()) return;
  const std::vector<std::int64_t> declared(array.whole.extent.begin(), array.whole.extent.begin() + array.rank);
  context_.fail(
      here,
      fmt::format(
          "the job's data for the predefined static array `{}` have extents ({}), and the program declares ({})",
          array.name, fmt::join(input, ","), fmt::join(declared, ",")),
      "check the segment extents against the data");
}

double* Statics::whole(ArrayId array, Intent intent, Statement here) {
  double* whole = data(array, here);
  device_.buffer_on_host(whole, size(array), intent, here);
  return whole;
}

const double* Statics::table(ArrayId array, Statement here) const {
  if (data_[array.at()]) device_.buffer_on_host(data_[array.at()], size(array), Intent::read, here);
  return data_[array.at()];
}

void Statics::all_on_host(Statement here) const {
  for (std::size_t a = 0; a < data_.size(); ++a)
    if (data_[a]) device_.buffer_on_host(data_[a], size(ArrayId(a)), Intent::read, here);
}

DataArray Statics::contents(ArrayId id) const {
  DataArray result;
  const BoundArray& array = context_.bound.arrays[id.at()];
  result.extents.assign(array.whole.extent.begin(), array.whole.extent.begin() + array.rank);
  if (data_[id.at()] && !context_.model) result.data.assign(data_[id.at()], data_[id.at()] + array.whole.size());
  return result;
}

void Statics::write(ArrayId array, RecordSink& sink) const {
  if (!data_[array.at()]) return;
  Packer head;
  head.value(array);
  sink.record(record_static, head, {data_[array.at()], static_cast<std::size_t>(size(array))});
}

void Statics::read(ArrayId array, std::span<const double> saved, const CheckpointFile& file, Statement here) {
  if (context_.module.arrays[array.at()].kind != ArrayKind::static_ || size(array) != std::ssize(saved))
    file.fail_damaged("does not fit the program");
  std::copy(saved.begin(), saved.end(), data(array, here));
}

void Statics::release_all() noexcept {
  for (std::size_t a = 0; a < data_.size(); ++a)
    if (data_[a]) memory_.release(data_[a], size(ArrayId(a)));
}

}  // namespace sial
