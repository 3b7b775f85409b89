// Saving a machine at a barrier and going on from there. Between barriers a rank holds nothing of the store's, and no pardo is
// active at one: the registers, stacks, own blocks and the blocks of the remote arrays are all there is.

#include <algorithm>

#include <fmt/format.h>

#include "runtime/checkpoint/record_file.h"
#include "runtime/interp/checkpoint_records.h"
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
    head.text(env_.store.restored_from(id));
    writer.record(record_array, head);
    for (const BlockIndex& block : env_.store.array_blocks(id)) {
      if (env_.store.is_as_restored(id, block)) continue;  // shares its memory with the label's: so it will again
      Packer index;
      index.value(block);
      writer.record(record_block, index, env_.store.array_block(id, block));
    }
  }
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
  pc_ = u.value<std::int32_t>();
  if (pc_ <= 0 || static_cast<std::size_t>(pc_) >= m_->code.size()) reader.fail_damaged("does not fit the program");
  at_ = pc_ - 1;
  loops_ = u.values<LoopFrame>();
  if (progress_) loop_times_.assign(loops_.size(), {});
  calls_ = u.values<CallFrame>();
  temps_ = u.values<TempEntry>();
  unpack_marks(u, marked_scalars_);
  unpack_marks(u, marked_statics_);
  unpack_marks(u, marked_remote_);
  for (const Mark& m : marked_remote_) env_.store.save_at_end(m.id, m.label, place());
  std::int32_t array = -1;
  for (std::uint32_t type = reader.next(); type != RecordReader::end; type = reader.next()) {
    Unpacker head(reader.head());
    if (type == record_array) {
      array = head.value<std::int32_t>();
      if (array < 0 || static_cast<std::size_t>(array) >= m_->arrays.size() || !is_remote(m_->arrays[array].kind)) reader.fail_damaged("does not fit the program");
      if (const std::string label = head.text(); !label.empty()) env_.store.restore(array, label, place());
    } else if (type == record_block && array >= 0) {
      env_.store.load_array_block(array, head.value<BlockIndex>(), reader.data());
    } else {
      read_own_record(type, reader);
    }
  }
  env_.store.barrier(place());
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
      if (region.shape.size() != n) reader.fail_damaged("does not fit the program");
      region.data = buffer(n);
      std::copy(data.begin(), data.end(), region.data);
      regions_[id].push_back(region);
      break;
    }
    case record_static:
      if (m_->arrays[id].kind != ArrayKind::static_ || bound_.arrays[id].whole.size() != n) reader.fail_damaged("does not fit the program");
      std::copy(data.begin(), data.end(), static_data(id));
      break;
    default: reader.fail_damaged(fmt::format("has a record of unknown kind {}", type));
  }
}

}  // namespace sial
