// Statements about devices. Block operations run on the device by intent wherever they stand: what lies outside of
// gpu_on ... gpu_off runs there too, because most programs say nothing of devices, and because at each border what is
// being worked on would cross the bus twice. The others are carried out where there is a device with memory of its own,
// and cannot change what a program computes: a block that does not exist, or is still on its way from another node, is
// left alone, as is a name without a block under it, which is an error only when used.

#include <algorithm>

#include "runtime/device/cache/block_cache.h"
#include "runtime/interp/control/slice_check.h"
#include "runtime/interp/machine.h"

namespace sial {

/// Where the block lies in the host's memory, and the view of all of it; null where this rank has no such block at
/// present.
const double* Machine::block_if_any(const ResolvedReference& ref, const Located& at, MutableView& view) {
  const double* data = nullptr;
  switch (ref.kind) {
    case ArrayKind::temp:
    case ArrayKind::local: {
      const BlockMap::Entry* found = blocks_[ref.array].find(at.key);
      data = found ? found->data : nullptr;
      break;
    }
    case ArrayKind::static_:
      if (!statics_[ref.array]) return nullptr;
      static_view(ref, at, view);
      return view.data;
    case ArrayKind::contiguous_local: return region_block_view(ref, at, view) ? view.data : nullptr;
    case ArrayKind::distributed:
    case ArrayKind::served: data = env_.store.fetch().at_hand(ref.array, at.block, at.size); break;
  }
  if (data) view_of(ref, at, const_cast<double*>(data), view);  // looked at only
  return data;
}

void Machine::hint_residency(const ResolvedReference& ref, const Located& at, ResidencyHint what) {
  if (at.size == 0) return;
  MutableView view;
  if (!block_if_any(ref, at, view)) {
    if (what == ResidencyHint::reserve && !is_remote(ref.kind)) copies_->hints().reserve(at.size, statement());
    return;
  }
  const HostBlock host = host_block(ref, at, view);
  switch (what) {
    case ResidencyHint::reserve: copies_->hints().reserve(host, statement()); break;
    case ResidencyHint::prefetch: copies_->hints().prefetch(host, statement()); break;
    case ResidencyHint::write_back: copies_->hints().write_back(host.data, statement()); break;
    case ResidencyHint::evict: copies_->hints().evict(host.data, statement()); break;
  }
}

void Machine::hint_residency(const Instruction& in, ResidencyHint what) {
  if (!copies_) return;
  const ArgRow& arg = m_->args[in.a];
  Located at;
  if (arg.kind == ArgKind::block) {
    const ResolvedReference& ref = bound_.refs[arg.id];
    try {
      locate(ref, at);
    } catch (const SialError&) {
      return;  // no such block
    }
    hint_residency(ref, at, what);
    return;
  }
  if (arg.kind != ArgKind::array) return;  // scalars stay with the host
  const BoundArray& array = bound_.arrays[arg.id];
  if (!array.problem.empty()) return;
  ResolvedReference each;
  each.array = arg.id;
  each.rank = array.rank;
  each.kind = array.kind;
  std::array<std::int32_t, max_rank> lo{}, hi{};
  for (int d = 0; d < array.rank; ++d) {
    lo[d] = array.dim[d].lo;
    hi[d] = array.dim[d].hi;
  }
  walk_blocks(array, lo, hi, at, [&](const Located& block) { hint_residency(each, block, what); });
}

/// The rank's own block that is put as a whole; false where it has none, or the statement has a mistake.
bool Machine::own_source(const Instruction& in, Located& at, HostBlock& host) {
  const ResolvedReference& source = bound_.refs[in.b];
  if (is_remote(source.kind) || source.has_box) return false;
  Located from;
  locate(bound_.refs[in.a], at);
  locate(source, from);
  MutableView view;
  if (!block_if_any(source, from, view)) return false;
  const int common = std::min(at.shape.rank, view.rank);
  if (at.size != from.size ||
      !std::equal(at.shape.extent.begin(), at.shape.extent.begin() + common, view.extent.begin()))
    return false;
  host = host_block(source, from, view);
  return true;
}

bool Machine::put_from_device(const Instruction& in, bool add) {
  if (!copies_ || env_.transport.node_count() < 2) return false;
  const std::int32_t array = bound_.refs[in.a].array;
  Located at;
  HostBlock source;
  if (!own_source(in, at, source) || !env_.store.update().leaves_node(array, at.block)) return false;
  before_use(array, at.block);
  if (!send_from_device(source, add, array, at.block)) return false;
  if (slice_check_) slice_check_->put(array, at.block);
  ++block_operations_;
  return true;
}

bool Machine::send_from_device(const HostBlock& source, bool add, std::int32_t array, const BlockIndex& block) {
  std::unique_ptr<OutgoingBlock> values =
      copies_->outgoing().send(source.buffer, source.data, env_.device_messages_direct, statement());
  if (!values) return false;
  count(elided_, array, source.size());
  env_.store.update().put_from(std::move(values), add, array, block, source.size(), place());
  return true;
}

void Machine::op_gpu_on(const Instruction&) {}
void Machine::op_gpu_off(const Instruction&) {}
void Machine::op_gpu_allocate(const Instruction& in) { hint_residency(in, ResidencyHint::reserve); }
void Machine::op_gpu_free(const Instruction& in) { hint_residency(in, ResidencyHint::evict); }
void Machine::op_gpu_put(const Instruction& in) { hint_residency(in, ResidencyHint::prefetch); }
void Machine::op_gpu_get(const Instruction& in) { hint_residency(in, ResidencyHint::write_back); }

}  // namespace sial
