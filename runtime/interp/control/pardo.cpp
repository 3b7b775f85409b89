// Parallel loops. The iteration space is numbered with the first listed index fastest. Four ways to divide it:
//   dynamic     ranks draw ranges of tuples from the work queue and filter their own with the where clauses
//   cyclic      (static schedule) every rank walks all tuples; the n-th accepted one since the barrier belongs to rank
//               n mod ranks; the counter runs on from pardo to pardo
//   cyclic_raw  as cyclic, counting tuples before the where clauses
//   everywhere  every rank executes everything

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "runtime/interp/control/slice_check.h"
#include "runtime/interp/machine.h"

namespace sial {

void Machine::begin_pardo(const LoopRow& row) {
  if (pardo_.active) fail("a pardo runs inside another pardo", "make the inner loop a `do`");
  pardo_.active = true;
  pardo_.decoded = false;
  pardo_.mode = options_.schedule == Schedule::static_ || row.rank_dependent ? PardoMode::cyclic : PardoMode::dynamic;
  if (row.pragma >= 0) {
    const std::string_view pragma = m_->strings[row.pragma];
    if (pragma == "SequentialPardoLoop") pardo_.mode = PardoMode::everywhere;
    if (pragma == "StaticTaskAllocParallelPardoLoop" && pardo_.mode == PardoMode::cyclic)
      pardo_.mode = PardoMode::cyclic_raw;
  }
  pardo_.total = 1;
  for (std::size_t d = 0; d < row.indices.size(); ++d) {
    const BoundIndex& index = bound_.indices[row.indices[d]];
    if (index.lo > index.hi)
      fail(fmt::format("the range of index `{}` is empty ({}:{}), and a pardo needs at least one iteration", index.name,
                       index.lo, index.hi),
           "guard the pardo with an `if`, or use a `do` loop");
    if (!index.problem.empty()) fail(index.problem, index.remedy);
    pardo_.lo[d] = index.lo;
    pardo_.hi[d] = index.hi;
    if (__builtin_mul_overflow(pardo_.total, std::int64_t{index.hi} - index.lo + 1, &pardo_.total))
      fail("the pardo has more iterations than can be counted in 64 bits", "run some of its indices in inner do loops");
  }
  for (std::int32_t i : row.indices) open_index(i, bound_.indices[i].lo);
}

void Machine::op_pardo_begin(const Instruction& in) {
  const LoopRow& row = m_->loops[in.a];
  begin_pardo(row);
  pardo_.loop = in.a;
  pardo_.begin_pc = at_;
  if (env_.trace) pardo_.begun = now();
  pardo_.key = {sequence_, in.a, env_.state.phase, pardo_instances_[in.a]++};
  pardo_.at = 0;
  pardo_.end = pardo_.mode == PardoMode::dynamic ? 0 : pardo_.total;
  loops_.push_back({in.a, row.indices[0], 0, 0, temps_.size()});
  if (slice_check_) slice_check_->open(in.a, calls_.size());
  if (progress_) {
    std::string names;
    for (const std::int32_t i : row.indices) names += (names.empty() ? "" : ", ") + bound_.indices[i].name;
    pardo_.begun = now();
    look_in_ = 1;
    tuples_seen_ = 1;
    progress_->begin(fmt::format("{}:{} pardo {}", m_->files.at(m_->places[at_].file), line(), names), pardo_.begun);
  }
  if (!next_tuple()) {
    pc_ = row.end;
    leave_loop();
  }
}

void Machine::op_pardo_next(const Instruction& in) {
  if (slice_check_) slice_check_->iteration_over(in.a);
  free_temps(loops_.back().temp_mark);
  if (next_tuple()) pc_ = m_->loops[in.a].begin + 1;
  else leave_loop();
}

bool Machine::next_tuple() {
  for (;;) {
    if (pardo_.at == pardo_.end) {
      if (pardo_.mode != PardoMode::dynamic) return false;
      const auto chunk = env_.queue.draw(pardo_.key, pardo_.total);
      if (!chunk) return false;
      pardo_.at = pardo_.chunk_first = chunk->first;
      pardo_.end = chunk->last;
      pardo_.decoded = false;
      continue;
    }
    decode_tuple(pardo_.at++);
    if (progress_ && --look_in_ <= 0) show_progress();
    if (pardo_.mode == PardoMode::cyclic_raw && cyclic_counter_++ % workers() != worker()) continue;
    return true;
  }
}

/// The clock is looked at some twenty times a second, however short the iterations are. In a dynamic pardo all ranks of
/// the node are taken to be as far in their chunks as this one.
void Machine::show_progress() {
  const double t = now();
  double done = static_cast<double>(pardo_.at - 1), total = static_cast<double>(pardo_.total);
  if (pardo_.mode == PardoMode::dynamic) {
    const auto on_node = static_cast<double>(env_.transport.node_size());
    done = static_cast<double>(pardo_.chunk_first) + on_node * (done - static_cast<double>(pardo_.chunk_first));
    total *= on_node / workers();
  }
  JobOutlook outlook = options_.outlook;
  for (std::size_t i = 0; i < loop_times_.size(); ++i) {
    const LoopTimes& times = loop_times_[i];
    if (times.begun < 0) continue;
    const LoopFrame& frame = loops_[i];
    const LoopRow& row = m_->loops[static_cast<std::size_t>(frame.loop)];
    const std::int32_t first = row.kind == LoopKind::sub ? 1 : bound_.indices[frame.index].lo;
    outlook.loops.push_back({m_->places[static_cast<std::size_t>(row.begin)].line, std::int64_t{frame.value} - first,
                             std::int64_t{frame.hi} - first + 1, times.begun, times.iteration_begun});
  }
  progress_->update(done / total, t, outlook);
  const double per_tuple = (t - pardo_.begun) / static_cast<double>(std::max<std::int64_t>(1, tuples_seen_));
  look_in_ = per_tuple > 0 ? std::clamp<std::int64_t>(static_cast<std::int64_t>(0.05 / per_tuple), 1,
                                                      std::max<std::int64_t>(1, tuples_seen_))
                           : 1;
  tuples_seen_ += look_in_;
}

void Machine::decode_tuple(std::int64_t tuple) {
  const LoopRow& row = m_->loops[pardo_.loop];
  if (pardo_.decoded) {
    for (std::size_t d = 0; d < row.indices.size(); ++d) {
      std::int32_t& value = index_value_[row.indices[d]];
      if (++value <= pardo_.hi[d]) return;
      value = pardo_.lo[d];
    }
    return;
  }
  for (std::size_t d = 0; d < row.indices.size(); ++d) {
    const std::int64_t count = std::int64_t{pardo_.hi[d]} - pardo_.lo[d] + 1;
    index_value_[row.indices[d]] = static_cast<std::int32_t>(pardo_.lo[d] + tuple % count);
    tuple /= count;
  }
  pardo_.decoded = true;
}

void Machine::op_body_begin(const Instruction& in) {
  if (pardo_.active && pardo_.loop == in.a) {
    if (pardo_.mode == PardoMode::cyclic && cyclic_counter_++ % workers() != worker()) {
      pc_ = m_->loops[in.a].next;
      return;
    }
    ++iterations_;
  }
  if (slice_check_) slice_check_->iteration(in.a);
  if (look_ahead_ && look_ahead_->has_slice(in.a)) look_ahead_->iteration(in.a);
}

PardoPosition Machine::pardo_position() const {
  PardoPosition position{pardo_.mode, pardo_.at, pardo_.end, cyclic_counter_, workers(), worker(), {}, {}};
  position.lo = pardo_.lo;
  position.hi = pardo_.hi;
  return position;
}

/// Whether blocks are to go into the cache before their use: where all of them together do not fit there, or look-ahead
/// is asked for by a number.
bool Machine::near_pays() const {
  if (options_.look_ahead.blocks != LookAheadDepth::automatic) return true;
  double bytes = 0;
  for (const BoundArray& array : bound_.arrays)
    if (is_remote(array.kind) && array.problem.empty()) bytes += 8.0 * static_cast<double>(array.whole.size());
  return bytes > static_cast<double>(kernels::last_level_cache_bytes());
}

/// Statics that a slice reads are not written in its loop, and stay where they are.
void Machine::make_look_ahead() {
  if (m_->slices.empty() || options_.look_ahead.blocks == 0) return;
  if (!copies_ && near_pays())
    cache_prefetch_ = std::make_unique<CachePrefetcher>(env_.store.look_ahead(), env_.store.buffers(), env_.kernels);
  if (env_.transport.node_count() == 1 && !copies_ && !cache_prefetch_) return;
  std::vector<IndexRange> ranges;
  for (const BoundIndex& i : bound_.indices) ranges.push_back({i.lo, i.hi, i.problem.empty()});
  const auto elements = [this](std::int32_t array, const BlockIndex& block) {
    std::int64_t n = 1;
    for (int d = 0; d < block.rank; ++d) n *= bound_.arrays[array].dim[d].extent_of(block.segment[d]);
    return n;
  };
  look_ahead_ = std::make_unique<LookAhead>(
      LookAhead::Program{*m_, ints_, scalars_, index_value_, std::move(ranges),
                         [this](std::int32_t array) -> const double* { return statics_[array]; }, elements,
                         [this] { return pardo_position(); },
                         [this] { return env_.queue.reserve(pardo_.key, pardo_.total); }, [this] { return now(); },
                         sequence_, env_.transport.node_count() > 1, device_prefetch_.get(), cache_prefetch_.get()},
      env_.store.look_ahead(), env_.store.monitor(), options_.look_ahead);
}

void Machine::op_section_begin(const Instruction&) {}

void Machine::op_section_end(const Instruction&) { barrier_here(); }

}  // namespace sial
