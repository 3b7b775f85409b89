#include "runtime/core/interp/blocks/operands.h"

#include <algorithm>

namespace sial {
Operands::Operands(const RunContext& context, const Registers& registers, const LoopStack& loops,
                   DeviceExecution& device, PutExecution& puts, OwnBlocks& own, Statics& statics, Regions& regions)
    : context_(context),
      registers_(registers),
      loops_(loops),
      device_(device),
      puts_(puts),
      own_(own),
      statics_(statics),
      regions_(regions) {}

MutableView Operands::resolve(std::int32_t ref_id, Intent intent, Statement here) {
  const ResolvedReference& ref = reference(ref_id);
  const Located at = locate(ref, here);
  MutableView view = intent == Intent::read ? to_read(ref, at, here) : to_write(ref, at, intent, here);
  if (!device_.cache()) return view;
  if (intent != Intent::read) device_.set_written(ref.array, at.block);
  place(ref, at, intent, here, view);
  return view;
}

double* Operands::own_data(const ResolvedReference& ref, const Located& at, Statement here) const {
  double* data = own_.find(ref.array, at.key);
  if (!data) fail_absent(ref, at.block, here);
  return data;
}

MutableView Operands::to_read(const ResolvedReference& ref, const Located& at, Statement here) const {
  switch (ref.kind) {
    case ArrayKind::temp:
    case ArrayKind::local: return block_view(ref, at, own_data(ref, at, here));
    case ArrayKind::static_: return static_view(ref, at, here);
    case ArrayKind::contiguous_local: return existing_region_view(ref, at, here);
    case ArrayKind::distributed:
    case ArrayKind::served: {
      BlockFetch& fetch = context_.env.store.fetch();
      // Work for the device while this rank waits for another one.
      DeviceBlockCache* cache = device_.cache();
      if (cache && cache->operations().work_waits() && !fetch.at_hand(ref.array, at.block, at.size))
        cache->operations().start_work();
      // A reader gets the view as a ConstView only.
      return block_view(ref, at, const_cast<double*>(fetch.read(ref.array, at.block, at.size, context_.place(here))));
    }
  }
  return {};
}

MutableView Operands::to_write(const ResolvedReference& ref, const Located& at, Intent intent, Statement here) {
  switch (ref.kind) {
    case ArrayKind::temp:
    case ArrayKind::local: return block_view(ref, at, own_to_write(ref, at, intent, here));
    case ArrayKind::static_: return static_view(ref, at, here);
    case ArrayKind::contiguous_local: return existing_region_view(ref, at, here);
    case ArrayKind::distributed:
    case ArrayKind::served: return block_view(ref, at, remote_to_write(ref, at, intent, here));
  }
  return {};
}

double* Operands::own_to_write(const ResolvedReference& ref, const Located& at, Intent intent, Statement here) {
  const bool creates = intent == Intent::write;
  if (double* data = own_.find_to_write(ref.array, at.key, !creates || ref.has_box, here)) return data;
  if (!creates) fail_absent(ref, at.block, here);
  double* data = own_.make(ref.array, at.key, at.size);
  // A part of a block that does not exist yet: the rest must be defined, so it starts as zeros.
  if (ref.has_box && !context_.model) std::fill_n(data, at.size, 0.0);
  return data;
}

/// Writes to a private copy: the remote block that others see is changed by puts only.
double* Operands::remote_to_write(const ResolvedReference& ref, const Located& at, Intent intent, Statement here) {
  BlockFetch& fetch = context_.env.store.fetch();
  puts_.before_use(ref.array, at.block);
  const bool held = fetch.held(ref.array, at.block);
  if (const double* own = device_.cache() ? fetch.own_copy(ref.array, at.block) : nullptr) device_.complete(own);
  const bool keep = intent == Intent::update || (ref.has_box && held);
  double* data = fetch.private_copy(ref.array, at.block, at.size, keep, context_.place(here));
  if (ref.has_box && !keep && !context_.model) std::fill_n(data, at.size, 0.0);
  return data;
}

MutableView Operands::static_view(const ResolvedReference& ref, const Located& at, Statement here) const {
  return static_block_view(ref, array_of(ref), at, statics_.data(ref.array, here));
}

/// False where no region around the block is allocated.
bool Operands::region_view(const ResolvedReference& ref, const Located& at, MutableView& view) const {
  const RegionBounds bounds{at.block.segment, at.block.segment};
  const Region* region = regions_.around(ref.array, bounds);
  if (!region) return false;
  view = regions_.part(ref.array, *region, bounds);
  narrow_to(ref, at, view);
  return true;
}

MutableView Operands::existing_region_view(const ResolvedReference& ref, const Located& at, Statement here) const {
  MutableView view;
  if (!region_view(ref, at, view)) fail_absent(ref, at.block, here);
  return view;
}

HostBlock Operands::host_block(const ResolvedReference& ref, const Located& at, const MutableView& view) const {
  HostBlock host;
  host.array = ref.array;
  host.rank = ref.rank;
  host.data = view.data;
  for (int d = 0; d < ref.rank; ++d) {
    host.extent[d] = at.shape.extent[d];
    host.stride[d] = view.stride[d];
    if (ref.has_box) host.data -= at.box_offset[d] * view.stride[d];
  }
  host.fetched = is_remote(ref.kind);
  host.buffer = host.data;
  host.buffer_size = at.size;
  if (ref.kind == ArrayKind::static_) {
    host.buffer = statics_.find(ref.array);
    host.buffer_size = array_of(ref).whole.size();
  } else if (ref.kind == ArrayKind::contiguous_local) {
    const Region* region = regions_.around(ref.array, {at.block.segment, at.block.segment});
    host.buffer = region->data;
    host.buffer_size = region->shape.size();
  }
  return host;
}

/// `view` is of the host's memory: of the block, or of a part of it, which is never all that a write replaces. It
/// becomes one of the device's copy while an operation runs there.
void Operands::place(const ResolvedReference& ref, const Located& at, Intent intent, Statement here,
                     MutableView& view) const {
  if (ref.has_box && intent == Intent::write) intent = Intent::update;
  const HostBlock host = host_block(ref, at, view);
  if (device_.prefetch() && is_remote(ref.kind)) device_.prefetch()->used(ref.array, at.block, device_.active());
  if (!device_.active()) {
    device_.cache()->on_host(host.buffer, host.data, intent, here);
    return;
  }
  view.data = device_.cache()->operations().operand(host, intent, here);
  std::int64_t stride = 1;
  for (int d = 0; d < ref.rank; ++d) {
    view.stride[d] = stride;
    if (ref.has_box) view.data += at.box_offset[d] * stride;
    stride *= at.shape.extent[d];
  }
}

const double* Operands::find(const ResolvedReference& ref, const Located& at, MutableView& view, Statement here) const {
  const double* data = nullptr;
  switch (ref.kind) {
    case ArrayKind::temp:
    case ArrayKind::local: data = own_.find(ref.array, at.key); break;
    case ArrayKind::static_:
      if (!statics_.find(ref.array)) return nullptr;
      view = static_view(ref, at, here);
      return view.data;
    case ArrayKind::contiguous_local: return region_view(ref, at, view) ? view.data : nullptr;
    case ArrayKind::distributed:
    case ArrayKind::served: data = context_.env.store.fetch().at_hand(ref.array, at.block, at.size); break;
  }
  if (data) view = block_view(ref, at, const_cast<double*>(data));  // looked at only
  return data;
}

bool Operands::on_device_only(std::int32_t ref_id, Statement here) const {
  const ResolvedReference& ref = reference(ref_id);
  if (ref.kind != ArrayKind::temp && ref.kind != ArrayKind::local) return false;
  const double* found = own_.find(ref.array, locate(ref, here).key);
  return found && device_.cache()->residency(found, found) == Residency::device;
}

}  // namespace sial
