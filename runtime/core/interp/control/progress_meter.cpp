#include "runtime/core/interp/control/progress_meter.h"

#include <algorithm>

#include <fmt/format.h>

namespace sial {

void ProgressMeter::begin_pardo(const LoopRow& row, Statement here) {
  if (!context_.progress) return;
  const Module& m = context_.module;
  std::string names;
  for (const IndexId i : row.indices) names += (names.empty() ? "" : ", ") + context_.bound.indices[i.at()].name;
  pardo_begun_ = context_.now();
  look_in_ = 1;
  tuples_seen_ = 1;
  context_.progress->begin(
      fmt::format("{}:{} pardo {}", m.files.at(m.places[here.pc].file), context_.line(here), names), pardo_begun_);
}

JobOutlook ProgressMeter::outlook() const {
  const Module& m = context_.module;
  JobOutlook result = context_.options.outlook;
  for (std::size_t i = 0; i < times_.size(); ++i) {
    const LoopTimes& times = times_[i];
    if (times.begun < 0) continue;
    const LoopFrame& frame = loops_.loops()[i];
    const LoopRow& row = m.loops[static_cast<std::size_t>(frame.loop)];
    const std::int32_t first = row.kind == LoopKind::sub ? 1 : context_.bound.indices[frame.index.at()].lo;
    result.loops.push_back({m.places[static_cast<std::size_t>(row.begin)].line, std::int64_t{frame.value} - first,
                            std::int64_t{frame.hi} - first + 1, times.begun, times.iteration_begun});
  }
  return result;
}

void ProgressMeter::show(double done, double total) {
  const double t = context_.now();
  context_.progress->update(done / total, t, outlook());
  const std::int64_t seen = std::max<std::int64_t>(1, tuples_seen_);
  const double per_tuple = (t - pardo_begun_) / static_cast<double>(seen);
  look_in_ = per_tuple > 0 ? std::clamp<std::int64_t>(static_cast<std::int64_t>(0.05 / per_tuple), 1, seen) : 1;
  tuples_seen_ += look_in_;
}

void ProgressMeter::begin_serial() {
  if (!context_.progress) return;
  const double t = context_.now();
  times_.push_back({t, t});
}

void ProgressMeter::next_iteration() {
  if (context_.progress && times_.size() == loops_.depth()) times_.back().iteration_begun = context_.now();
}

}  // namespace sial
