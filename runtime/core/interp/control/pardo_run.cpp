#include "runtime/core/interp/control/pardo_run.h"

#include <algorithm>

#include <fmt/format.h>

namespace sial {

PardoRun::PardoRun(const RunContext& context, Registers& registers, ProgressMeter& progress)
    : context_(context),
      registers_(registers),
      progress_(progress),
      orders_(context),
      workers_(context.workers()),
      worker_(context.worker()),
      worker_nodes_(context.env.transport.worker_nodes()),
      instances_(context.module.loops.size(), 0) {}

PardoMode PardoRun::mode_of(const LoopRow& row) const {
  return pardo_mode(context_.module, row,
                    {context_.options.schedule == Schedule::static_, context_.env.state.saved_agree});
}

/// Whether the loop is empty, as without virtual orbitals. It may be a mistake in the job: told once per index.
bool PardoRun::is_empty(const LoopRow& row, Statement here) {
  for (const IndexId id : row.indices) {
    const BoundIndex& index = context_.bound.indices[id.at()];
    if (index.lo <= index.hi) continue;
    if (told_empty_.insert(id).second)
      context_.warn(fmt::format("{}: the range of index `{}` is empty ({}:{}): pardos over it have no iterations",
                                context_.place_name(here), index.name, index.lo, index.hi));
    return true;
  }
  return false;
}

void PardoRun::open_indices(const LoopRow& row, Statement here) {
  space_ = {};
  for (const IndexId id : row.indices) {
    const BoundIndex& index = context_.bound.indices[id.at()];
    if (!index.problem.empty()) context_.fail(here, index.problem, index.remedy);
    if (!space_.add(index.lo, index.hi))
      context_.fail(here, "the pardo has more iterations than can be counted in 64 bits",
                    "run some of its indices in inner do loops");
  }
  for (IndexId i : row.indices) registers_.open_index(i, context_.bound.indices[i.at()].lo);
}

/// In the order that suits the memory, or in shares of the nodes that have about equal work.
void PardoRun::arrange(IterationSpace& space, PardoMode mode, std::int32_t loop) {
  if (orders_.chooses()) space.follow(orders_.of(loop));
  if (mode == PardoMode::dynamic) space.deal(worker_nodes_);
}

bool PardoRun::begin(std::int32_t loop, Statement here) {
  const LoopRow& row = context_.module.loops[loop];
  if (active_) context_.fail(here, "a pardo runs inside another pardo", "make the inner loop a `do`");
  if (is_empty(row, here)) return false;
  active_ = true;
  follow_to_ = 0;
  mode_ = mode_of(row);
  open_indices(row, here);
  arrange(space_, mode_, loop);
  loop_ = loop;
  begin_ = here;
  if (context_.env.trace) begun_ = context_.now();
  key_ = {context_.sequence, loop, context_.env.state.phase, instances_[loop]++};
  at_ = 0;
  end_ = mode_ == PardoMode::dynamic ? 0 : space_.size();
  return true;
}

bool PardoRun::next() {
  for (;;) {
    if (at_ == end_) {
      if (mode_ != PardoMode::dynamic) return false;
      const auto chunk = context_.env.queue.draw(key_, candidates());
      if (!chunk) return false;
      at_ = chunk_first_ = chunk->first;
      end_ = chunk->last;
      follow_to_ = 0;
      continue;
    }
    decode(at_++);
    if (progress_.due()) show_progress();
    if (mode_ == PardoMode::cyclic_raw && !mine()) continue;
    return true;
  }
}

/// In a dynamic pardo all ranks of the node are taken to be as far in their chunks as this one.
void PardoRun::show_progress() {
  double done = static_cast<double>(at_ - 1), total = static_cast<double>(space_.size());
  if (mode_ == PardoMode::dynamic) {
    const auto on_node = static_cast<double>(context_.env.transport.node_size());
    done = static_cast<double>(chunk_first_) + on_node * (done - static_cast<double>(chunk_first_));
    total *= on_node / workers_;
  }
  progress_.show(done, total);
}

void PardoRun::decode(std::int64_t tuple) {
  const std::vector<IndexId>& indices = context_.module.loops[loop_].indices;
  if (tuple < follow_to_) {
    space_.advance([&](std::size_t d) -> std::int32_t& { return registers_.index_slot(indices[d]); });
    return;
  }
  follow_to_ = space_.at(tuple, [&](std::size_t d, std::int32_t value) { registers_.set_index(indices[d], value); });
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

std::optional<UpcomingPardo> PardoRun::upcoming(std::int32_t loop) {
  const LoopRow& row = context_.module.loops[loop];
  const Transport& transport = context_.env.transport;
  UpcomingPardo pardo{mode_of(row), {}, workers_, worker_, transport.node_size(), transport.node_rank()};
  for (const IndexId id : row.indices) {
    const BoundIndex& index = context_.bound.indices[id.at()];
    if (index.lo > index.hi || !index.problem.empty() || !pardo.space.add(index.lo, index.hi)) return {};
  }
  arrange(pardo.space, pardo.mode, loop);
  return pardo;
}

PardoPosition PardoRun::position() const { return {mode_, at_, end_, counter_, workers_, worker_, space_}; }

}  // namespace sial
