#include "runtime/core/interp/operations/device_handlers.h"

namespace sial {

void DeviceHandlers::hint_block(const ResolvedReference& ref, const Located& at, Hint what, Statement here) {
  if (at.size == 0) return;
  ResidencyHints& hints = device_.cache()->hints();
  MutableView view;
  if (!operands_.find(ref, at, view, here)) {
    if (what == Hint::reserve && !is_remote(ref.kind)) hints.reserve(at.size, here);
    return;
  }
  const HostBlock host = operands_.host_block(ref, at, view);
  switch (what) {
    case Hint::reserve: hints.reserve(host, here); break;
    case Hint::prefetch: hints.prefetch(host, here); break;
    case Hint::write_back: hints.write_back(host.data, here); break;
    case Hint::evict: hints.evict(host.data, here); break;
  }
}

void DeviceHandlers::hint_array(ArrayId id, Hint what, Statement here) {
  const BoundArray& array = context_.bound.arrays[id.at()];
  if (!array.problem.empty()) return;
  ResolvedReference each;
  each.array = id;
  each.rank = array.rank;
  each.kind = array.kind;
  std::array<std::int32_t, max_rank> lo{}, hi{};
  for (int d = 0; d < array.rank; ++d) {
    lo[d] = array.dim[d].lo;
    hi[d] = array.dim[d].hi;
  }
  Located at;
  walk_blocks(array, lo, hi, at, [&](const Located& block) { hint_block(each, block, what, here); });
}

void DeviceHandlers::hint(const Instruction& in, Hint what, Statement here) {
  if (!device_.cache()) return;
  const ArgRow& arg = context_.module.args[in.a];
  if (arg.kind == ArgKind::array) hint_array(ArrayId(arg.id), what, here);
  if (arg.kind != ArgKind::block) return;  // scalars stay with the host
  const ResolvedReference& ref = operands_.reference(arg.id);
  Located at;
  try {
    at = operands_.locate(ref, here);
  } catch (const SialError&) {
    return;  // no such block
  }
  hint_block(ref, at, what, here);
}

}  // namespace sial
