#include "runtime/interp/run/machine_state.h"

#include <fmt/format.h>

#include "runtime/checkpoint/record_file.h"
#include "runtime/interp/job/checkpoint_records.h"

namespace sial {

MachineState::MachineState(const RunContext& context, Registers& registers, Position& position, LoopStack& loops,
                           ProgressMeter& progress, OwnBlocks& own, Statics& statics, Regions& regions,
                           PersistentMarks& marks)
    : context_(context),
      registers_(registers),
      position_(position),
      loops_(loops),
      progress_(progress),
      own_(own),
      statics_(statics),
      regions_(regions),
      marks_(marks) {}

void MachineState::write(RecordWriter& writer) const {
  Packer p;
  registers_.write(p);
  p.value(position_.next_pc());
  loops_.write(p, own_.temp_marks());
  own_.write_temps(p);
  marks_.write(p);
  writer.record(record_machine, p);
  for (std::size_t a = 0; a < context_.module.arrays.size(); ++a) {
    const ArrayId id(a);
    own_.write_blocks(id, writer);
    regions_.write(id, writer);
    statics_.write(id, writer);
    if (is_remote(context_.module.arrays[a].kind)) write_remote(id, writer);
  }
}

void MachineState::write_remote(ArrayId array, RecordWriter& writer) const {
  StoreSnapshots& snapshots = context_.env.store.snapshots();
  Packer head;
  head.value(array);
  head.text(snapshots.restored_from(array));
  writer.record(record_array, head);
  for (const BlockIndex& block : snapshots.array_blocks(array)) {
    if (snapshots.is_as_restored(array, block)) continue;  // shares its memory with the label's: so it will again
    const std::optional<std::vector<double>> data = snapshots.array_block(array, block);
    if (!data) continue;
    Packer index;
    index.value(block);
    writer.record(record_block, index, *data);
  }
}

/// Elements of a remote block, -1 where the array has none such.
std::int64_t MachineState::size_of_block(ArrayId id, const BlockIndex& block) const {
  const BoundArray& array = context_.bound.arrays[id.at()];
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

/// Registers, stacks and marks: they are those of the program at this barrier.
void MachineState::read_own(const RecordReader& reader) {
  Unpacker u(reader.head());
  registers_.read(u, reader);
  const auto pc = u.value<std::int32_t>();
  if (pc <= 0 || pc >= std::ssize(context_.module.code)) reader.fail_damaged("does not fit the program");
  position_.set(pc - 1, pc);
  std::vector<TempLifetimes::Marks> marks = loops_.read(u);
  progress_.go_on();
  const bool temps_fit = own_.read_temps(u, std::move(marks));
  marks_.read(u);
  if (!temps_fit || !loops_.fits(context_, registers_, pc) || !marks_.fit())
    reader.fail_damaged("does not fit the program");
  marks_.tell_store(position_.current());
}

void MachineState::read_blocks(RecordReader& reader) {
  const Module& m = context_.module;
  StoreSnapshots& snapshots = context_.env.store.snapshots();
  ArrayId array = no_array;
  for (std::uint32_t type = reader.next(); type != RecordReader::end; type = reader.next()) {
    Unpacker head(reader.head());
    if (type == record_array) {
      array = head.value<ArrayId>();
      if (array.at() >= m.arrays.size() || !is_remote(m.arrays[array.at()].kind))
        reader.fail_damaged("does not fit the program");
      if (const std::string label = head.text(); !label.empty())
        snapshots.restore(array, label, context_.place(position_.current()));
    } else if (type == record_block && array != no_array) {
      const auto block = head.value<BlockIndex>();
      if (size_of_block(array, block) != std::ssize(reader.data())) reader.fail_damaged("does not fit the program");
      snapshots.load_array_block(array, block, reader.data());
    } else {
      read_own_block(type, reader);
    }
  }
}

void MachineState::read_own_block(std::uint32_t type, const RecordReader& reader) {
  Unpacker head(reader.head());
  const auto id = head.value<ArrayId>();
  if (id.at() >= context_.module.arrays.size()) reader.fail_damaged("does not fit the program");
  switch (type) {
    case record_own_block: own_.read_block(id, head, reader); break;
    case record_region: regions_.read(id, head, reader); break;
    case record_static: statics_.read(id, reader, position_.current()); break;
    default: reader.fail_damaged(fmt::format("has a record of unknown kind {}", type));
  }
}

void MachineState::read(RecordReader& reader) {
  read_own(reader);
  read_blocks(reader);
  if (!own_.temps_fit()) reader.fail_damaged("does not fit the program");
  const Environment& env = context_.env;
  env.store.synchronization().barrier(context_.place(position_.current()));
  env.queue.new_phase(++env.state.phase);
}

}  // namespace sial
