// The interpreter loop, start and end of a program, and where errors get their place.

#include <algorithm>
#include <ostream>

#include <fmt/format.h>

#include "runtime/base/bytes.h"
#include "runtime/base/printable.h"
#include "runtime/bytecode/layout.h"
#include "runtime/device/cache/block_cache.h"
#include "runtime/interp/control/slice_check.h"
#include "runtime/interp/job/checkpoints.h"
#include "runtime/interp/machine.h"
#include "runtime/interp/operations/fused_steps.h"
#include "runtime/interp/operations/super_context.h"
#include "runtime/interp/prefetch/deferred_puts.h"
#include "runtime/interp/rank_check/rank_check.h"

namespace sial {

Machine::Machine(const Module& module, std::int32_t sequence, const Environment& environment,
                 const MachineOptions& options)
    : m_(&module),
      sequence_(sequence),
      env_(environment),
      options_(options),
      bound_(bind_program(module, environment.job)),
      index_value_(module.indices.size(), unbound_index),
      blocks_(module.arrays.size()),
      regions_(module.arrays.size()),
      statics_(module.arrays.size(), nullptr),
      pardo_instances_(module.loops.size(), 0),
      printer_(environment.out, options.print_format),
      orbital_ranges_(environment.job),
      context_(std::make_unique<MachineContext>(*this)) {
  if (options_.deterministic) options_.schedule = Schedule::static_;
  if (workers() == 1) options_.check_ranks = false;
  options_.profile |= environment.trace != nullptr || options_.check_ranks;
  if (options_.profile) pc_costs_.resize(module.code.size());
  initial_values(module, environment.job, ints_, scalars_);
  for (const SpecialRow& row : module.specials) {
    Body& body = bodies_.emplace_back();
    if (const SuperRow* found = find_super(row.name)) body.run = found->body;
    else if (options_.plugins) body.run = options_.plugins->find(row.name, row.signature);
    body.element = find_element_form(row.name);
    body.block = find_block_form(row.name);
    body.orbitals = orbital_rules(row.name);
  }
  if (options_.progress != ProgressMode::off && worker() == 0)
    progress_ = std::make_unique<Progress>(environment.warnings, options_.progress);
  if (options_.check_slices && !module.slices.empty())
    slice_check_ = std::make_unique<SliceCheck>(SliceCheck::Program{
        module, ints_, scalars_, index_value_, index_ranges(bound_), [this](std::int32_t a) { return table(a); }});
  if (options_.check_ranks) make_rank_check();
  if (env_.device && largest_block(bound_) >= static_cast<double>(env_.device_from))
    copies_ =
        std::make_unique<DeviceBlockCache>(*env_.device, env_.store.buffers(), env_.device_direct, options_.self_check);
  if (copies_ && env_.device_deferred_puts) deferred_puts_ = std::make_unique<DeferredPuts>(env_.device->memory());
  loops_.reserve(64);
  temps_.reserve(256);
}

Machine::~Machine() {
  drop_retired();
  while (deferred_puts_ && !deferred_puts_->empty()) {
    const HostBlock source = deferred_puts_->take().source;
    release(source.data, source.buffer_size);
  }
  if (copies_ && copies_->outgoing().sends())
    env_.store.update().drop_outgoing();  // only when an error unwinds: the program's end waits for its puts
  if (copies_)
    env_.store.look_ahead().set_incoming(nullptr);  // waits for what is on its way to the device, if an error unwinds
  copies_.reset();                                  // waits for copies from and to what is released
  for (std::size_t a = 0; a < blocks_.size(); ++a) {
    blocks_[a].for_each([&](const BlockMap::Entry& e) { release(e.data, e.size); });
    for (const Region& r : regions_[a]) release(r.data, r.shape.size());
    if (statics_[a]) release(statics_[a], bound_.arrays[a].whole.size());
  }
}

std::string Machine::place_name(std::int32_t pc) const {
  if (pc < 0 || static_cast<std::size_t>(pc) >= m_->places.size()) return m_->program;
  const SourcePlace& p = m_->places[pc];
  return fmt::format("{}:{}:{}", m_->files.at(p.file), p.line, p.column);
}

void Machine::fail(const std::string& message, const std::string& hint) const {
  throw SialError(message, hint, place_name(at_));
}

void Machine::warn(const std::string& message) const {
  if (progress_) progress_->hide();
  if (worker() == 0) env_.warnings << "warning: " << printable_name(message) << std::endl;
}

void Machine::load() {
  at_ = pc_ = m_->main_entry;
  for (std::size_t a = 0; a < m_->arrays.size(); ++a)
    if (m_->arrays[a].kind == ArrayKind::static_ && bound_.array_used[a] && bound_.arrays[a].problem.empty())
      static_data(static_cast<std::int32_t>(a));
}

void Machine::run(RecordReader* from) {
  std::vector<RemoteArrayInfo> remote;
  for (std::size_t a = 0; a < m_->arrays.size(); ++a)
    if (is_remote(m_->arrays[a].kind)) remote.push_back({static_cast<std::int32_t>(a), m_->arrays[a].name});
  try {
    // A helper thread may name places while this rank unwinds: what it needs is not this machine's.
    const auto names = [files = m_->files, places = m_->places, program = m_->program](Place p) {
      if (p.pc < 0 || static_cast<std::size_t>(p.pc) >= places.size()) return program;
      const SourcePlace& at = places[static_cast<std::size_t>(p.pc)];
      return fmt::format("{}:{}:{}", files.at(static_cast<std::size_t>(at.file)), at.line, at.column);
    };
    env_.store.synchronization().begin_program(sequence_, std::move(remote), names);
    load();
    if (copies_) {
      device_prefetch_ = std::make_unique<DevicePrefetch>(
          env_.store, *copies_, env_.device_messages_direct, m_->code.size(),
          [this](std::int32_t array, const BlockIndex& block) { return shape_of(array, block); });
      env_.store.look_ahead().set_incoming(device_prefetch_.get());
    }
    make_look_ahead();
    if (from) read_state(*from);
    if (rank_check_) loop<true, true>();
    else if (options_.profile) loop<true, false>();
    else loop<false, false>();
    finish_program();
  } catch (const JobStopped&) {
    if (env_.trace) env_.trace->add(TraceKind::program, {sequence_, m_->main_entry}, begin_, now());
    throw;
  } catch (const OutOfMemory& error) {
    if (progress_) progress_->hide();
    fail_memory(error);
  } catch (SialError& error) {
    if (progress_) progress_->hide();  // what is said of the error comes before this machine goes
    if (error.where().empty()) error.set_where(place_name(at_));
    throw;
  }
}

/// Names the array and what holds the memory now.
void Machine::fail_memory(const OutOfMemory& error) const {
  std::vector<std::pair<std::string, std::int64_t>> held = env_.store.monitor().memory_held();
  for (std::size_t a = 0; a < bound_.arrays.size(); ++a) {
    std::int64_t doubles = statics_[a] ? bound_.arrays[a].whole.size() : 0;
    blocks_[a].for_each([&](const BlockMap::Entry& e) { doubles += e.size; });
    for (const Region& r : regions_[a]) doubles += r.shape.size();
    if (doubles > 0)
      held.emplace_back(
          fmt::format("{} `{}` on this rank", array_kind_text(bound_.arrays[a].kind), bound_.arrays[a].name),
          doubles * 8);
  }
  std::stable_sort(held.begin(), held.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  if (held.size() > 4) held.resize(4);
  std::string largest;
  std::int64_t rest = error.used();
  for (const auto& [what, bytes] : held) rest -= bytes;
  for (const auto& [what, bytes] : held)
    largest += fmt::format("{}{} ({})", largest.empty() ? "; the largest: " : ", ", what, bytes_text(bytes));
  if (!held.empty() && rest > 0) largest += fmt::format(", all else ({})", bytes_text(rest));
  const std::string wanted = allocating_ < 0 || !error.where().empty()
                                 ? error.wanted()
                                 : fmt::format("{} `{}` ({})", array_kind_text(bound_.arrays[allocating_].kind),
                                               bound_.arrays[allocating_].name, error.wanted());
  throw OutOfMemory(wanted, error.used(), error.situation() + largest,
                    error.where().empty() ? place_name(at_) : error.where());
}

/// With `profile` time is attributed to instructions. The clock costs as much as a small block operation, so it is read
/// as seldom as can be: where computation ended anyway, after other heavy instructions, and before one only when more
/// light instructions ran than the reading would cost.
template <bool profile, bool check>
void Machine::loop() {
  constexpr int short_run = 8;
  const Instruction* code = m_->code.data();
  begin_ = profile ? now() : 0;
  double last = begin_, computed = compute_seconds_, flops = flops_;
  int light_run = 0;
  const auto end_light_run = [&] {
    const double t = now();
    light_seconds_ += t - last;
    last = t;
    light_run = 0;
  };
  const bool several_nodes = env_.transport.node_count() > 1;
  std::int64_t executed = 0;
  halted_ = false;
  while (!halted_) {
    at_ = pc_++;
    const Instruction& in = code[at_];
    ++executed;
    if constexpr (check) check_step(at_);
    switch (in.op) {
#define OPCODE(number, name, ...)                                                                                      \
  case Opcode::name:                                                                                                   \
    if constexpr (has(Opcode::name, op::ends_phase)) { /* the machine may be saved: its counters are complete there */ \
      instructions_ += executed;                                                                                       \
      executed = 0;                                                                                                    \
    }                                                                                                                  \
    if constexpr (profile && !has(Opcode::name, op::light)) {                                                          \
      if (light_run >= short_run) end_light_run();                                                                     \
    }                                                                                                                  \
    op_##name(in);                                                                                                     \
    if constexpr (!has(Opcode::name, op::light)) {                                                                     \
      if (several_nodes) env_.transport.progress();                                                                    \
      if (deferred_puts_ && !deferred_puts_->empty()) go_on_with_deferred_puts();                                      \
    }                                                                                                                  \
    if constexpr (profile) {                                                                                           \
      PcCost& cost = pc_costs_[&in - code];                                                                            \
      ++cost.executions;                                                                                               \
      if constexpr (has(Opcode::name, op::light)) {                                                                    \
        ++light_run;                                                                                                   \
      } else {                                                                                                         \
        const double t = clock_ > last ? clock_ : now();                                                               \
        if (Opcode::name != Opcode::fused || !share_cost(t - last, compute_seconds_ - computed)) {                     \
          cost.seconds += t - last;                                                                                    \
          cost.compute += compute_seconds_ - computed;                                                                 \
        }                                                                                                              \
        computed = compute_seconds_;                                                                                   \
        cost.flops += flops_ - flops;                                                                                  \
        flops = flops_;                                                                                                \
        if (env_.trace) trace_instruction(in, last, t);                                                                \
        last = t;                                                                                                      \
        light_run = 0;                                                                                                 \
      }                                                                                                                \
    }                                                                                                                  \
    break;
#include "runtime/bytecode/opcodes.def"
#undef OPCODE
    }
  }
  if constexpr (profile) {
    end_light_run();
    if (env_.trace) env_.trace->add(TraceKind::program, {sequence_, m_->main_entry}, begin_, last);
  }
  instructions_ += executed;
}

/// Computation, waiting and barriers are traced where they are measured.
void Machine::trace_instruction(const Instruction& in, double begin, double end) {
  const Place at{sequence_, static_cast<std::int32_t>(&in - m_->code.data())};
  if (op_class(in.op) == OpClass::fetch) env_.trace->add(TraceKind::get, at, begin, end);
  if (op_class(in.op) == OpClass::put) env_.trace->add(TraceKind::put, at, begin, end);
}

void Machine::finish_program() {
  carry_out_deferred_puts();
  check_saved();
  if (copies_)
    for (std::size_t a = 0; a < statics_.size(); ++a)
      if (statics_[a])
        copies_->buffer_on_host(statics_[a], bound_.arrays[a].whole.size(), Intent::read,
                                statement());  // the job's results
  tell_of_full_device();
  save_marked();
  free_temps(0);
  env_.store.synchronization().end_program(place());
  env_.queue.new_phase(++env_.state.phase);
  add_stats(env_.state.stats);
}

void Machine::add_stats(Stats& stats) const {
  stats[Counter::compute_time] += compute_seconds_;
#define ADD(counter, ...) __VA_OPT__(stats[Counter::counter] += static_cast<double>(__VA_ARGS__);)
#define COUNTED_machine(field) field
#define COUNTER(number, name, unit, combine, by, meaning) ADD(name, COUNTED_##by)
#include "runtime/stats/counters.def"
#undef ADD
  stats[Counter::flops] += flops_;
  if (cache_prefetch_) stats[Counter::cache_prefetches] += static_cast<double>(cache_prefetch_->blocks());
  for (CopyCost& c : copy_costs()) {
    stats[Counter::block_copies] += static_cast<double>(c.copied);
    stats[Counter::block_bytes_copied] += static_cast<double>(c.bytes_copied);
    stats[Counter::block_copies_elided] += static_cast<double>(c.elided);
    stats[Counter::block_bytes_elided] += static_cast<double>(c.bytes_elided);
    stats.copies.push_back(std::move(c));
  }
  for (KernelCost& k : kernel_costs()) stats.kernels.push_back(std::move(k));
  stats[Counter::barrier_time] += collective_seconds_;
  if (copies_) add_device_stats(stats);
  for (LineCost& l : line_costs()) stats.lines.push_back(std::move(l));
}

/// One row per source line and array.
std::vector<CopyCost> Machine::copy_costs() const {
  std::map<std::tuple<std::int32_t, std::int32_t, std::int32_t>, CopyCost> rows;
  const auto row = [&](const std::pair<std::int32_t, std::int32_t>& key) -> CopyCost& {
    const SourcePlace& p = m_->places[static_cast<std::size_t>(key.first)];
    return rows
        .try_emplace({p.file, p.line, key.second},
                     CopyCost{m_->program, m_->files.at(p.file),
                              m_->arrays.at(static_cast<std::size_t>(key.second)).name, p.line})
        .first->second;
  };
  for (const auto& [key, c] : copied_) {
    CopyCost& to = row(key);
    to.copied += c.blocks;
    to.bytes_copied += c.bytes;
  }
  for (const auto& [key, c] : elided_) {
    CopyCost& to = row(key);
    to.elided += c.blocks;
    to.bytes_elided += c.bytes;
  }
  std::vector<CopyCost> result;
  for (auto& [key, c] : rows) result.push_back(std::move(c));
  return result;
}

/// Light instructions share the time that they took together by how often each ran.
std::vector<LineCost> Machine::line_costs() const {
  double light_executions = 0;
  for (std::size_t pc = 0; pc < pc_costs_.size(); ++pc)
    if (has(m_->code[pc].op, op::light)) light_executions += static_cast<double>(pc_costs_[pc].executions);
  std::map<std::pair<std::int32_t, std::int32_t>, LineCost> lines;
  for (std::size_t pc = 0; pc < pc_costs_.size(); ++pc) {
    if (pc_costs_[pc].executions == 0) continue;
    const SourcePlace& p = m_->places[pc];
    LineCost& l =
        lines.try_emplace({p.file, p.line}, LineCost{m_->program, m_->files.at(p.file), p.line}).first->second;
    l.executions = std::max(l.executions, pc_costs_[pc].executions);
    l.seconds += pc_costs_[pc].seconds;
    l.compute_seconds += pc_costs_[pc].compute;
    l.flops += pc_costs_[pc].flops;
    if (has(m_->code[pc].op, op::light))
      l.seconds += light_seconds_ * static_cast<double>(pc_costs_[pc].executions) / light_executions;
  }
  std::vector<LineCost> result;
  for (auto& [key, l] : lines) result.push_back(std::move(l));
  return result;
}

}  // namespace sial
