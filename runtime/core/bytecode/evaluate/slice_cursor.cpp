// Carries slices out: control flow and arithmetic are the interpreter's (evaluate/), without the messages.
#include <algorithm>

#include "runtime/core/bytecode/evaluate/arithmetic.h"
#include "runtime/core/bytecode/evaluate/slice.h"

namespace sial {

SliceCursor::SliceCursor(const BoundSlice& slice)
    : slice_(&slice),
      ints_(slice.ints_.size()),
      indices_(slice.indices_.size()),
      scalars_(slice.scalars_.size()),
      calls_(static_cast<std::size_t>(slice.n_procs_)) {}

void SliceCursor::load(std::span<const std::int32_t> ints, std::span<const double> scalars,
                       std::span<const std::int32_t> index_values) {
  const auto copy = [](auto& to, const auto& from, const std::vector<std::int32_t>& rows) {
    for (std::size_t i = 0; i < rows.size(); ++i) to[i] = from[static_cast<std::size_t>(rows[i])];
  };
  copy(ints_, ints, slice_->ints_);
  copy(scalars_, scalars, slice_->scalars_);
  copy(indices_, index_values, slice_->indices_);
  calls_depth_ = 0;
  state_ = State::idle;
}

void SliceCursor::begin() { begin_at(slice_->loops_.front().lo[0]); }

void SliceCursor::begin_at(std::int32_t first) {
  const BoundSlice::Range& root = slice_->loops_.front();
  calls_depth_ = 0;
  if (slice_->empty_ || !root.usable || first < root.lo[0] || first > root.hi[0]) {
    state_ = State::ended;
    return;
  }
  value(root.slots[0]) = first;
  at_ = root.positions.first;
  state_ = State::running;
}

bool SliceCursor::enter(std::span<const std::int32_t> tuple) {
  if (state_ == State::ended) return false;
  const BoundSlice::Range& root = slice_->loops_.front();
  if (slice_->empty_ || !root.usable) {
    state_ = State::ended;
    return false;
  }
  for (std::int32_t k = 0; k < root.n; ++k) value(root.slots[k]) = tuple[static_cast<std::size_t>(k)];
  calls_depth_ = 0;
  at_ = root.positions.first;
  std::int64_t budget = INT64_MAX;  // where clauses have no loops
  if (run(nullptr, budget) != SliceOutcome::done) return false;
  state_ = at_ == root.positions.next ? State::idle : State::running;
  return state_ == State::running;
}

SliceOutcome SliceCursor::next(FetchRequest& request, std::int64_t& budget) {
  const BoundSlice::Range& root = slice_->loops_.front();
  for (;;) {
    if (state_ == State::ended) return SliceOutcome::ended;
    if (state_ == State::idle) return SliceOutcome::done;
    if (state_ == State::running) {
      const SliceOutcome outcome = run(&request, budget);
      if (outcome == SliceOutcome::abandoned) {
        calls_depth_ = 0;
        state_ = slice_->parallel_ ? State::idle : State::skip_iteration;
      }
      if (outcome != SliceOutcome::done) return outcome;
    }
    // The iteration is over.
    if (slice_->parallel_) {
      state_ = State::idle;
      return SliceOutcome::done;
    }
    std::int32_t& v = value(root.slots[0]);
    if (v >= root.hi[0]) {
      state_ = State::ended;
      return SliceOutcome::done;
    }
    ++v;
    at_ = root.positions.first;
    state_ = State::running;
  }
}

/// The cursor as evaluate_control() sees it: positions of steps, indices without frames of their loops.
struct SliceCursor::Flow {
  SliceCursor& c;

  std::int32_t condition(std::int32_t reg) const { return c.ints_[static_cast<std::size_t>(reg)]; }
  void undecided(const BoundSlice::Step&) {}
  bool taken(Opcode) const { return true; }
  std::int32_t position() const { return c.at_; }
  void go_to(std::int32_t position) { c.at_ = position; }
  const BoundSlice::Range& range(std::int32_t loop) const { return c.slice_->loops_[static_cast<std::size_t>(loop)]; }
  LoopPositions loop(std::int32_t id) const { return range(id).positions; }
  bool open_loop(std::int32_t id) {
    const BoundSlice::Range& r = range(id);
    if (r.lo[0] > r.hi[0]) return false;
    c.value(r.slots[0]) = r.lo[0];
    return true;
  }
  bool next_iteration(std::int32_t id) {
    const BoundSlice::Range& r = range(id);
    std::int32_t& v = c.value(r.slots[0]);
    return v < r.hi[0] && (++v, true);
  }
  void close_loop() {}
  std::size_t open_loops() const { return 0; }
  void filtered(std::int32_t) {}
  bool may_call(std::int32_t) const { return true; }
  std::int32_t entry(std::int32_t position) const { return position; }
  void push_call(CallFrame frame) { c.calls_[static_cast<std::size_t>(c.calls_depth_++)] = frame.return_pc; }
  CallFrame pop_call() { return {c.calls_[static_cast<std::size_t>(--c.calls_depth_)], 0}; }
};

/// Whether the slice's own loop ends with this step, or the cursor has to give up at it.
std::optional<SliceOutcome> SliceCursor::leaves(const BoundSlice::Step& s) {
  if (s.action == SliceAction::stop) return end();
  if (s.action == SliceAction::abandon) return SliceOutcome::abandoned;
  switch (s.op) {
    case Opcode::do_begin:
    case Opcode::sub_begin: {
      const BoundSlice::Range& r = slice_->loops_[static_cast<std::size_t>(s.a)];
      if (r.lo[0] <= r.hi[0] && !r.usable) return end();
      break;
    }
    case Opcode::do_next:
    case Opcode::sub_next:
    case Opcode::pardo_next:
      if (s.a == 0) return SliceOutcome::done;
      break;
    case Opcode::exit_loop:
      if (s.a == 0) return end();
      break;
    case Opcode::ret:
      if (calls_depth_ == 0) return end();
      break;
    default: break;
  }
  return {};
}

/// Without a request: up to the body of the slice's loop, or to its end when a where clause says no. With one: up to
/// the next get or put, or the end of the iteration.
SliceOutcome SliceCursor::run(FetchRequest* request, std::int64_t& budget) {
  Flow flow{*this};
  for (; budget > 0; --budget) {
    const BoundSlice::Step& s = slice_->steps_[static_cast<std::size_t>(at_)];
    if (const auto outcome = leaves(s)) return *outcome;
    ++at_;
    if (s.action == SliceAction::fetch || s.action == SliceAction::put) {
      const BoundSlice::Reference& r = slice_->references_[static_cast<std::size_t>(s.a)];
      request->pc = s.pc;
      request->array = r.array;
      request->use = s.use;
      if (!locate(r, request->block)) return end();
      --budget;
      return SliceOutcome::fetch;
    }
    if (evaluate_control(s.op, s, flow)) continue;
    if (s.op == Opcode::body_begin) {
      if (request || s.a != 0) continue;
      --at_;
      return SliceOutcome::done;
    }
    if (!arithmetic(s)) return end();
  }
  return SliceOutcome::paused;
}

bool SliceCursor::locate(const BoundSlice::Reference& r, BlockIndex& block) const {
  block.rank = r.rank;
  for (std::size_t d = 0; d < static_cast<std::size_t>(r.rank); ++d) {
    const BoundSlice::Entry& e = r.entry[d];
    std::int32_t segment = value(e.slot);
    if (e.combined) segment = value(e.parent) * subsegments_per_segment + segment - 1;
    if (segment < e.lo || segment > e.hi || !r.usable) return false;
    block.segment[d] = segment;
  }
  std::fill(block.segment.begin() + r.rank, block.segment.end(), 0);
  return true;
}

/// The cursor's registers as evaluate_registers() sees them.
struct SliceCursor::Values {
  SliceCursor& c;

  std::int32_t integer(std::int32_t reg) const { return c.ints_[static_cast<std::size_t>(reg)]; }
  double scalar(std::int32_t reg) const { return c.scalars_[static_cast<std::size_t>(reg)]; }
  std::int32_t index(std::int32_t slot) const { return c.value(slot); }
  double constant(std::int32_t real) const { return c.slice_->module_->reals[static_cast<std::size_t>(real)]; }
  void set_int(std::int32_t reg, std::int32_t value) { c.ints_[static_cast<std::size_t>(reg)] = value; }
  void set_scalar(std::int32_t reg, double value) { c.scalars_[static_cast<std::size_t>(reg)] = value; }
};

/// False where the interpreter stops with an error.
bool SliceCursor::arithmetic(const BoundSlice::Step& s) {
  if (s.op == Opcode::real_element) return element(s);
  return is_register_arithmetic(s.op) && evaluate_registers(s.op, s, Values{*this}) == ArithmeticError::none;
}

bool SliceCursor::element(const BoundSlice::Step& s) {
  const BoundSlice::Reference& r = slice_->references_[static_cast<std::size_t>(s.b)];
  BlockIndex block;
  if (r.data == nullptr || !locate(r, block)) return false;
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < static_cast<std::size_t>(r.rank); ++d)
    offset += (block.segment[d] - r.entry[d].lo) * r.entry[d].stride;
  scalars_[static_cast<std::size_t>(s.a)] = r.data[offset];
  return true;
}

}  // namespace sial
