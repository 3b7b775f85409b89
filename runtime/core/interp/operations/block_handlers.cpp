#include "runtime/core/interp/operations/block_handlers.h"

#include "runtime/core/bytecode/layout.h"
#include "runtime/core/interp/context/view_ops.h"

namespace sial {

BlockHandlers::BlockHandlers(const RunContext& context, const Registers& registers, const DeviceExecution& device,
                             const BlockMemory& memory, OwnBlocks& own, Statics& statics, const Regions& regions,
                             Operands& operands, BlockArithmetic& arithmetic, Profile& profile)
    : context_(context),
      registers_(registers),
      device_(device),
      memory_(memory),
      own_(own),
      statics_(statics),
      regions_(regions),
      operands_(operands),
      arithmetic_(arithmetic),
      profile_(profile) {}

void BlockHandlers::op_block_fill(const Instruction& in, Statement here) {
  arithmetic_.change(ElementOp::fill, value(in.b), in.a, Intent::write, here);
}
void BlockHandlers::op_block_add_scalar(const Instruction& in, Statement here) {
  arithmetic_.change(ElementOp::add_scalar, value(in.b), in.a, Intent::update, here);
}
void BlockHandlers::op_block_scale(const Instruction& in, Statement here) {
  arithmetic_.change(ElementOp::scale, value(in.b), in.a, Intent::update, here);
}

void BlockHandlers::op_block_copy(const Instruction& in, Statement here) {
  const MutableView& target = arithmetic_.copy(in.a, in.b, 1.0, 0.0, Intent::write, here);
  profile_.count_copied(here, array(in.a), view_size(target));
}
void BlockHandlers::op_block_accumulate(const Instruction& in, Statement here) {
  arithmetic_.copy(in.a, in.b, sign_of(in.c), 1.0, Intent::update, here);
}
void BlockHandlers::op_block_scaled_copy(const Instruction& in, Statement here) {
  arithmetic_.copy(in.a, in.b, value(in.c), 0.0, Intent::write, here);
}
void BlockHandlers::op_block_scaled_accumulate(const Instruction& in, Statement here) {
  arithmetic_.copy(in.a, in.b, sign_of(in.d) * value(in.c), 1.0, Intent::update, here);
}
void BlockHandlers::op_block_sum(const Instruction& in, Statement here) {
  arithmetic_.sum(in.a, in.b, in.c, sign_of(in.d), here);
}

void BlockHandlers::op_block_contract(const Instruction& in, Statement here) {
  const bool assigns = static_cast<SetOp>(in.d) == SetOp::assign;
  arithmetic_.contract(in.a, in.b, in.c, sign_of(in.d), assigns ? Intent::write : Intent::update, here);
}

// These come from plans only, and each stands for a product in a block of its own.
void BlockHandlers::op_contract_scaled(const Instruction& in, Statement here) {
  const MutableView& target = arithmetic_.contract(in.a, in.b, in.c, value(in.d), Intent::write, here);
  profile_.count_elided(here, array(in.a), view_size(target));
}
void BlockHandlers::op_contract_add_scaled(const Instruction& in, Statement here) {
  const MutableView& target = arithmetic_.contract(in.a, in.b, in.c, value(in.d), Intent::update, here);
  profile_.count_elided(here, array(in.a), view_size(target));
}

void BlockHandlers::op_region_put(const Instruction& in, Statement here) {
  arithmetic_.put_region(context_.module.regions[in.a], in.b, here);
}
void BlockHandlers::op_region_get(const Instruction& in, Statement here) {
  arithmetic_.get_region(in.a, context_.module.regions[in.b], here);
}
void BlockHandlers::op_region_fill(const Instruction& in, Statement here) {
  profile_.count_block_operation();
  const MutableView region = regions_.view(context_.module.regions[in.a], here);
  if (context_.model) context_.model->charge_statement(here.pc, view_size(region));
  else fill_view(region, value(in.b));
}

void BlockHandlers::op_block_alias(const Instruction& in, Statement here) {
  const ResolvedReference& target = operands_.reference(in.a);
  const ResolvedReference& source = operands_.reference(in.b);
  const Located from = operands_.locate(source, here);
  const double* data = is_remote(source.kind)
                           ? context_.env.store.fetch().read(source.array, from.block, from.size, context_.place(here))
                           : operands_.own_data(source, from, here);
  const Located to = operands_.locate(target, here);
  device_.on_host(data, Intent::read, here);  // what is shared is valid there
  if (to.size != from.size || !memory_.share(data)) {
    op_block_copy(in, here);  // or its error
    return;
  }
  profile_.count_block_operation();
  profile_.count_elided(here, target.array, to.size);
  // Nothing is written through the pointer while there are others.
  own_.share(target.array, to.key, const_cast<double*>(data), to.size);
}

void BlockHandlers::op_expect(const Instruction& in, Statement here) {
  const ResolvedReference& ref = operands_.reference(in.a);
  const Located at = operands_.locate(ref, here);
  switch (ref.kind) {
    case ArrayKind::temp:
    case ArrayKind::local: operands_.own_data(ref, at, here); break;
    case ArrayKind::distributed:
    case ArrayKind::served: {
      // Only whether it was asked for: what the answer is shows at the use, and names the get.
      BlockFetch& fetch = context_.env.store.fetch();
      if (!fetch.held(ref.array, at.block)) fetch.read(ref.array, at.block, at.size, context_.place(here));
      break;
    }
    case ArrayKind::static_: statics_.data(ref.array, here); break;
    case ArrayKind::contiguous_local: break;  // the verifier knows better
  }
  if (in.b != 0) profile_.count_elided(here, ref.array, at.size);
}

}  // namespace sial
