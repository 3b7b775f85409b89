// Saving what outlives a program, and going on from a checkpoint. On as many ranks as wrote it every rank takes its own
// file; on another number the files' blocks are shared out, and what ranks keep to themselves comes from rank 0's.

#include <algorithm>
#include <bit>
#include <filesystem>
#include <random>

#include <fmt/format.h>

#include "runtime/core/base/check.h"
#include "runtime/core/interp/context/checkpoint_records.h"
#include "runtime/core/interp/context/checkpoints.h"
#include "runtime/core/interp/job/job_run.h"
#include "runtime/core/interp/job/saved_values.h"

namespace sial {
namespace {

void pack_layout(Packer& p, const SavedLayout& layout) {
  p.text(layout.array);
  p.values(layout.first_segment);
  p.value(static_cast<std::uint64_t>(layout.extents.size()));
  for (const auto& extents : layout.extents) p.values(extents);
}

SavedLayout unpack_layout(Unpacker& u) {
  SavedLayout layout;
  layout.array = u.text();
  layout.first_segment = u.values<std::int32_t>();
  for (auto n = u.value<std::uint64_t>(); n > 0; --n) layout.extents.push_back(u.values<std::int64_t>());
  return layout;
}

void pack_array(Packer& p, const std::string& name, const DataArray& array) {
  p.text(name);
  p.values(array.extents);
  p.text(array.origin);
}

/// Its name and the array.
std::pair<std::string, DataArray> unpack_array(const RecordReader& reader) {
  Unpacker u(reader.head());
  std::string name = u.text();
  DataArray array;
  array.extents = u.values<std::int64_t>();
  array.origin = u.text();
  array.data.assign(reader.data().begin(), reader.data().end());
  std::int64_t size = 1;
  bool fits = array.extents.size() <= max_rank;
  for (const std::int64_t e : array.extents) fits = fits && e >= 0 && !__builtin_mul_overflow(size, e, &size);
  if (!fits || size != std::ssize(array.data)) reader.name().fail_damaged("has an array that does not fit its extents");
  return {std::move(name), std::move(array)};
}

/// Tells apart the engines of all processes of a job.
std::uint64_t engine_id(const kernels::CodeEngine* engine) {
  if (!engine) return 0;
  static const std::uint64_t process = std::uint64_t{std::random_device{}()} << 32 | std::random_device{}();
  return mix_hash(process, reinterpret_cast<std::uintptr_t>(engine)) | 1;
}

/// Time and counts of the runs before this one; what is a largest amount stays one.
void add_earlier(Stats& now, const Stats& earlier) {
  for (const CounterRow& row : counter_rows()) {
    const auto i = static_cast<std::size_t>(&row - counter_rows().data());
    const bool largest = row.combine == Combine::max && std::string_view(row.unit) != "s";
    now.value[i] = largest ? std::max(now.value[i], earlier.value[i]) : now.value[i] + earlier.value[i];
  }
  now.lines.insert(now.lines.end(), earlier.lines.begin(), earlier.lines.end());
  now.copies.insert(now.copies.end(), earlier.copies.begin(), earlier.copies.end());
  now.kernels.insert(now.kernels.end(), earlier.kernels.begin(), earlier.kernels.end());
  add_code(now.code, earlier.code);
  now.accesses.insert(now.accesses.end(), earlier.accesses.begin(), earlier.accesses.end());
  now.transfers.insert(now.transfers.end(), earlier.transfers.begin(), earlier.transfers.end());
  merge_rows(now);  // else checkpoints would grow from restart to restart
}

}  // namespace

std::uint64_t JobRunner::write_own(RecordSink& sink) const {
  const RankState& state = env_.state;
  Packer who;
  who.value(env_.transport.rank());
  who.value(env_.transport.size());
  sink.record(record_rank, who);

  Packer job;
  job.value(state.all_ranks_print);
  job.map(state.saved_scalars);
  job.map(state.input_checksums);
  job.value(static_cast<std::uint64_t>(state.saved_remote.size()));
  for (const auto& [label, layout] : state.saved_remote) {
    job.text(label);
    pack_layout(job, layout);
  }
  job.values(pack_stats(own_stats()));
  sink.record(record_job, job);

  for (const auto& [label, array] : state.saved_statics) {
    Packer head;
    pack_array(head, label, array);
    sink.record(record_saved_static, head, array.data);
  }
  if (env_.transport.rank() == 0) {
    for (const ProgramOutcome& outcome : outcomes_) {
      Packer head;
      head.text(outcome.program);
      head.map(outcome.scalars);
      head.map(outcome.ints);
      sink.record(record_outcome, head);
      for (const auto& [name, array] : outcome.statics) {
        Packer static_head;
        pack_array(static_head, name, array);
        sink.record(record_outcome_static, static_head, array.data);
      }
    }
  }
  return hash_of_saved(state);
}

void JobRunner::write_labels(RecordSink& sink) const {
  for (const std::string& label : env_.store.snapshots().labels()) {
    Packer head;
    head.text(label);
    sink.record(record_label, head);
    for (const BlockIndex& block : env_.store.snapshots().saved_blocks(label)) {
      Packer index;
      index.value(block);
      sink.record_held(record_label_block, index, env_.store.snapshots().hold_saved_block(label, block));
    }
  }
}

void JobRunner::restore(const CheckpointFiles& checkpoint) {
  const CheckpointIndex& index = checkpoint.index();
  const auto files = static_cast<std::int64_t>(checkpoint.count());
  const int rank = env_.transport.rank(), ranks = env_.transport.size();
  const bool same = files == ranks;
  const auto open = [&](std::int64_t file) { return checkpoint.open(static_cast<std::size_t>(file)); };
  first_program_ = static_cast<std::size_t>(index.program);
  if (index.inside) from_ = checkpoint;
  if (same) {
    read_state(*open(rank), true, true);
  } else {
    read_state(*open(0), true, false);
    for (std::int64_t file = rank; file < files; file += ranks) read_state(*open(file), false, true);
    if (rank == 0 && !index.uniform)
      env_.warnings
          << fmt::format(
                 "warning: scalars or static arrays saved by the programs differ between the {} ranks of the checkpoint; all {} ranks take those of rank 0",
                 files, ranks)
          << std::endl;
  }
  // Writing the checkpoint was over only when it could no longer say so itself.
  if (rank == 0) {
    earlier_[Counter::checkpoints] += 1;
    earlier_[Counter::restarts] += 1;
  }
  if (rank < files) {
    earlier_[Counter::wall_time] += index.seconds;
    earlier_[Counter::checkpoint_time] += index.seconds;
    earlier_[Counter::checkpoint_bytes] += static_cast<double>(index.files[static_cast<std::size_t>(rank)].seal.bytes);
  }
  env_.store.synchronization().barrier({sequence_, -1});
}

void JobRunner::read_state(RecordReader& reader, bool own, bool shared) {
  RankState& state = env_.state;
  std::string label;
  std::map<std::string, SavedLayout> layouts;
  const std::uint32_t last = shared ? record_label_block : record_outcome_static;
  for (std::uint32_t type = reader.next(0, last); type != RecordReader::end; type = reader.next(0, last)) {
    if (type >= record_machine && type <= record_static) continue;
    Unpacker u(reader.head());
    switch (type) {
      case record_rank: break;
      case record_job: {
        const bool print = u.value<std::uint8_t>() != 0;
        auto scalars = u.map<double>();
        auto sums = u.map<std::uint64_t>();
        layouts.clear();
        for (auto n = u.value<std::uint64_t>(); n > 0; --n) {
          std::string name = u.text();
          SavedLayout layout = unpack_layout(u);
          if (!is_possible(layout))
            reader.name().fail_damaged(fmt::format("has an impossible layout of array \"{}\"", name));
          layouts[std::move(name)] = std::move(layout);
        }
        if (own) {
          state.all_ranks_print = print;
          state.saved_scalars = std::move(scalars);
          state.input_checksums = std::move(sums);
          state.saved_remote = layouts;
        }
        if (shared) add_earlier(earlier_, unpack_stats(u.values<std::byte>()));
        break;
      }
      case record_saved_static:
        if (own) state.saved_statics.insert(unpack_array(reader));
        break;
      case record_outcome: {
        if (!own) break;
        ProgramOutcome& outcome = outcomes_.emplace_back();
        outcome.program = u.text();
        outcome.scalars = u.map<double>();
        outcome.ints = u.map<std::int32_t>();
        break;
      }
      case record_outcome_static:
        if (own && !outcomes_.empty()) outcomes_.back().statics.insert(unpack_array(reader));
        break;
      case record_label:
        label = u.text();
        if (shared) env_.store.snapshots().load_label(label);
        break;
      case record_label_block: {
        const auto block = u.value<BlockIndex>();
        const auto layout = layouts.find(label);
        if (layout == layouts.end() || block_size(layout->second, block) != std::ssize(reader.data()))
          reader.name().fail_damaged("has a block of no saved array");
        if (shared) env_.store.snapshots().load_saved_block(label, block, reader.data());
        break;
      }
      default: reader.name().fail_damaged(fmt::format("has a record of unknown kind {}", type));
    }
  }
}

Stats JobRunner::own_stats() const {
  Stats stats = env_.state.stats;
  if (machine_) machine_->add_stats(stats);
  const StoreStats s = env_.store.monitor().stats();
  const StoreStats& z = store_begin_;
  const ResourceStats buffers = env_.store.buffers().stats();
  stats[Counter::wall_time] = env_.transport.now() - begin_;
#define SET(counter, ...) __VA_OPT__(stats[Counter::counter] = static_cast<double>(__VA_ARGS__);)
#define COUNTED_store(field) s.field - z.field
#define COUNTED_tier(field) s.tier.field - z.tier.field
#define COUNTED_buffers(field) buffers.field
#define COUNTER(number, name, unit, combine, by, meaning) SET(name, COUNTED_##by)
#include "runtime/core/stats/counters.def"
#undef SET
  stats[Counter::barrier_time] += s.barrier_seconds - z.barrier_seconds;
  if (env_.checkpoints) {
    stats[Counter::checkpoint_time] = env_.checkpoints->seconds();
    stats[Counter::checkpoints] = env_.transport.rank() == 0 ? static_cast<double>(env_.checkpoints->written()) : 0.0;
    stats[Counter::checkpoint_bytes] = static_cast<double>(env_.checkpoints->bytes());
  }
  // Less than nothing would mean that some time was counted twice.
  double overhead = stats[Counter::wall_time];
  for (const Counter part : wall_time_parts)
    if (part != Counter::overhead_time) overhead -= stats[part];
  stats[Counter::overhead_time] = overhead > -1e-6 ? std::max(0.0, overhead) : overhead;
  for (const AccessStats& a : env_.store.monitor().access_stats()) {
    const std::int32_t program = a.place.program - first_sequence_;
    if (program < 0 || static_cast<std::size_t>(program) >= run_modules_.size()) continue;
    const Module& m = *run_modules_[program];
    if (a.place.pc < 0 || static_cast<std::size_t>(a.place.pc) >= m.places.size()) continue;
    const SourcePlace& place = m.places[a.place.pc];
    AccessCost& row = stats.accesses.emplace_back();
    row.program = m.program;
    row.file = m.files.at(place.file);
    row.array = m.arrays.at(a.array.at()).name;
    row.line = place.line;
#define ACCESS_COST(type, field, combine, key) row.field = a.field;
#define ACCESS_COST_OF_RANKS(type, field, combine, key)
#include "runtime/core/stats/costs.def"
    row.firsts = a.accesses > 0 ? 1 : 0;
  }
  const kernels::CodeStats code = env_.kernels.code_stats();
  const kernels::CodeStats& before = code_begin_;
  stats.code.state = code.state;
  stats.code.engine = engine_id(env_.kernels.code_engine());
#define CODE_COST(type, field) stats.code.field = code.field - before.field;
#include "runtime/core/stats/costs.def"
  add_earlier(stats, earlier_);
  return stats;
}

}  // namespace sial
