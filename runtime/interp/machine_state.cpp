// Saving a machine at a barrier and going on from there. Between barriers a rank holds nothing of the store's, and no
// pardo is active at one: the registers, stacks, own blocks and the blocks of the remote arrays are all there is.

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "runtime/checkpoint/record_file.h"
#include "runtime/interp/job/checkpoint_records.h"
#include "runtime/interp/machine.h"

namespace sial {
namespace {

template <class T>
void pack_marks(Packer& p, const std::vector<T>& marks) {
  p.value(static_cast<std::uint64_t>(marks.size()));
  for (const T& m : marks) {
    p.value(m.id);
    p.text(m.label);
  }
}

template <class T>
void unpack_marks(Unpacker& u, std::vector<T>& marks) {
  for (auto n = u.value<std::uint64_t>(); n > 0; --n) {
    T mark;
    mark.id = u.value<std::int32_t>();
    mark.label = u.text();
    marks.push_back(std::move(mark));
  }
}

template <class T>
void same_size(const std::vector<T>& saved, const std::vector<T>& mine, const RecordReader& reader) {
  if (saved.size() != mine.size()) reader.fail_damaged("does not fit the program");
}

/// The loops around an instruction of a verified module, outermost first.
std::vector<std::int32_t> loops_around(const Module& m, std::int32_t pc) {
  std::vector<std::int32_t> around;
  for (std::size_t l = 0; l < m.loops.size(); ++l)
    if (m.loops[l].begin < pc && pc <= m.loops[l].next) around.push_back(static_cast<std::int32_t>(l));
  std::sort(around.begin(), around.end(),
            [&](std::int32_t a, std::int32_t b) { return m.loops[a].begin < m.loops[b].begin; });
  return around;
}

/// -1: the main body.
std::int32_t procedure_of(const Module& m, std::int32_t pc) {
  for (std::size_t p = 0; p < m.procs.size(); ++p)
    if (m.procs[p].entry <= pc && pc < m.procs[p].end) return static_cast<std::int32_t>(p);
  return -1;
}

template <class Marks, class Rows>
bool ids_fit(const Marks& marks, const Rows& rows) {
  return std::all_of(marks.begin(), marks.end(), [&](const auto& m) { return m.id >= 0 && m.id < std::ssize(rows); });
}

}  // namespace

void Machine::write_state(RecordWriter& writer) const {
  Packer p;
  p.values(ints_);
  p.values(scalars_);
  p.values(index_value_);
  p.value(pc_);
  p.values(loops_);
  p.values(calls_);
  p.values(temps_);
  pack_marks(p, marked_scalars_);
  pack_marks(p, marked_statics_);
  pack_marks(p, marked_remote_);
  writer.record(record_machine, p);
  for (std::size_t a = 0; a < blocks_.size(); ++a) {
    const auto id = static_cast<std::int32_t>(a);
    blocks_[a].for_each([&](const BlockMap::Entry& e) {
      Packer head;
      head.value(id);
      head.value(e.key);
      writer.record(record_own_block, head, {e.data, static_cast<std::size_t>(e.size)});
    });
    for (const Region& r : regions_[a]) {
      Packer head;
      head.value(id);
      head.value(r.lo);
      head.value(r.hi);
      head.value(r.shape);
      writer.record(record_region, head, {r.data, static_cast<std::size_t>(r.shape.size())});
    }
    if (statics_[a]) {
      Packer head;
      head.value(id);
      writer.record(record_static, head, {statics_[a], static_cast<std::size_t>(bound_.arrays[a].whole.size())});
    }
    if (!is_remote(m_->arrays[a].kind)) continue;
    Packer head;
    head.value(id);
    head.text(env_.store.snapshots().restored_from(id));
    writer.record(record_array, head);
    for (const BlockIndex& block : env_.store.snapshots().array_blocks(id)) {
      if (env_.store.snapshots().is_as_restored(id, block))
        continue;  // shares its memory with the label's: so it will again
      Packer index;
      index.value(block);
      writer.record(record_block, index, env_.store.snapshots().array_block(id, block));
    }
  }
}

/// The stacks are those of a program that is at this barrier, and the indices have the values of its loops: nothing
/// checks them later.
bool Machine::frames_fit() const {
  std::vector<std::int32_t> expected;
  std::int32_t part = -1;
  for (std::size_t c = 0; c <= calls_.size(); ++c) {
    const bool last = c == calls_.size();
    const std::int64_t at = std::int64_t{last ? pc_ : calls_[c].return_pc} - 1;
    if (at < 0 || at + 1 >= std::ssize(m_->code)) return false;
    const Instruction& in = m_->code[static_cast<std::size_t>(at)];
    const auto pc = static_cast<std::int32_t>(at);
    if (procedure_of(*m_, pc) != part || !(last ? has(in.op, op::ends_phase) : in.op == Opcode::call)) return false;
    for (const std::int32_t l : loops_around(*m_, pc)) expected.push_back(l);
    if (last) break;
    if (calls_[c].loop_depth != expected.size() || expected.size() > index_value_.size()) return false;
    part = in.a;
  }
  if (loops_.size() != expected.size()) return false;
  std::vector<char> open(index_value_.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const LoopFrame& f = loops_[i];
    const LoopRow& row = m_->loops[expected[i]];
    if (f.loop != expected[i] || row.kind == LoopKind::pardo || f.index != row.indices[0] || open[f.index])
      return false;
    const BoundIndex& index = bound_.indices[f.index];
    if (f.hi != index.hi || f.value < index.lo || f.value > f.hi || index_value_[f.index] != f.value) return false;
    open[f.index] = 1;
  }
  for (std::size_t i = 0; i < open.size(); ++i)
    if (!open[i] && index_value_[i] != unbound_index) return false;
  return true;
}

bool Machine::marks_fit() const {
  const auto is_static = [&](const auto& m) { return m_->arrays[m.id].kind == ArrayKind::static_; };
  const auto remote = [&](const auto& m) { return is_remote(m_->arrays[m.id].kind); };
  return ids_fit(marked_scalars_, m_->scalars) && ids_fit(marked_statics_, m_->arrays) &&
         ids_fit(marked_remote_, m_->arrays) &&
         std::all_of(marked_statics_.begin(), marked_statics_.end(), is_static) &&
         std::all_of(marked_remote_.begin(), marked_remote_.end(), remote);
}

/// Every temp that is to be freed at the end of a loop is there, once.
bool Machine::temps_fit() {
  std::set<std::pair<std::int32_t, std::uint64_t>> seen;
  for (const TempEntry& t : temps_) {
    if (t.array < 0) continue;
    if (t.array >= std::ssize(m_->arrays) || m_->arrays[t.array].kind != ArrayKind::temp ||
        !blocks_[t.array].find(t.key) || !seen.emplace(t.array, t.key).second)
      return false;
  }
  return true;
}

/// Elements of an own block, -1 where the array has none of this key.
std::int64_t Machine::size_of_key(std::int32_t id, std::uint64_t key) const {
  const BoundArray& array = bound_.arrays[id];
  if ((array.kind != ArrayKind::temp && array.kind != ArrayKind::local) || !array.problem.empty()) return -1;
  std::int64_t size = 1;
  for (int d = array.rank - 1; d >= 0; --d) {
    const BoundDim& dim = array.dim[d];
    const std::uint64_t number = key / dim.key_stride;
    if (number >= static_cast<std::uint64_t>(dim.count())) return -1;
    key %= dim.key_stride;
    size *= dim.extent_of(dim.lo + static_cast<std::int32_t>(number));
  }
  return size;
}

std::int64_t Machine::size_of_block(std::int32_t id, const BlockIndex& block) const {
  const BoundArray& array = bound_.arrays[id];
  if (block.rank != array.rank || !array.problem.empty()) return -1;
  std::int64_t size = 1;
  for (int d = 0; d < max_rank; ++d) {
    if (d >= array.rank ? block.segment[d] != 0
                        : block.segment[d] < array.dim[d].lo || block.segment[d] > array.dim[d].hi)
      return -1;
    if (d < array.rank) size *= array.dim[d].extent_of(block.segment[d]);
  }
  return size;
}

bool Machine::region_fits(std::int32_t id, const Region& region) const {
  const BoundArray& array = bound_.arrays[id];
  if (array.kind != ArrayKind::contiguous_local || !array.problem.empty()) return false;
  Shape shape;
  shape.rank = array.rank;
  for (int d = 0; d < array.rank; ++d) {
    const BoundDim& dim = array.dim[d];
    if (region.lo[d] < dim.lo || region.hi[d] > dim.hi || region.lo[d] > region.hi[d]) return false;
    shape.extent[d] = dim.offset_of(region.hi[d]) + dim.extent_of(region.hi[d]) - dim.offset_of(region.lo[d]);
  }
  return shape == region.shape;
}

void Machine::read_state(RecordReader& reader) {
  Unpacker u(reader.head());
  auto ints = u.values<std::int32_t>();
  auto scalars = u.values<double>();
  auto index_values = u.values<std::int32_t>();
  same_size(ints, ints_, reader);
  same_size(scalars, scalars_, reader);
  same_size(index_values, index_value_, reader);
  ints_ = std::move(ints);
  scalars_ = std::move(scalars);
  index_value_ = std::move(index_values);
  const auto pc = u.value<std::int32_t>();
  if (pc <= 0 || pc >= std::ssize(m_->code)) reader.fail_damaged("does not fit the program");
  pc_ = pc;
  at_ = pc - 1;
  loops_ = u.values<LoopFrame>();
  if (progress_) loop_times_.assign(loops_.size(), {});
  calls_ = u.values<CallFrame>();
  temps_ = u.values<TempEntry>();
  unpack_marks(u, marked_scalars_);
  unpack_marks(u, marked_statics_);
  unpack_marks(u, marked_remote_);
  if (!frames_fit() || !marks_fit()) reader.fail_damaged("does not fit the program");
  for (const Mark& m : marked_remote_) env_.store.snapshots().save_at_end(m.id, m.label, place());
  std::int32_t array = -1;
  for (std::uint32_t type = reader.next(); type != RecordReader::end; type = reader.next()) {
    Unpacker head(reader.head());
    if (type == record_array) {
      array = head.value<std::int32_t>();
      if (array < 0 || static_cast<std::size_t>(array) >= m_->arrays.size() || !is_remote(m_->arrays[array].kind))
        reader.fail_damaged("does not fit the program");
      if (const std::string label = head.text(); !label.empty()) env_.store.snapshots().restore(array, label, place());
    } else if (type == record_block && array >= 0) {
      const auto block = head.value<BlockIndex>();
      if (size_of_block(array, block) != std::ssize(reader.data())) reader.fail_damaged("does not fit the program");
      env_.store.snapshots().load_array_block(array, block, reader.data());
    } else {
      read_own_record(type, reader);
    }
  }
  if (!temps_fit()) reader.fail_damaged("does not fit the program");
  env_.store.synchronization().barrier(place());
  env_.queue.new_phase(++env_.state.phase);
}

void Machine::read_own_record(std::uint32_t type, RecordReader& reader) {
  Unpacker head(reader.head());
  const auto id = head.value<std::int32_t>();
  const std::span<const double> data = reader.data();
  if (id < 0 || static_cast<std::size_t>(id) >= m_->arrays.size()) reader.fail_damaged("does not fit the program");
  const auto n = static_cast<std::int64_t>(data.size());
  switch (type) {
    case record_own_block: {
      const auto key = head.value<std::uint64_t>();
      if (size_of_key(id, key) != n) reader.fail_damaged("does not fit the program");
      if (blocks_[id].find(key)) reader.fail_damaged("has a block twice");
      double* own = buffer(n);
      std::copy(data.begin(), data.end(), own);
      blocks_[id].insert(key, own, n);
      break;
    }
    case record_region: {
      Region region;
      region.lo = head.value<std::array<std::int32_t, max_rank>>();
      region.hi = head.value<std::array<std::int32_t, max_rank>>();
      region.shape = head.value<Shape>();
      if (!region_fits(id, region) || region.shape.size() != n) reader.fail_damaged("does not fit the program");
      region.data = buffer(n);
      std::copy(data.begin(), data.end(), region.data);
      regions_[id].push_back(region);
      break;
    }
    case record_static:
      if (m_->arrays[id].kind != ArrayKind::static_ || bound_.arrays[id].whole.size() != n)
        reader.fail_damaged("does not fit the program");
      std::copy(data.begin(), data.end(), static_data(id));
      break;
    default: reader.fail_damaged(fmt::format("has a record of unknown kind {}", type));
  }
}

}  // namespace sial
