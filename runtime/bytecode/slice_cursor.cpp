// The evaluator. Arithmetic is that of the interpreter (interp/ops_scalar.cpp), without the messages.
#include <algorithm>
#include <cmath>

#include "runtime/bytecode/compare.h"
#include "runtime/bytecode/slice.h"

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
  at_ = root.first;
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
  at_ = root.first;
  std::int64_t budget = INT64_MAX;  // where clauses have no loops
  if (run(nullptr, budget) != SliceOutcome::done) return false;
  state_ = at_ == root.next ? State::idle : State::running;
  return state_ == State::running;
}

SliceOutcome SliceCursor::next(FetchRequest& request, std::int64_t& budget) {
  const BoundSlice::Range& root = slice_->loops_.front();
  for (;;) {
    if (state_ == State::ended) return SliceOutcome::ended;
    if (state_ == State::idle) return SliceOutcome::done;
    if (state_ == State::running) {
      const SliceOutcome outcome = run(&request, budget);
      if (outcome == SliceOutcome::given_up) {
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
    at_ = root.first;
    state_ = State::running;
  }
}

/// Without a request: up to the body of the slice's loop, or to its end when a where clause says no. With one: up to
/// the next get or the end of the iteration.
SliceOutcome SliceCursor::run(FetchRequest* request, std::int64_t& budget) {
  const BoundSlice& slice = *slice_;
  for (; budget > 0; --budget) {
    const BoundSlice::Step& s = slice.steps_[static_cast<std::size_t>(at_)];
    if (s.action == SliceAction::stop) return end();
    if (s.action == SliceAction::abandon) return SliceOutcome::given_up;
    switch (s.op) {
      case Opcode::jump: at_ = s.a; break;
      case Opcode::jump_unless: at_ = ints_[static_cast<std::size_t>(s.a)] == 0 ? s.b : at_ + 1; break;
      case Opcode::do_begin:
      case Opcode::sub_begin: {
        const BoundSlice::Range& r = slice.loops_[static_cast<std::size_t>(s.a)];
        if (r.lo[0] > r.hi[0]) {
          at_ = r.after;
          break;
        }
        if (!r.usable) return end();
        value(r.slots[0]) = r.lo[0];
        at_ = r.first;
        break;
      }
      case Opcode::do_next:
      case Opcode::sub_next:
      case Opcode::pardo_next: {
        if (s.a == 0) return SliceOutcome::done;
        const BoundSlice::Range& r = slice.loops_[static_cast<std::size_t>(s.a)];
        std::int32_t& v = value(r.slots[0]);
        if (v < r.hi[0]) {
          ++v;
          at_ = r.first;
        } else {
          at_ = r.after;
        }
        break;
      }
      case Opcode::where:
        at_ = ints_[static_cast<std::size_t>(s.a)] == 0 ? slice.loops_[static_cast<std::size_t>(s.b)].next : at_ + 1;
        break;
      case Opcode::body_begin:
        if (!request && s.a == 0) return SliceOutcome::done;
        ++at_;
        break;
      case Opcode::exit_loop:
        if (s.a == 0) return end();
        at_ = slice.loops_[static_cast<std::size_t>(s.a)].after;
        break;
      case Opcode::call:
        calls_[static_cast<std::size_t>(calls_depth_++)] = at_ + 1;
        at_ = s.a;
        break;
      case Opcode::ret:
        if (calls_depth_ == 0) return end();
        at_ = calls_[static_cast<std::size_t>(--calls_depth_)];
        break;
      case Opcode::get: {
        const BoundSlice::Reference& r = slice.references_[static_cast<std::size_t>(s.a)];
        request->pc = s.pc;
        request->array = r.array;
        if (!locate(r, request->block)) return end();
        ++at_;
        --budget;
        return SliceOutcome::fetch;
      }
      default:
        if (!arithmetic(s)) return end();
        ++at_;
    }
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

/// False where the interpreter stops with an error.
bool SliceCursor::arithmetic(const BoundSlice::Step& s) {
  const auto a = static_cast<std::size_t>(s.a), b = static_cast<std::size_t>(s.b), c = static_cast<std::size_t>(s.c);
  switch (s.op) {
    case Opcode::int_const: ints_[a] = s.b; return true;
    case Opcode::int_copy: ints_[a] = ints_[b]; return true;
    case Opcode::int_index: ints_[a] = indices_[b]; return true;
    case Opcode::int_add: return !__builtin_add_overflow(ints_[b], ints_[c], &ints_[a]);
    case Opcode::int_sub: return !__builtin_sub_overflow(ints_[b], ints_[c], &ints_[a]);
    case Opcode::int_mul: return !__builtin_mul_overflow(ints_[b], ints_[c], &ints_[a]);
    case Opcode::int_div: {
      const std::int32_t x = ints_[b], y = ints_[c];
      if (y == 0 || (x == INT32_MIN && y == -1)) return false;
      ints_[a] = x / y;
      return true;
    }
    case Opcode::int_neg:
      if (ints_[b] == INT32_MIN) return false;
      ints_[a] = -ints_[b];
      return true;
    case Opcode::int_compare: ints_[a] = compare(ints_[b], ints_[c], s.d); return true;
    case Opcode::int_round: {
      const double r = std::nearbyint(scalars_[b]);
      if (!(r >= -2147483648.0 && r <= 2147483647.0)) return false;
      ints_[a] = static_cast<std::int32_t>(r);
      return true;
    }
    case Opcode::real_const: scalars_[a] = slice_->module_->reals[b]; return true;
    case Opcode::real_copy: scalars_[a] = scalars_[b]; return true;
    case Opcode::real_add: scalars_[a] = scalars_[b] + scalars_[c]; return true;
    case Opcode::real_sub: scalars_[a] = scalars_[b] - scalars_[c]; return true;
    case Opcode::real_mul: scalars_[a] = scalars_[b] * scalars_[c]; return true;
    case Opcode::real_div:
      if (scalars_[c] == 0.0) return false;
      scalars_[a] = scalars_[b] / scalars_[c];
      return true;
    case Opcode::real_pow: {
      const double x = scalars_[b], y = scalars_[c];
      if ((x < 0.0 && y != std::nearbyint(y)) || (x == 0.0 && y < 0.0)) return false;
      const double r = std::pow(x, y);
      if (std::isfinite(x) && std::isfinite(y) && !std::isfinite(r)) return false;
      scalars_[a] = r;
      return true;
    }
    case Opcode::real_neg: scalars_[a] = -scalars_[b]; return true;
    case Opcode::real_sqrt:
      if (scalars_[b] < 0.0) return false;
      scalars_[a] = std::sqrt(scalars_[b]);
      return true;
    case Opcode::real_compare: ints_[a] = compare(scalars_[b], scalars_[c], s.d); return true;
    case Opcode::real_from_int: scalars_[a] = ints_[b]; return true;
    case Opcode::real_element: {
      const BoundSlice::Reference& r = slice_->references_[b];
      BlockIndex block;
      if (r.data == nullptr || !locate(r, block)) return false;
      std::int64_t offset = 0;
      for (std::size_t d = 0; d < static_cast<std::size_t>(r.rank); ++d)
        offset += (block.segment[d] - r.entry[d].lo) * r.entry[d].stride;
      scalars_[a] = r.data[offset];
      return true;
    }
    default: return false;
  }
}

}  // namespace sial
