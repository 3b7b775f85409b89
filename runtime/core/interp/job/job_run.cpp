#include "runtime/core/interp/job/job_run.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "runtime/core/base/check.h"
#include "runtime/core/bytecode/layout.h"
#include "runtime/core/interp/context/bind.h"
#include "runtime/core/interp/context/checkpoints.h"
#include "runtime/core/interp/job/saved_output.h"
#include "runtime/core/interp/job/saved_values.h"
#include "runtime/core/stats/earlier_run.h"

namespace sial {
namespace {

/// Labels that `programs` restore: the only snapshots worth keeping for them.
std::vector<std::string> restored_labels(std::span<const std::shared_ptr<const Module>> programs) {
  std::vector<std::string> labels;
  for (const auto& module : programs)
    for (const Instruction& in : module->code)
      if (in.op == Opcode::restore_persistent) labels.push_back(module->strings[in.c]);
  return labels;
}

bool depends_on_saved(const LoopRow& loop) { return loop.rank_dependence == RankDependence::saved; }

constexpr std::size_t gather_round_bytes = std::size_t{8} << 20;

}  // namespace

JobRunner::JobRunner(const Environment& environment, const JobRunOptions& options, std::int32_t first_sequence)
    : env_(environment), options_(options), sequence_(first_sequence), first_sequence_(first_sequence) {
  store_begin_ = env_.store.monitor().stats();
  code_begin_ = env_.kernels.code_stats();
  begin_ = env_.transport.now();
  if (env_.checkpoints)
    env_.checkpoints->set_job_part(
        {[this](RecordSink& sink) { return write_own(sink); }, [this](RecordSink& sink) { write_labels(sink); }});
  first_phase_ = env_.store.monitor().phase_peaks().size();
}

JobOutlook JobRunner::outlook(std::span<const std::shared_ptr<const Module>> programs, std::size_t program) const {
  JobOutlook outlook;
  outlook.program = static_cast<std::int32_t>(program);
  outlook.programs = static_cast<std::int32_t>(programs.size());
  outlook.program_begun = env_.transport.now();
  if (program >= earlier_seconds_.size()) return outlook;
  outlook.earlier_program = earlier_seconds_[program];
  for (std::size_t i = program + 1; i < earlier_seconds_.size(); ++i) outlook.earlier_rest += earlier_seconds_[i];
  return outlook;
}

/// The least of all nodes: ranks must choose the orders of pardos by the same number.
std::int64_t JobRunner::min_capacity() const {
  std::int64_t least = options_.machine.spill_capacity;
  if (least == 0) least = env_.store.monitor().spill_capacity();
  if (least <= 0) return 0;
  for (const auto& bytes :
       env_.transport.all_gather(std::as_bytes(std::span(&least, 1)), {CollectiveKind::gather, {sequence_, -6}})) {
    std::int64_t theirs = 0;
    SIAL_CHECK(bytes.size() == sizeof theirs, "{} bytes of a capacity", bytes.size());
    std::memcpy(&theirs, bytes.data(), sizeof theirs);
    least = std::min(least, theirs);
  }
  return least;
}

void JobRunner::run(std::span<const std::shared_ptr<const Module>> programs) {
  // A run that goes on from a checkpoint is inside a program at once: how much of it was done is not known.
  if (options_.machine.progress != ProgressMode::off && env_.transport.rank() == 0 && !options_.earlier_run.empty() &&
      !from_) {
    std::vector<std::pair<std::string, std::string>> names;
    for (const auto& module : programs) names.emplace_back(module->program, module->source_hash);
    earlier_seconds_ = earlier_program_seconds(options_.earlier_run, env_.transport.size(), names, job_facts());
  }
  options_.machine.spill_capacity = min_capacity();
  for (std::size_t i = 0; i < programs.size(); ++i) {
    run_modules_.push_back(programs[i]);
    const std::int32_t sequence = sequence_++;
    Start& start = starts_.emplace_back();
    start.phase = env_.store.monitor().phase_peaks().size() - first_phase_;
    if (i < first_program_) continue;
    start.ran = !from_;
    for (const auto& [label, layout] : env_.state.saved_remote)
      start.saved.push_back({label, layout.first_segment, layout.extents});
    options_.machine.outlook = outlook(programs, i);
    if (std::ranges::any_of(programs[i]->loops, depends_on_saved))
      env_.state.saved_agree = saved_values_agree(env_.state, env_.transport, {CollectiveKind::gather, {sequence, -7}});
    machine_ = std::make_unique<Machine>(*programs[i], sequence, env_, options_.machine);
    try {
      machine_->run(from_ ? &*from_ : nullptr);
    } catch (const JobStopped&) {
      const std::unique_ptr<Machine> gone =
          std::move(machine_);  // while the exception passes on: nothing that fails in it is told of
      throw;
    }
    from_.reset();
    start.pardo_orders = machine_->pardo_orders();
    outcomes_.push_back(outcome_of(*machine_));
    machine_.reset();
    if (!options_.keep_saved) {
      const std::vector<std::string> needed = restored_labels(programs.subspan(i + 1));
      env_.store.snapshots().drop_labels_except(needed);
      std::erase_if(env_.state.saved_remote, [&](const auto& entry) {
        const bool drop = std::find(needed.begin(), needed.end(), entry.first) == needed.end();
        if (drop) env_.state.dropped_remote.insert(entry.first);
        return drop;
      });
    }
    if (env_.checkpoints && i + 1 < programs.size())
      env_.checkpoints->between_programs(static_cast<std::int32_t>(i) + 1,
                                         fmt::format("after program `{}`", programs[i]->program));
  }
}

ProgramOutcome JobRunner::outcome_of(const Machine& machine) const {
  const Module& m = machine.module();
  ProgramOutcome outcome;
  outcome.program = m.program;
  for (std::size_t i = 0; i < m.scalars.size(); ++i)
    outcome.scalars[m.scalars[i].name] = machine.scalar(static_cast<std::int32_t>(i));
  for (std::size_t i = 0; i < m.ints.size(); ++i)
    outcome.ints[m.ints[i].name] = machine.integer(static_cast<std::int32_t>(i));
  if (!options_.keep_saved || (env_.transport.rank() != 0 && !options_.statics_of_all)) return outcome;
  for (std::size_t i = 0; i < m.arrays.size(); ++i) {
    if (m.arrays[i].kind != ArrayKind::static_) continue;
    DataArray array = machine.static_array(ArrayId(i));
    if (!array.data.empty()) outcome.statics[m.arrays[i].name] = std::move(array);
  }
  return outcome;
}

void JobRunner::write_saved(const std::string& label, bool plain, ResultsWriter* writer) {
  SavedOutput(env_, {CollectiveKind::gather, {sequence_, -1}})
      .write(label, env_.state.saved_remote.at(label), plain, writer);
}

std::vector<ProgramDescription> JobRunner::descriptions() const {
  std::vector<ProgramDescription> all;
  for (const auto& module : run_modules_) {
    const BoundProgram bound = bind_program(*module, env_.job);
    const auto describe = [&](const BoundArray& array) {
      ArrayDescription d;
      d.declared = array_kind_text(array.kind);
      for (int k = 0; k < array.rank; ++k) {
        const BoundDim& dim = array.dim[k];
        d.indices.push_back(bound.indices[dim.index.at()].name);
        d.kinds.emplace_back(index_kind_text(module->indices[dim.index.at()].kind));
        d.first_segment.push_back(dim.lo);
        std::vector<std::int64_t>& extents = d.extents.emplace_back();
        for (std::int32_t s = dim.lo; s <= dim.hi; ++s) extents.push_back(dim.extent_of(s));
      }
      return d;
    };
    ProgramDescription& program = all.emplace_back();
    program.name = module->program;
    program.source_hash = module->source_hash;
    for (const BoundArray& array : bound.arrays)
      if (array.kind == ArrayKind::static_ && array.problem.empty()) program.statics[array.name] = describe(array);
    for (const Instruction& in : module->code)
      if (in.op == Opcode::set_persistent && in.a == 1)
        program.saved[module->strings[in.c]] = describe(bound.arrays[in.b]);
  }
  return all;
}

// Nothing keeps the ranks of a phase in step: each may be at its fullest while the node's blocks are all there.
std::vector<std::int64_t> JobRunner::phase_high_water() {
  std::vector<PhasePeak> mine(env_.store.monitor().phase_peaks().begin() + static_cast<std::ptrdiff_t>(first_phase_),
                              env_.store.monitor().phase_peaks().end());
  for (PhasePeak& p : mine) p.shared /= env_.transport.node_size();
  std::vector<PhasePeak> all(mine.size());
  for (const auto& bytes :
       env_.transport.all_gather(std::as_bytes(std::span(mine)), {CollectiveKind::gather, {sequence_, -3}})) {
    SIAL_CHECK(bytes.size() == mine.size() * sizeof(PhasePeak), "{} phases here, {} bytes there", mine.size(),
               bytes.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      PhasePeak theirs;
      std::memcpy(&theirs, &bytes[i * sizeof theirs], sizeof theirs);
      all[i] = {std::max(all[i].own, theirs.own), std::max(all[i].shared, theirs.shared)};
    }
  }
  std::vector<std::int64_t> phases;
  for (const PhasePeak& p : all) phases.push_back(p.own + p.shared);
  return phases;
}

JobFacts JobRunner::job_facts() const {
  JobFacts facts{env_.job.ints, env_.job.scalars, {}};
  for (const auto& [kind, extents] : env_.job.segments) facts.segments[kind_name(kind)] = extents;
  return facts;
}

namespace {

/// Servers are no ranks of the job: they count for the whole only.
void add_server_tiers(Stats& total, const TierStats& servers) {
#define ADD(counter, how, ...) \
  __VA_OPT__(reduce(total[Counter::counter], static_cast<double>(__VA_ARGS__), Combine::how);)
#define COUNTED_tier(field) servers.field
#define COUNTER(number, name, unit, combine, by, meaning) ADD(name, combine, COUNTED_##by)
  const auto reduce = [](double& to, double n, Combine how) { to = how == Combine::max ? std::max(to, n) : to + n; };
#include "runtime/core/stats/counters.def"
#undef ADD
}

}  // namespace

JobStats JobRunner::collect_stats() {
  Stats stats = own_stats();
  const std::vector<std::int64_t> phases = phase_high_water();
  std::int64_t most = env_.transport.rank() == 0 ? env_.store.monitor().server_peak() : 0;
  for (const std::int64_t bytes : phases) most = std::max(most, bytes);
  stats[Counter::memory_high_water] = std::max(stats[Counter::memory_high_water], static_cast<double>(most));
  std::vector<Stats> ranks;
  for (const auto& bytes : env_.transport.all_gather(pack_stats(stats), {CollectiveKind::gather, {sequence_, -2}}))
    if (env_.transport.rank() == 0) ranks.push_back(unpack_stats(bytes));
  if (env_.transport.rank() != 0) return {};  // what all ranks counted is much, and one of them needs it
  JobStats job = reduce_stats(std::move(ranks));
  add_server_tiers(job.total, env_.store.monitor().take_server_tiers());
  job.facts.programs = program_facts();
  if (env_.transport.rank() == 0)  // which writes run.json
    for (ProgramFacts& facts : job.facts.programs) add_sources(facts);
  job.facts.job = job_facts();
  for (std::size_t p = 0; p < starts_.size(); ++p) {
    ProgramFacts& facts = job.facts.programs[p];
    facts.ran = starts_[p].ran;
    facts.saved = std::move(starts_[p].saved);
    facts.pardo_orders = std::move(starts_[p].pardo_orders);
    const std::size_t end = p + 1 < starts_.size() ? starts_[p + 1].phase : phases.size();
    for (std::size_t k = starts_[p].phase; k < end; ++k)
      facts.memory_high_water = std::max(facts.memory_high_water, phases[k]);
  }
  return job;
}

std::vector<ProgramFacts> JobRunner::program_facts() const {
  std::vector<ProgramFacts> all;
  for (const auto& module : run_modules_) {
    ProgramFacts& facts = all.emplace_back();
    facts.program = module->program;
    facts.source_hash = module->source_hash;
    facts.optimisation = module->optimisation;
    facts.kept = module->kept;
    facts.files = module->files;
    const BoundProgram bound = bind_program(*module, env_.job);
    for (std::size_t i = 0; i < bound.indices.size(); ++i) {
      const BoundIndex& index = bound.indices[i];
      IndexFacts& row = facts.indices.emplace_back();
      row.name = index.name;
      row.kind = std::string(index_kind_text(module->indices[i].kind));
      row.count = std::max<std::int64_t>(0, std::int64_t{index.hi} - index.lo + 1);
      row.mean_extent = mean_extent(bound, IndexId(i));
    }
  }
  return all;
}

void JobRunner::write_trace(const std::string& path) {
  const Trace& mine = *env_.trace;
  const int ranks = env_.transport.size();
  std::optional<TraceWriter> writer;
  if (env_.transport.rank() == 0)
    writer.emplace(path, ranks, [this](const TraceSpan& span) { return span_name(span); });
  constexpr std::size_t spans_a_round = gather_round_bytes / sizeof(TraceSpan);
  for (int rank = 0; rank < ranks; ++rank) {
    const bool my_turn = rank == env_.transport.rank();
    std::size_t next = 0;
    for (bool more = true; more;) {
      std::vector<std::byte> message;  // the spans, then 1 when more are to come
      if (my_turn) {
        const auto part = std::span(mine.spans()).subspan(next, std::min(spans_a_round, mine.spans().size() - next));
        next += part.size();
        const auto bytes = std::as_bytes(part);
        message.assign(bytes.begin(), bytes.end());
        message.push_back(std::byte{next < mine.spans().size()});
      }
      const auto all = env_.transport.all_gather(message, {CollectiveKind::gather, {sequence_, -4}});
      const std::vector<std::byte>& theirs = all[static_cast<std::size_t>(rank)];
      SIAL_CHECK(theirs.size() % sizeof(TraceSpan) == 1, "{} bytes of spans", theirs.size());
      more = theirs.back() != std::byte{0};
      if (!writer) continue;
      std::vector<TraceSpan> spans(theirs.size() / sizeof(TraceSpan));
      if (!spans.empty()) std::memcpy(spans.data(), theirs.data(), spans.size() * sizeof(TraceSpan));
      writer->spans(rank, spans);
    }
  }
  const auto all =
      env_.transport.all_gather(std::as_bytes(std::span(mine.dropped())), {CollectiveKind::gather, {sequence_, -5}});
  if (!writer) return;
  for (int rank = 0; rank < ranks; ++rank) {
    std::array<Trace::Dropped, trace_kinds> dropped;
    SIAL_CHECK(all[static_cast<std::size_t>(rank)].size() == sizeof dropped, "{} bytes about spans left out",
               all[static_cast<std::size_t>(rank)].size());
    std::memcpy(dropped.data(), all[static_cast<std::size_t>(rank)].data(), sizeof dropped);
    writer->dropped(rank, dropped);
  }
  writer->finish();
}

TraceName JobRunner::span_name(const TraceSpan& span) const {
  const std::int32_t program = span.place.program - first_sequence_;
  if (program < 0 || static_cast<std::size_t>(program) >= run_modules_.size()) return {trace_kind_name(span.kind), ""};
  const Module& m = *run_modules_[static_cast<std::size_t>(program)];
  if (span.kind == TraceKind::program || span.place.pc < 0 || static_cast<std::size_t>(span.place.pc) >= m.code.size())
    return {span.kind == TraceKind::program ? m.program : trace_kind_name(span.kind), m.program};
  const SourcePlace& p = m.places[static_cast<std::size_t>(span.place.pc)];
  const Instruction& in = m.code[static_cast<std::size_t>(span.place.pc)];
  std::string name(opcode_info(in.op)->name);
  switch (span.kind) {
    case TraceKind::compute:
      if (in.op == Opcode::execute) name = m.specials[static_cast<std::size_t>(in.a)].name;
      break;
    case TraceKind::get:
    case TraceKind::put:
      name = fmt::format("{} {}", trace_kind_name(span.kind),
                         m.arrays[m.refs[static_cast<std::size_t>(in.a)].array.at()].name);
      break;
    case TraceKind::fetch_wait: name = "wait for a fetch"; break;
    case TraceKind::pardo: {
      name = "pardo";
      std::string separator = " ";
      for (const IndexId i : m.loops[static_cast<std::size_t>(in.a)].indices)
        name += std::exchange(separator, ", ") + m.indices[i.at()].name;
      break;
    }
    default: break;
  }
  return {name, fmt::format("{}:{}", m.files.at(static_cast<std::size_t>(p.file)), p.line)};
}

}  // namespace sial
