#include "runtime/interp/control/pardo_run.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

namespace sial {

PardoRun::PardoRun(const RunContext& context, Registers& registers, ProgressMeter& progress)
    : context_(context),
      registers_(registers),
      progress_(progress),
      workers_(context.workers()),
      worker_(context.worker()),
      instances_(context.module.loops.size(), 0) {}

PardoMode PardoRun::mode_of(const LoopRow& row) const {
  const PardoMode mode =
      context_.options.schedule == Schedule::static_ || row.rank_dependent ? PardoMode::cyclic : PardoMode::dynamic;
  if (row.pragma < 0) return mode;
  const std::string_view pragma = context_.module.strings[row.pragma];
  if (pragma == "SequentialPardoLoop") return PardoMode::everywhere;
  if (pragma == "StaticTaskAllocParallelPardoLoop" && mode == PardoMode::cyclic) return PardoMode::cyclic_raw;
  return mode;
}

void PardoRun::open_indices(const LoopRow& row, Statement here) {
  total_ = 1;
  for (std::size_t d = 0; d < row.indices.size(); ++d) {
    const BoundIndex& index = context_.bound.indices[row.indices[d]];
    if (index.lo > index.hi)
      context_.fail(here,
                    fmt::format("the range of index `{}` is empty ({}:{}), and a pardo needs at least one iteration",
                                index.name, index.lo, index.hi),
                    "guard the pardo with an `if`, or use a `do` loop");
    if (!index.problem.empty()) context_.fail(here, index.problem, index.remedy);
    lo_[d] = index.lo;
    hi_[d] = index.hi;
    if (__builtin_mul_overflow(total_, std::int64_t{index.hi} - index.lo + 1, &total_))
      context_.fail(here, "the pardo has more iterations than can be counted in 64 bits",
                    "run some of its indices in inner do loops");
  }
  for (std::int32_t i : row.indices) registers_.open_index(i, context_.bound.indices[i].lo);
}

void PardoRun::begin(std::int32_t loop, Statement here) {
  const LoopRow& row = context_.module.loops[loop];
  if (active_) context_.fail(here, "a pardo runs inside another pardo", "make the inner loop a `do`");
  active_ = true;
  decoded_ = false;
  mode_ = mode_of(row);
  open_indices(row, here);
  loop_ = loop;
  begin_ = here;
  if (context_.env.trace) begun_ = context_.now();
  key_ = {context_.sequence, loop, context_.env.state.phase, instances_[loop]++};
  at_ = 0;
  end_ = mode_ == PardoMode::dynamic ? 0 : total_;
}

bool PardoRun::next() {
  for (;;) {
    if (at_ == end_) {
      if (mode_ != PardoMode::dynamic) return false;
      const auto chunk = context_.env.queue.draw(key_, total_);
      if (!chunk) return false;
      at_ = chunk_first_ = chunk->first;
      end_ = chunk->last;
      decoded_ = false;
      continue;
    }
    decode(at_++);
    if (progress_.due()) show_progress();
    if (mode_ == PardoMode::cyclic_raw && counter_++ % workers_ != worker_) continue;
    return true;
  }
}

/// In a dynamic pardo all ranks of the node are taken to be as far in their chunks as this one.
void PardoRun::show_progress() {
  double done = static_cast<double>(at_ - 1), total = static_cast<double>(total_);
  if (mode_ == PardoMode::dynamic) {
    const auto on_node = static_cast<double>(context_.env.transport.node_size());
    done = static_cast<double>(chunk_first_) + on_node * (done - static_cast<double>(chunk_first_));
    total *= on_node / workers_;
  }
  progress_.show(done, total);
}

void PardoRun::decode(std::int64_t tuple) {
  const LoopRow& row = context_.module.loops[loop_];
  if (decoded_) {
    for (std::size_t d = 0; d < row.indices.size(); ++d) {
      std::int32_t& value = registers_.index_slot(row.indices[d]);
      if (++value <= hi_[d]) return;
      value = lo_[d];
    }
    return;
  }
  for (std::size_t d = 0; d < row.indices.size(); ++d) {
    const std::int64_t count = std::int64_t{hi_[d]} - lo_[d] + 1;
    registers_.set_index(row.indices[d], static_cast<std::int32_t>(lo_[d] + tuple % count));
    tuple /= count;
  }
  decoded_ = true;
}

void PardoRun::end() {
  active_ = false;
  if (context_.env.trace) context_.env.trace->add(TraceKind::pardo, context_.place(begin_), begun_, context_.now());
  progress_.end_pardo();
}

void PardoRun::begin_phase() {
  std::fill(instances_.begin(), instances_.end(), 0);
  counter_ = 0;
}

PardoPosition PardoRun::position() const {
  PardoPosition position{mode_, at_, end_, counter_, workers_, worker_, {}, {}};
  position.lo = lo_;
  position.hi = hi_;
  return position;
}

}  // namespace sial
