#include "runtime/core/interp/machine.h"

#include <fmt/format.h>

#include "runtime/core/interp/blocks/input_arrays.h"
#include "runtime/core/interp/context/checkpoints.h"
#include "runtime/core/interp/machine_components.h"

namespace sial {
namespace {

/// Names of places for a helper thread, which may ask for them while this rank unwinds: what it needs is not the
/// machine's.
auto place_names(const Module& module) {
  return [files = module.files, places = module.places, program = module.program](Place p) {
    if (p.pc < 0 || static_cast<std::size_t>(p.pc) >= places.size()) return program;
    const SourcePlace& at = places[static_cast<std::size_t>(p.pc)];
    return fmt::format("{}:{}:{}", files.at(static_cast<std::size_t>(at.file)), at.line, at.column);
  };
}

}  // namespace

Machine::Machine(const Module& module, std::int32_t sequence, const Environment& environment,
                 const MachineOptions& options)
    : parts_(std::make_unique<MachineComponents>(module, sequence, environment, options)) {}

Machine::~Machine() = default;

const Module& Machine::module() const { return parts_->context.module; }
double Machine::scalar(std::int32_t slot) const { return parts_->registers.scalars()[slot]; }
std::int32_t Machine::integer(std::int32_t slot) const { return parts_->registers.ints()[slot]; }
DataArray Machine::static_array(ArrayId array) const { return parts_->statics.contents(array); }
std::string Machine::place_name(std::int32_t pc) const { return parts_->context.place_name({pc}); }
std::vector<LineCost> Machine::line_costs() const { return parts_->profile.line_costs(); }
std::vector<PardoOrderFacts> Machine::pardo_orders() const { return parts_->pardo.orders().facts(); }

void Machine::begin_program() {
  MachineComponents& p = *parts_;
  const Module& m = p.context.module;
  std::vector<RemoteArrayInfo> remote;
  for (std::size_t a = 0; a < m.arrays.size(); ++a)
    if (is_remote(m.arrays[a].kind)) remote.push_back({ArrayId(a), m.arrays[a].name, m.arrays[a].sparse});
  p.context.env.store.synchronization().begin_program(p.context.sequence, std::move(remote), place_names(m));
  p.position.set(m.main_entry, m.main_entry);
  p.statics.make_used(p.position.current());
  p.device.begin_prefetch();
  p.hooks.begin_look_ahead(p.device.prefetch());
}

void Machine::run(const CheckpointFiles* from) {
  MachineComponents& p = *parts_;
  const RunContext& context = p.context;
  try {
    begin_program();
    if (from) p.state.read(*from);
    else InputArrays(context).fill(p.position.current());  // a checkpoint has the blocks
    run_instructions(p);
    finish_program();
  } catch (const JobStopped&) {
    if (context.env.trace)
      context.env.trace->add(TraceKind::program, {context.sequence, context.module.main_entry}, p.profile.begun(),
                             context.now());
    throw;
  } catch (const OutOfMemory& error) {
    context.hide_progress();
    throw memory_error(p, error, p.position.current());
  } catch (SialError& error) {
    context.hide_progress();  // what is said of the error comes before this machine goes
    context.locate_error(error, p.position.current());
    throw;
  }
}

void Machine::finish_program() {
  MachineComponents& p = *parts_;
  const Environment& env = p.context.env;
  const Statement here = p.position.current();
  p.puts.carry_out();
  p.check.end(p.marks, here);
  p.statics.all_on_host(here);
  p.device.tell_if_full(here);
  p.marks.save(p.registers, p.statics, here);
  p.own.end_temps();
  p.hooks.end();
  env.store.synchronization().end_program(p.context.place(here));
  env.queue.new_phase(++env.state.phase);
  add_stats(env.state.stats);
}

void Machine::add_stats(Stats& stats) const {
  const MachineComponents& p = *parts_;
  p.profile.add_to(stats);
  p.hooks.add_to(stats);
  if (!p.device.cache()) return;
  p.device.add_to(stats);
  p.puts.add_to(stats);
}

}  // namespace sial
