#include "runtime/core/interp/prefetch/device_prefetch.h"

namespace sial {

namespace {

constexpr double weight_of_last = 0.1;

}  // namespace

void DevicePrefetch::get() {
  const std::int64_t now = cache_.stats().operations;
  operations_per_get_ += weight_of_last * (static_cast<double>(now - operations_) - operations_per_get_);
  operations_ = now;
}

void DevicePrefetch::used(ArrayId array, const BlockIndex& block, bool on_device) {
  const std::int32_t get = store_.fetch().got_at(array, block).pc;
  if (get >= 0) used_where_[static_cast<std::size_t>(get)] = on_device ? Where::device : Where::host;
}

std::unique_ptr<IncomingBlock> DevicePrefetch::place_for(std::int32_t pc, ArrayId array, const BlockIndex& block,
                                                         double* buffer) {
  if (used_where_[static_cast<std::size_t>(pc)] != Where::device) return nullptr;
  HostBlock host = shape_(array, block);
  host.data = buffer;
  host.buffer = buffer;
  return direct_ ? cache_.incoming().receive_direct(host) : cache_.incoming().receive_pipelined(host, Statement{pc});
}

DevicePrefetch::Outcome DevicePrefetch::offer(const FetchRequest& get, std::int64_t ahead) {
  if (used_where_[static_cast<std::size_t>(get.pc)] != Where::device) return Outcome::unwanted;
  HostBlock host = shape_(get.array, get.block);
  const std::int64_t size = host.size();
  if (size == 0) return Outcome::done;
  const BlockLookAhead::Foreseen found = store_.look_ahead().foreseen(get.array, get.block, size, false);
  if (!found.data) return found.under_way ? Outcome::under_way : Outcome::done;
  // Read only: the device's copy of it is.
  host.data = const_cast<double*>(found.data);
  host.buffer = found.data;
  const SpeculativePrefetch::Outcome outcome =
      cache_.prefetcher().prefetch(host, static_cast<double>(ahead) * operations_per_get_, Statement{get.pc});
  store_.buffers().deallocate(host.data, size);
  switch (outcome) {
    case SpeculativePrefetch::Outcome::done:
    case SpeculativePrefetch::Outcome::started: return Outcome::done;
    case SpeculativePrefetch::Outcome::later: return Outcome::under_way;
    case SpeculativePrefetch::Outcome::no_memory: break;
  }
  return Outcome::full;
}

}  // namespace sial
