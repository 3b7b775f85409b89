#include "runtime/core/interp/run/machine_state.h"

#include <memory>
#include <utility>

#include <fmt/format.h>

#include "runtime/core/checkpoint/index.h"
#include "runtime/core/interp/context/checkpoint_records.h"
#include "runtime/core/interp/run/redistribution.h"

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

void MachineState::write_own(RecordSink& sink) const {
  const std::vector<ArrayRow>& arrays = context_.module.arrays;
  Packer p;
  registers_.write(p);
  p.value(position_.next_pc());
  loops_.write(p, own_.temp_marks());
  own_.write_temps(p);
  marks_.write(p);
  for (std::size_t a = 0; a < arrays.size(); ++a)
    p.text(is_remote(arrays[a].kind) ? context_.env.store.snapshots().restored_from(ArrayId(a)) : std::string());
  sink.record(record_machine, p);
  for (std::size_t a = 0; a < arrays.size(); ++a) {
    own_.write_blocks(ArrayId(a), sink);
    regions_.write(ArrayId(a), sink);
    statics_.write(ArrayId(a), sink);
  }
}

void MachineState::write_blocks(RecordSink& sink) const {
  for (std::size_t a = 0; a < context_.module.arrays.size(); ++a)
    if (is_remote(context_.module.arrays[a].kind)) write_remote(ArrayId(a), sink);
}

void MachineState::write_remote(ArrayId array, RecordSink& sink) const {
  StoreSnapshots& snapshots = context_.env.store.snapshots();
  Packer head;
  head.value(array);
  sink.record(record_array, head);
  for (const BlockIndex& block : snapshots.array_blocks(array)) {
    if (snapshots.is_as_restored(array, block)) continue;  // shares its memory with the label's: so it will again
    std::optional<LeasedValues> held = snapshots.hold_array_block(array, block);
    if (!held) continue;
    Packer index;
    index.value(block);
    sink.record_held(record_array_block, index, std::move(*held));
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

SavedMachine MachineState::read_file(RecordReader& reader) const {
  if (reader.next(record_machine, record_machine) != record_machine) reader.name().fail_damaged("has no machine");
  SavedMachine saved;
  Unpacker u(reader.head());
  saved.ints = u.values<std::int32_t>();
  saved.scalars = u.values<double>();
  saved.rest.assign(u.rest().begin(), u.rest().end());
  if (saved.ints.size() != registers_.ints().size() || saved.scalars.size() != registers_.scalars().size())
    reader.name().fail_damaged("does not fit the program");
  // The records of blocks that come after it have larger numbers: the first one ends the own ones.
  for (std::uint32_t type = reader.next(); type >= record_own_block && type <= record_static; type = reader.next()) {
    if (Unpacker(reader.head()).value<ArrayId>().at() >= context_.module.arrays.size())
      reader.name().fail_damaged("does not fit the program");
    saved.records.push_back(
        {type, {reader.head().begin(), reader.head().end()}, {reader.data().begin(), reader.data().end()}});
  }
  return saved;
}

/// The program counter of a saved machine, and the values of its indices: where it is.
static std::pair<std::int32_t, std::vector<std::int32_t>> place_of(const SavedMachine& saved) {
  Unpacker u(saved.rest);
  auto indices = u.values<std::int32_t>();
  return {u.value<std::int32_t>(), std::move(indices)};
}

/// On another number of ranks.
SavedMachine MachineState::share_of(const CheckpointFiles& files) {
  Transport& transport = context_.env.transport;
  const std::unique_ptr<RecordReader> reader = files.open(0);
  const SavedMachine first = read_file(*reader);
  const auto [pc, indices] = place_of(first);
  if (pc <= 0 || pc >= std::ssize(context_.module.code)) reader->name().fail_damaged("does not fit the program");
  std::vector<SavedMachine> mine;
  for (auto f = static_cast<std::size_t>(transport.rank()); f < files.count();
       f += static_cast<std::size_t>(transport.size())) {
    const std::unique_ptr<RecordReader> other = files.open(f);
    mine.push_back(read_file(*other));
    if (place_of(mine.back()) != std::pair(pc, indices))
      other->name().fail_damaged("is of another place in the program");
  }
  const CheckpointIndex& index = files.index();
  const std::string where =
      fmt::format("the checkpoint of {} was taken inside a program ({}) by {} rank{}, and this run has {}",
                  index.written, index.place, files.count(), files.count() == 1 ? "" : "s", transport.size());
  Redistributed result = redistribute(context_.module, pc, first, mine, files.count(), transport,
                                      {CollectiveKind::gather, context_.place(position_.current())}, where);
  if (result.rounded && transport.rank() == 0)
    context_.warn(
        "values that all ranks of the checkpoint had computed differ by rounding; all ranks take those of rank 0");
  return std::move(result.machine);
}

/// They are those of the program at this barrier.
void MachineState::take_own(const SavedMachine& saved, const CheckpointFile& file) {
  Packer head;
  head.values(saved.ints);
  head.values(saved.scalars);
  head.rest(saved.rest);
  Unpacker u(head.bytes());
  registers_.read(u, file);
  const auto pc = u.value<std::int32_t>();
  if (pc <= 0 || pc >= std::ssize(context_.module.code)) file.fail_damaged("does not fit the program");
  position_.set(pc - 1, pc);
  std::vector<TempLifetimes::Marks> marks = loops_.read(u);
  progress_.go_on();
  const bool temps_fit = own_.read_temps(u, std::move(marks));
  marks_.read(u);
  if (!temps_fit || !loops_.fits(context_, registers_, pc) || !marks_.fit())
    file.fail_damaged("does not fit the program");
  marks_.tell_store(position_.current());
  for (std::size_t a = 0; a < context_.module.arrays.size(); ++a)
    if (const std::string label = u.text(); !label.empty()) {
      if (!is_remote(context_.module.arrays[a].kind)) file.fail_damaged("does not fit the program");
      context_.env.store.snapshots().restore(ArrayId(a), label, context_.place(position_.current()));
    }
  for (const SavedRecord& record : saved.records) take_record(record, file);
  if (!own_.temps_fit()) file.fail_damaged("does not fit the program");
}

void MachineState::take_record(const SavedRecord& record, const CheckpointFile& file) {
  Unpacker head(record.head);
  const auto id = head.value<ArrayId>();
  switch (record.type) {
    case record_own_block: own_.read_block(id, head, record.data, file); break;
    case record_region: regions_.read(id, head, record.data, file); break;
    default: statics_.read(id, record.data, file, position_.current());
  }
}

void MachineState::read_blocks(RecordReader& reader) {
  const Module& m = context_.module;
  ArrayId array = no_array;
  while (reader.next(record_array) != RecordReader::end) {
    Unpacker head(reader.head());
    if (reader.type() == record_array) {
      array = head.value<ArrayId>();
      if (array.at() >= m.arrays.size() || !is_remote(m.arrays[array.at()].kind))
        reader.name().fail_damaged("does not fit the program");
      continue;
    }
    if (reader.type() != record_array_block || array == no_array)
      reader.name().fail_damaged(fmt::format("has a record of unknown kind {}", reader.type()));
    const auto block = head.value<BlockIndex>();
    if (size_of_block(array, block) != std::ssize(reader.data()))
      reader.name().fail_damaged("does not fit the program");
    context_.env.store.snapshots().load_array_block(array, block, reader.data());
  }
}

void MachineState::read(const CheckpointFiles& files) {
  const Environment& env = context_.env;
  const auto rank = static_cast<std::size_t>(env.transport.rank());
  const auto ranks = static_cast<std::size_t>(env.transport.size());
  if (files.count() == ranks) {
    const std::unique_ptr<RecordReader> reader = files.open(rank);
    take_own(read_file(*reader), reader->name());
  } else {
    take_own(share_of(files), files.open(0)->name());
  }
  for (std::size_t f = rank; f < files.count(); f += ranks) read_blocks(*files.open(f));
  env.store.synchronization().barrier(context_.place(position_.current()));
  env.queue.new_phase(++env.state.phase);
}

}  // namespace sial
