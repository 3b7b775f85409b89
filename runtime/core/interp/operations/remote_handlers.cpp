#include "runtime/core/interp/operations/remote_handlers.h"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/core/interp/context/view_ops.h"

namespace sial {

void FetchHandlers::op_get(const Instruction& in, Statement here) {
  const ResolvedReference& ref = operands_.reference(in.a);
  const Located at = operands_.locate(ref, here);
  hooks_.before_get(here, ref.array, at.block);
  puts_.before_use(ref.array, at.block);
  context_.env.store.fetch().get(ref.array, at.block, at.size, context_.place(here));
  hooks_.after_get(here, ref.array, at.block);
}

PutHandlers::PutHandlers(const RunContext& context, const Registers& registers, const DeviceExecution& device,
                         const BlockMemory& memory, PutExecution& puts, Operands& operands, LoopHooks& hooks,
                         Profile& profile)
    : context_(context),
      registers_(registers),
      device_(device),
      memory_(memory),
      puts_(puts),
      operands_(operands),
      hooks_(hooks),
      profile_(profile) {}

void PutHandlers::op_put_block(const Instruction& in, Statement here) {
  const PutAs how = static_cast<SetOp>(in.c) == SetOp::add ? PutAs::added : PutAs::stored;
  if (!put_later(in, how, here) && !put_from_device(in, how == PutAs::added, here)) put(in, how, here);
}
void PutHandlers::op_put_combined(const Instruction& in, Statement here) {
  if (!put_later(in, PutAs::combined, here)) put(in, PutAs::combined, here);
}
void PutHandlers::op_put_move(const Instruction& in, Statement here) {
  if (!put_later(in, PutAs::moved, here) && !put_from_device(in, false, here)) put(in, PutAs::moved, here);
}

/// Names correspond in order; what one side has more is simple (extent 1), so the elements correspond in memory order.
ConstView PutHandlers::source_of(const Instruction& in, const Located& at, Statement here) {
  const ConstView source = operands_.read(in.b, here);
  const int common = std::min(at.shape.rank, source.rank);
  if (std::equal(at.shape.extent.begin(), at.shape.extent.begin() + common, source.extent.begin()) &&
      view_size(source) == at.size)
    return source;
  context_.fail(here,
                fmt::format("the shapes differ: `{}` has extents ({}), the source ({})",
                            block_name(operands_.array_of(operands_.reference(in.a)), at.block),
                            fmt::join(at.shape.extent.begin(), at.shape.extent.begin() + at.shape.rank, ","),
                            fmt::join(source.extent.begin(), source.extent.begin() + source.rank, ",")),
                "both sides must cover segments of the same extents");
}

void PutHandlers::put(const Instruction& in, PutAs how, Statement here) {
  const ResolvedReference& ref = operands_.reference(in.a);
  profile_.count_block_operation();
  const Located at = operands_.locate(ref, here);
  hooks_.before_put(here, ref.array, at.block);
  const ConstView source = source_of(in, at, here);
  puts_.before_use(ref.array, at.block);
  if (context_.model && op_cost(in.op) == OpCost::send) context_.model->charge_statement(here.pc, at.size, at.size);
  if (how != PutAs::shared || !put_held(in, at, here)) store(how, ref.array, at, source, here);
  hooks_.after_put(here, ref.array, at.block);
}

/// The source is a fetched block that the store can share; false, with nothing done, where it cannot.
bool PutHandlers::put_held(const Instruction& in, const Located& at, Statement here) {
  const ResolvedReference& from = operands_.reference(in.b);
  const BlockIndex block = operands_.locate(from, here).block;
  return context_.env.store.update().put_held(operands_.reference(in.a).array, at.block, at.size, from.array, block,
                                              context_.place(here));
}

/// From contiguous data: the source's own where it is dense, a scratch copy otherwise.
void PutHandlers::store(PutAs how, ArrayId array, const Located& at, const ConstView& source, Statement here) {
  if (is_dense(source)) {
    puts_.store(how, array, at.block, at.size, source.data, here);
    if (device_.cache() && how != PutAs::moved) puts_.record_stored(source.data);
    return;
  }
  const std::int64_t size = view_size(source);
  double* scratch = memory_.allocate(size);
  if (!context_.model) copy_view(dense_like(scratch, source), source);
  puts_.store(how, array, at.block, at.size, scratch, here);
  memory_.release(scratch, size);
}

/// The rank's own block that is put as a whole; false where it has none, or the statement has a mistake.
bool PutHandlers::own_source(const Instruction& in, Located& at, HostBlock& host, Statement here) const {
  const ResolvedReference& source = operands_.reference(in.b);
  if (is_remote(source.kind) || source.has_box) return false;
  at = operands_.locate(in.a, here);
  const Located from = operands_.locate(source, here);
  MutableView view;
  if (!operands_.find(source, from, view, here)) return false;
  const int common = std::min(at.shape.rank, view.rank);
  if (at.size != from.size ||
      !std::equal(at.shape.extent.begin(), at.shape.extent.begin() + common, view.extent.begin()))
    return false;
  host = operands_.host_block(source, from, view);
  return true;
}

bool PutHandlers::put_later(const Instruction& in, PutAs how, Statement here) {
  if (!puts_.defers()) return false;
  const ArrayKind kind = operands_.reference(in.b).kind;
  if (kind != ArrayKind::temp && kind != ArrayKind::local) return false;
  DeferredPut put;
  Located at;
  if (!own_source(in, at, put.source, here)) return false;
  put.pc = here.pc;
  put.how = how;
  put.array = operands_.reference(in.a).array;
  put.block = at.block;
  if (!puts_.defer(std::move(put))) return false;
  hooks_.before_put(here, operands_.reference(in.a).array, at.block);
  hooks_.after_put(here, operands_.reference(in.a).array, at.block);
  return true;
}

bool PutHandlers::put_from_device(const Instruction& in, bool add, Statement here) {
  if (!device_.cache() || context_.env.transport.node_count() < 2) return false;
  const ArrayId array = operands_.reference(in.a).array;
  Located at;
  HostBlock source;
  if (!own_source(in, at, source, here) || !context_.env.store.update().leaves_node(array, at.block)) return false;
  puts_.before_use(array, at.block);
  if (!puts_.send_from_device(source, add, array, at.block, here)) return false;
  hooks_.before_put(here, array, at.block);
  hooks_.after_put(here, array, at.block);
  profile_.count_block_operation();
  return true;
}

void PutHandlers::op_put_scalar(const Instruction& in, Statement here) {
  const ResolvedReference& ref = operands_.reference(in.a);
  const Located at = operands_.locate(ref, here);
  hooks_.before_put(here, ref.array, at.block);
  puts_.before_use(ref.array, at.block);
  const double value = registers_.scalar(in.b);
  BlockUpdate& update = context_.env.store.update();
  const Place place = context_.place(here);
  switch (static_cast<SetOp>(in.c)) {
    case SetOp::assign: update.fill(ref.array, at.block, at.size, value, place); break;
    case SetOp::add: update.increment(ref.array, at.block, at.size, value, place); break;
    case SetOp::subtract: update.increment(ref.array, at.block, at.size, -value, place); break;
    case SetOp::scale: update.scale(ref.array, at.block, at.size, value, place); break;
  }
  hooks_.after_put(here, ref.array, at.block);
}

}  // namespace sial
