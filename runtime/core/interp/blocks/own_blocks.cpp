#include "runtime/core/interp/blocks/own_blocks.h"

#include <algorithm>
#include <set>
#include <utility>

#include "runtime/core/base/fault_injection.h"
#include "runtime/core/checkpoint/record_file.h"
#include "runtime/core/interp/context/checkpoint_records.h"

namespace sial {

OwnBlocks::OwnBlocks(const RunContext& context, const DeviceExecution& device, BlockMemory& memory, PutExecution& puts,
                     Profile& profile)
    : context_(context),
      device_(device),
      memory_(memory),
      puts_(puts),
      profile_(profile),
      blocks_(context.module.arrays.size()) {
  temps_.reserve(256);
}

void OwnBlocks::insert(ArrayId array, std::uint64_t key, double* data, std::int64_t size) {
  blocks_[array.at()].insert(key, data, size);
  if (context_.module.arrays[array.at()].kind == ArrayKind::temp) temps_.created(array, key);
}

double* OwnBlocks::make(ArrayId array, std::uint64_t key, std::int64_t size) {
  double* data = memory_.allocate_for(array, size);
  insert(array, key, data, size);
  return data;
}

void OwnBlocks::share(ArrayId array, std::uint64_t key, double* data, std::int64_t size) {
  BlockMap::Entry* found = blocks_[array.at()].find(key);
  if (!found) return insert(array, key, data, size);
  memory_.release_block(found->data, found->size);
  found->data = data;
}

/// Memory that others hold as well, or that a put still needs, stays as it is; the block gets its own, with its value
/// where that matters: a put would have to wait for that as well.
double* OwnBlocks::leave_shared(ArrayId array, BlockMap::Entry& entry, bool keep, Statement here) {
  if (const std::size_t n = puts_.up_to(entry.data)) {
    if (fault_enabled(Fault::device_deferred_put)) return entry.data;
    if (keep) puts_.carry_out(n);
  }
  device_.complete(entry.data);  // copies under way hold it too
  if (memory_.sole(entry.data) || fault_enabled(Fault::shared_memory_written)) return entry.data;
  if (retired_at_ != here.pc) drop_retired();
  double* fresh = memory_.allocate_for(array, entry.size);
  if (keep) {
    if (!context_.model) std::copy_n(entry.data, entry.size, fresh);
    profile_.count_copied(here, array, entry.size);
  }
  retired_at_ = here.pc;
  retired_.push_back(entry);
  entry.data = fresh;
  return fresh;
}

void OwnBlocks::release_retired() noexcept {
  for (const BlockMap::Entry& e : retired_) memory_.release(e.data, e.size);
  retired_.clear();
}

void OwnBlocks::free(ArrayId array, std::uint64_t key) {
  const BlockMap::Entry e = blocks_[array.at()].remove(key);
  memory_.release_block(e.data, e.size);
}

void OwnBlocks::write_temps(Packer& packer) const { packer.values(temps_.temps()); }

bool OwnBlocks::read_temps(Unpacker& unpacker, std::vector<TempLifetimes::Marks> marks) {
  return temps_.restore(unpacker.values<TempBlock>(), std::move(marks));
}

bool OwnBlocks::temps_fit() {
  const Module& m = context_.module;
  std::set<std::pair<ArrayId, std::uint64_t>> seen;
  for (const TempBlock& t : temps_.temps()) {
    if (t.array == no_array) continue;
    if (t.array.at() >= m.arrays.size() || m.arrays[t.array.at()].kind != ArrayKind::temp ||
        !blocks_[t.array.at()].find(t.key) || !seen.emplace(t.array, t.key).second)
      return false;
  }
  return true;
}

void OwnBlocks::write_blocks(ArrayId array, RecordSink& sink) const {
  blocks_[array.at()].for_each([&](const BlockMap::Entry& e) {
    Packer head;
    head.value(array);
    head.value(e.key);
    sink.record(record_own_block, head, {e.data, static_cast<std::size_t>(e.size)});
  });
}

void OwnBlocks::read_block(ArrayId array, Unpacker& head, std::span<const double> data, const CheckpointFile& file) {
  const auto key = head.value<std::uint64_t>();
  if (size_of_key(array, key) != std::ssize(data)) file.fail_damaged("does not fit the program");
  if (blocks_[array.at()].find(key)) file.fail_damaged("has a block twice");
  double* own = memory_.allocate(std::ssize(data));
  std::copy(data.begin(), data.end(), own);
  blocks_[array.at()].insert(key, own, std::ssize(data));
}

/// Elements of a block, -1 where the array has none of this key.
std::int64_t OwnBlocks::size_of_key(ArrayId id, std::uint64_t key) const {
  const BoundArray& array = context_.bound.arrays[id.at()];
  if ((array.kind != ArrayKind::temp && array.kind != ArrayKind::local) || !array.problem.empty()) return -1;
  std::int64_t size = 1;
  for (int d = array.rank - 1; d >= 0; --d) {
    const BoundDim& dim = array.dim[d];
    const std::uint64_t number = key / dim.key_stride;
    if (number >= static_cast<std::uint64_t>(dim.count())) return -1;
    key %= dim.key_stride;
    size *= dim.extent_of(dim.lo + static_cast<std::int32_t>(number));
  }
  return size;
}

void OwnBlocks::release_all() noexcept {
  for (const BlockMap& map : blocks_) map.for_each([&](const BlockMap::Entry& e) { memory_.release(e.data, e.size); });
}

}  // namespace sial
