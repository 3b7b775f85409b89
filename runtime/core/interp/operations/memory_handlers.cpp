#include "runtime/core/interp/operations/memory_handlers.h"

#include <algorithm>

#include <fmt/format.h>

namespace sial {

MemoryHandlers::MemoryHandlers(const RunContext& context, const DeviceExecution& device, PutExecution& puts,
                               OwnBlocks& own, Regions& regions, Operands& operands, const PardoRun& pardo,
                               const Position& position, FusedGroup& fused, Profile& profile)
    : context_(context),
      device_(device),
      puts_(puts),
      own_(own),
      regions_(regions),
      operands_(operands),
      pardo_(pardo),
      position_(position),
      fused_(fused),
      profile_(profile) {}

void MemoryHandlers::op_allocate(const Instruction& in, Statement here) {
  const ResolvedReference& ref = operands_.reference(in.a);
  operands_.for_each_selected(ref, here, [&](const Located& at) {
    double* data = own_.find_to_write(ref.array, at.key, false, here);
    if (!data) data = own_.make(ref.array, at.key, at.size);
    device_.on_host(data, Intent::write, here);
    if (!context_.model) std::fill_n(data, at.size, 0.0);
  });
}

void MemoryHandlers::op_deallocate(const Instruction& in, Statement here) {
  const ResolvedReference& ref = operands_.reference(in.a);
  operands_.for_each_selected(ref, here, [&](const Located& at) {
    if (!own_.find(ref.array, at.key))
      context_.fail(here,
                    fmt::format("`{}` cannot be deallocated: the block does not exist",
                                block_name(operands_.array_of(ref), at.block)),
                    "deallocate exactly the blocks that were allocated or written");
    own_.free(ref.array, at.key);
  });
}

void MemoryHandlers::op_allocate_region(const Instruction& in, Statement here) {
  regions_.allocate(context_.module.regions[in.a], here);
}
void MemoryHandlers::op_deallocate_region(const Instruction& in, Statement here) {
  regions_.deallocate(context_.module.regions[in.a], here);
}

void MemoryHandlers::op_erase_array(const Instruction& in, Statement here) {
  if (pardo_.active())
    context_.fail(here, "delete and destroy are collective and cannot run inside a pardo",
                  "move the statement out of the pardo");
  puts_.carry_out();
  context_.env.store.synchronization().erase(ArrayId(in.a), context_.place(here));
  if (device_.cache()) device_.cache()->sweep();
}

void MemoryHandlers::op_free_block(const Instruction& in, Statement here) {
  const ResolvedReference& ref = operands_.reference(in.a);
  const std::uint64_t key = operands_.locate(ref, here).key;
  if (own_.find(ref.array, key)) own_.free_temp(ref.array, key);
}

void MemoryHandlers::op_keep_block(const Instruction& in, Statement here) {
  const ResolvedReference& ref = operands_.reference(in.a);
  own_.keep_temp(ref.array, operands_.locate(ref, here).key, static_cast<std::size_t>(in.b));
}

void MemoryHandlers::op_fused(const Instruction& in, Statement) {
  if (context_.model) return;  // which charges the statements one by one
  fused_.run(position_.next_pc() + in.a);
  profile_.count_instructions(in.a);
}

void MemoryHandlers::op_relieve_sums(const Instruction&, Statement) { context_.env.store.update().relieve_sums(); }

void MemoryHandlers::op_keep_copies(const Instruction& in, Statement) {
  context_.env.store.synchronization().keep_copies(ArrayId(in.a), static_cast<KeepCopies>(in.b));
}

void MemoryHandlers::op_discard_values(const Instruction& in, Statement) {
  context_.env.store.synchronization().discard_values(ArrayId(in.a));
}

}  // namespace sial
