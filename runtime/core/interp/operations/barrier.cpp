#include "runtime/core/interp/operations/barrier.h"

#include "runtime/core/interp/context/checkpoints.h"

namespace sial {

Barrier::Barrier(const RunContext& context, DeviceExecution& device, PutExecution& puts, OwnBlocks& own,
                 PardoRun& pardo, LoopHooks& hooks, ProgramCheck& check, const MachineState& state)
    : context_(context),
      device_(device),
      puts_(puts),
      own_(own),
      pardo_(pardo),
      hooks_(hooks),
      check_(check),
      state_(state) {}

void Barrier::complete(Statement here) {
  check_.synchronise(CollectiveKind::barrier, here);
  puts_.carry_out();
  own_.drop_retired();
  if (device_.cache()) device_.cache()->complete_all();
  device_.tell_if_full(here);
  hooks_.barrier();
}

void Barrier::pass(Statement here) {
  if (pardo_.active()) context_.fail(here, "a barrier runs inside a pardo", "move the barrier behind `endpardo`");
  complete(here);
  const Environment& env = context_.env;
  const bool attention =
      env.store.synchronization().barrier(context_.place(here), env.checkpoints && env.checkpoints->wanted());
  env.queue.new_phase(++env.state.phase);
  pardo_.begin_phase();
  if (device_.cache()) device_.cache()->sweep();
  if (attention && env.checkpoints) save(here);
}

void Barrier::save(Statement here) {
  if (device_.cache()) device_.cache()->all_on_host(here);
  context_.env.checkpoints->at_barrier(
      context_.sequence, "at " + context_.place_name(here),
      {[this](RecordSink& sink) { state_.write_own(sink); }, [this](RecordSink& sink) { state_.write_blocks(sink); }});
}

}  // namespace sial
