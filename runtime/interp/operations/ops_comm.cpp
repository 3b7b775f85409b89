// Remote blocks, barriers, collectives and persistence.

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "runtime/device/cache/block_cache.h"
#include "runtime/interp/control/slice_check.h"
#include "runtime/interp/job/checkpoints.h"
#include "runtime/interp/machine.h"
#include "runtime/interp/operations/view_ops.h"
#include "runtime/interp/prefetch/deferred_puts.h"

namespace sial {

void Machine::op_create(const Instruction&) {}

void Machine::op_erase_array(const Instruction& in) {
  if (pardo_.active)
    fail("delete and destroy are collective and cannot run inside a pardo", "move the statement out of the pardo");
  carry_out_deferred_puts();
  env_.store.synchronization().erase(in.a, place());
  if (copies_) copies_->sweep();
}

void Machine::op_get(const Instruction& in) {
  const ResolvedReference& ref = bound_.refs[in.a];
  Located at;
  locate(ref, at);
  if (slice_check_ && slice_check_->active()) check_get(ref.array, at.block);
  before_use(ref.array, at.block);
  env_.store.fetch().get(ref.array, at.block, at.size, place());
  if (look_ahead_) look_ahead_->get(at_, ref.array, at.block);
}

void Machine::check_get(std::int32_t array, const BlockIndex& block) {
  std::vector<std::int32_t> calls;
  for (const CallFrame& call : calls_) calls.push_back(call.return_pc - 1);
  if (slice_check_->follows(at_, calls)) slice_check_->get(at_, array, block);
}

/// Column-major contiguous data of a view: the view's own when it is dense, a scratch copy otherwise (to be released).
const double* Machine::packed(const ConstView& view, double*& scratch, std::int64_t& size) {
  if (is_dense(view)) return view.data;
  size = view_size(view);
  scratch = buffer(size);
  copy_view(dense_like(scratch, view), view);
  return scratch;
}

/// What a put of a block means now: where to, and from which view.
void Machine::locate_put(const Instruction& in, Located& at, ConstView& source) {
  const ResolvedReference& ref = bound_.refs[in.a];
  locate(ref, at);
  if (slice_check_) slice_check_->put(ref.array, at.block);
  read_view(in.b, source);
  // Names correspond in order; what one side has more is simple (extent 1), so the elements correspond in memory order.
  const int common = std::min(at.shape.rank, source.rank);
  if (!std::equal(at.shape.extent.begin(), at.shape.extent.begin() + common, source.extent.begin()) ||
      view_size(source) != at.size)
    fail(fmt::format("the shapes differ: `{}` has extents ({}), the source ({})", block_name(array_of(ref), at.block),
                     fmt::join(at.shape.extent.begin(), at.shape.extent.begin() + at.shape.rank, ","),
                     fmt::join(source.extent.begin(), source.extent.begin() + source.rank, ",")),
         "both sides must cover segments of the same extents");
}

void Machine::store_block(PutAs how, std::int32_t array, const BlockIndex& block, std::int64_t size,
                          const double* data) {
  switch (how) {
    case PutAs::added: env_.store.update().accumulate(array, block, size, data, place()); break;
    case PutAs::combined: env_.store.update().accumulate_later(array, block, size, data, place()); break;
    case PutAs::given:
      count(elided_, array, size);
      env_.store.update().put_alias(array, block, size, data, place());
      if (copies_) copies_->transfer_ownership(data, data, statement());
      break;
    case PutAs::stored:
    case PutAs::shared:
      env_.store.update().put(array, block, size, data, place());
      count(copied_, array, size);
      break;
  }
}

void Machine::note_stored(const double* block) {
  if (const BlockUpdate::Stored stored = env_.store.update().stored(); stored.data)
    copies_->same_values(block, block, stored.data, stored.content);
}

void Machine::put_block_as(const Instruction& in, PutAs how) {
  const ResolvedReference& ref = bound_.refs[in.a];
  ++block_operations_;
  Located at;
  ConstView source;
  locate_put(in, at, source);
  before_use(ref.array, at.block);
  if (how == PutAs::shared) {
    const ResolvedReference& from = bound_.refs[in.b];
    Located source_at;
    locate(from, source_at);
    if (env_.store.update().put_held(ref.array, at.block, at.size, from.array, source_at.block, place())) return;
  }
  double* scratch = nullptr;
  std::int64_t scratch_size = 0;
  const double* data = packed(source, scratch, scratch_size);
  const bool whole = data == source.data;
  store_block(how, ref.array, at.block, at.size, data);
  if (scratch) release(scratch, scratch_size);
  if (copies_ && whole && how != PutAs::given) note_stored(data);
}

void Machine::op_put_block(const Instruction& in) {
  const PutAs how = static_cast<SetOp>(in.c) == SetOp::add ? PutAs::added : PutAs::stored;
  if (!put_later(in, how) && !put_from_device(in, how == PutAs::added)) put_block_as(in, how);
}
void Machine::op_put_combined(const Instruction& in) {
  if (!put_later(in, PutAs::combined)) put_block_as(in, PutAs::combined);
}
void Machine::op_put_alias(const Instruction& in) { put_block_as(in, PutAs::shared); }
void Machine::op_relieve_sums(const Instruction&) { env_.store.update().relieve_sums(); }
void Machine::op_keep_copies(const Instruction& in) {
  env_.store.synchronization().keep_copies(in.a, static_cast<KeepCopies>(in.b));
}

void Machine::op_put_scalar(const Instruction& in) {
  const ResolvedReference& ref = bound_.refs[in.a];
  Located at;
  locate(ref, at);
  if (slice_check_) slice_check_->put(ref.array, at.block);
  before_use(ref.array, at.block);
  const double value = scalars_[in.b];
  switch (static_cast<SetOp>(in.c)) {
    case SetOp::assign: env_.store.update().fill(ref.array, at.block, at.size, value, place()); break;
    case SetOp::add: env_.store.update().increment(ref.array, at.block, at.size, value, place()); break;
    case SetOp::subtract: env_.store.update().increment(ref.array, at.block, at.size, -value, place()); break;
    case SetOp::scale: env_.store.update().scale(ref.array, at.block, at.size, value, place()); break;
  }
}

void Machine::barrier_here() {
  if (pardo_.active) fail("a barrier runs inside a pardo", "move the barrier behind `endpardo`");
  check_values(CollectiveKind::barrier);
  carry_out_deferred_puts();
  drop_retired();
  if (copies_) copies_->settle_all();
  tell_of_full_device();
  if (look_ahead_) look_ahead_->barrier();
  const bool attention = env_.store.synchronization().barrier(place(), env_.checkpoints && env_.checkpoints->wanted());
  env_.queue.new_phase(++env_.state.phase);
  std::fill(pardo_instances_.begin(), pardo_instances_.end(), 0);
  cyclic_counter_ = 0;
  if (copies_) copies_->sweep();
  if (copies_ && attention && env_.checkpoints) copies_->all_on_host(statement());
  if (attention && env_.checkpoints)
    env_.checkpoints->at_barrier(sequence_, "at " + place_name(at_),
                                 [this](RecordWriter& writer) { write_state(writer); });
}

void Machine::op_barrier(const Instruction&) { barrier_here(); }

void Machine::count_collective(double begin) {
  const double end = now();
  collective_seconds_ += end - begin;
  if (env_.trace) env_.trace->add(TraceKind::collective, place(), begin, end);
}

void Machine::op_collective_sum(const Instruction& in) {
  if (pardo_.active)
    fail("a collective statement runs inside a pardo",
         "sum into a scalar there and run the collective behind `endpardo`");
  check_values(CollectiveKind::sum);
  const double begin = now();
  scalars_[in.a] += env_.transport.sum(scalars_[in.b], {CollectiveKind::sum, place()});
  count_collective(begin);
}

void Machine::op_assert_same(const Instruction& in) {
  if (pardo_.active) fail("assert_same runs inside a pardo", "move it behind `endpardo`");
  check_values(CollectiveKind::broadcast);
  const double mine = scalars_[in.a];
  double masters = mine;
  const double begin = now();
  env_.transport.broadcast(std::as_writable_bytes(std::span(&masters, 1)), 0, {CollectiveKind::broadcast, place()});
  count_collective(begin);
  // Values that are zero but for rounding agree.
  const double tolerance = 5e-5 * std::max(std::abs(mine), std::abs(masters)) + 1e-12;
  if (!(std::abs(mine - masters) <= tolerance) && mine != masters)
    fail(fmt::format("assert_same: `{}` is {} on rank {} and {} on rank 0", m_->scalars[in.a].name, mine, worker(),
                     masters),
         "the ranks computed different values: sum rank-local contributions with `collective`, or broadcast them");
  scalars_[in.a] = masters;
}

void Machine::op_broadcast(const Instruction& in) {
  const BoundArray& array = bound_.arrays[in.b];
  if (pardo_.active) fail("broadcast_from runs inside a pardo", "move it behind `endpardo`");
  const std::int32_t root = ints_[in.a];
  if (root < 0 || root >= workers())
    fail(fmt::format("broadcast_from {} of `{}`: the job has ranks 0 to {}", root, array.name, workers() - 1));
  check_values(CollectiveKind::broadcast);
  const double begin = now();
  const auto roots =
      env_.transport.all_gather(std::as_bytes(std::span(&root, 1)), {CollectiveKind::broadcast, place()});
  for (std::size_t r = 0; r < roots.size(); ++r) {
    std::int32_t other = 0;
    std::memcpy(&other, roots[r].data(), sizeof other);
    if (other != root)
      fail(fmt::format("broadcast_from of `{}`: rank {} names source {}, rank {} names {}", array.name, worker(), root,
                       r, other),
           "the source must be the same on all ranks");
  }
  double* data = whole_static(in.b, Intent::update);
  const auto n = static_cast<std::size_t>(array.whole.size());
  env_.transport.broadcast(std::as_writable_bytes(std::span(data, n)), root, {CollectiveKind::broadcast, place()});
  count_collective(begin);
}

void Machine::op_set_persistent(const Instruction& in) {
  const std::string& label = m_->strings[in.c];
  const bool remote = in.a != 0 && is_remote(m_->arrays[in.b].kind);
  std::vector<Mark>& marks = in.a == 0 ? marked_scalars_ : remote ? marked_remote_ : marked_statics_;
  for (const Mark& m : marks) {
    if (m.id != in.b) continue;
    if (m.label == label) return;  // the statement stands in a loop
    if (remote)
      fail(fmt::format("array `{}` is marked twice in this program, for \"{}\" and for \"{}\"", m_->arrays[in.b].name,
                       m.label, label),
           "one label per array and program");
  }
  marks.push_back({in.b, label});
  if (remote) env_.store.snapshots().save_at_end(in.b, label, place());
}

template <class T>
void Machine::fail_label(const std::string& label, const char* what, const T& known) const {
  std::string list;
  for (const auto& entry : known) list += (list.empty() ? "\"" : ", \"") + entry.first + "\"";
  fail(fmt::format("no {} was saved under the label \"{}\"", what, label),
       list.empty()
           ? fmt::format("no {} has been saved yet: an earlier program of the job must mark one with set_persistent",
                         what)
           : fmt::format("saved so far: {}", list));
}

// One of two orbital sets, energies or amplitudes in the place of the other. Labels of other names are common, as long
// as they are not the name of another item of this program while the item's own name was saved, too.
template <class T, class Rows>
void Machine::warn_label(const std::string& label, const std::string& name, const T& known, const Rows& rows) const {
  if (label == name || !(known.contains(name) || env_.state.dropped_remote.contains(name))) return;
  if (std::none_of(rows.begin(), rows.end(), [&](const auto& row) { return row.name == label; })) return;
  warn(fmt::format("{}: `{}` is restored from \"{}\", though \"{}\" was saved as well: is that the right label?",
                   place_name(at_), name, label, name));
}

// Equal extents are not enough: a Fock matrix over orbitals is as large as one over basis functions.
void Machine::warn_kinds(const std::string& label, const BoundArray& array) const {
  const auto saved = env_.state.static_kinds.find(label);
  if (saved == env_.state.static_kinds.end()) return;
  const auto orbitals = [](IndexKind kind) {
    return kind == IndexKind::mo || kind == IndexKind::moa || kind == IndexKind::mob;
  };
  for (int d = 0; d < std::min(array.rank, static_cast<std::int32_t>(saved->second.size())); ++d) {
    const IndexKind then = saved->second[static_cast<std::size_t>(d)], now = array.dim[d].kind;
    if (!(orbitals(then) && now == IndexKind::ao) && !(then == IndexKind::ao && orbitals(now))) continue;
    warn(fmt::format(
        "{}: `{}` is restored from \"{}\", which was saved over {} in dimension {}, and is declared over {} there: is that the right label?",
        place_name(at_), array.name, label, orbitals(then) ? "orbitals" : "basis functions", d + 1,
        orbitals(now) ? "orbitals" : "basis functions"));
    return;
  }
}

void Machine::op_restore_persistent(const Instruction& in) {
  const std::string& label = m_->strings[in.c];
  RankState& state = env_.state;
  if (in.a == 0) {
    const auto found = state.saved_scalars.find(label);
    if (found == state.saved_scalars.end()) fail_label(label, "scalar", state.saved_scalars);
    warn_label(label, m_->scalars[in.b].name, state.saved_scalars, m_->scalars);
    scalars_[in.b] = found->second;
    return;
  }
  const BoundArray& array = bound_.arrays[in.b];
  if (is_remote(array.kind)) {
    const auto saved = state.saved_remote.find(label);
    if (saved == state.saved_remote.end()) fail_label(label, "distributed or served array", state.saved_remote);
    const SavedLayout mine = layout_of(in.b);
    if (saved->second.first_segment != mine.first_segment || saved->second.extents != mine.extents)
      fail(
          fmt::format("the array saved as \"{}\" (`{}`) and `{}` do not have the same segments", label,
                      saved->second.array, array.name),
          state.restored_segments.empty()
              ? std::string("restore into an array declared over the same ranges")
              : fmt::format(
                    "the results to restore from have other segments (automatic ones follow the number of ranks and the memory): add `{}`",
                    state.restored_segments));
    warn_label(label, array.name, state.saved_remote, m_->arrays);
    check_values(CollectiveKind::persist);
    carry_out_deferred_puts();
    env_.store.snapshots().restore(in.b, label, place());
    return;
  }
  const auto found = state.saved_statics.find(label);
  if (found == state.saved_statics.end()) fail_label(label, "static array", state.saved_statics);
  double* data = whole_static(in.b, Intent::update);
  const std::vector<std::int64_t> declared(array.whole.extent.begin(), array.whole.extent.begin() + array.rank);
  if (found->second.extents != declared)
    fail(fmt::format("the array saved as \"{}\" has extents ({}), and `{}` is declared with ({})", label,
                     fmt::join(found->second.extents, ","), array.name, fmt::join(declared, ",")),
         "restore into an array of the same shape");
  warn_label(label, array.name, state.saved_statics, m_->arrays);
  warn_kinds(label, array);
  std::copy(found->second.data.begin(), found->second.data.end(), data);
}

void Machine::save_marked() {
  RankState& state = env_.state;
  for (const Mark& m : marked_scalars_) {
    if (state.saved_scalars.contains(m.label))
      warn(fmt::format("program `{}`: the saved scalar \"{}\" is overwritten", m_->program, m.label));
    state.saved_scalars[m.label] = scalars_[m.id];
  }
  for (const Mark& m : marked_statics_) {
    if (state.saved_statics.contains(m.label))
      warn(fmt::format("program `{}`: the saved static array \"{}\" is overwritten", m_->program, m.label));
    static_data(m.id);
    state.saved_statics[m.label] = static_array(m.id);
    const BoundArray& array = bound_.arrays[m.id];
    std::vector<IndexKind>& kinds = state.static_kinds[m.label];
    kinds.clear();
    for (int d = 0; d < array.rank; ++d) kinds.push_back(array.dim[d].kind);
  }
  for (const Mark& m : marked_remote_) {
    if (state.saved_remote.contains(m.label))
      warn(fmt::format("program `{}`: the saved array \"{}\" is overwritten", m_->program, m.label));
    state.saved_remote[m.label] = layout_of(m.id);
  }
}

SavedLayout Machine::layout_of(std::int32_t id) const {
  const BoundArray& array = bound_.arrays[id];
  if (!array.problem.empty())
    fail(fmt::format("array `{}` cannot be used: {}", array.name, array.problem), array.remedy);
  SavedLayout result;
  result.array = array.name;
  for (int d = 0; d < array.rank; ++d) {
    const BoundDim& dim = array.dim[d];
    result.first_segment.push_back(dim.lo);
    std::vector<std::int64_t>& extents = result.extents.emplace_back();
    for (std::int32_t s = dim.lo; s <= dim.hi; ++s) extents.push_back(dim.extent_of(s));
  }
  return result;
}

}  // namespace sial
