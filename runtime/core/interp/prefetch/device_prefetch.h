#pragma once
// Blocks that are fetched go to the device before their use, if those that the same get statement fetched before were
// last used there: those that the look-ahead foresees once their values are here, and those of other nodes directly
// from the network, where the transport can, or else as they come. Learns which gets these are, and how many operations
// lie between gets. A hint: nothing is waited for, no result depends on it. Owned by a machine with a device.

#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/core/bytecode/evaluate/slice.h"
#include "runtime/core/device/cache/block_cache.h"
#include "runtime/core/store/store.h"

namespace sial {

class DevicePrefetch final : public IncomingPlaces {
 public:
  /// The block in the host's memory, all but where it lies.
  using Shape = std::function<HostBlock(ArrayId array, const BlockIndex& block)>;
  /// `direct`: the transport receives in the device's memory.
  DevicePrefetch(BlockStore& store, DeviceBlockCache& cache, bool direct, std::size_t instructions, Shape shape)
      : store_(store),
        cache_(cache),
        direct_(direct),
        shape_(std::move(shape)),
        used_where_(instructions, Where::unknown) {}

  /// A get is executed.
  void get();
  /// A statement uses a block as it was fetched, or a private copy of it.
  void used(ArrayId array, const BlockIndex& block, bool on_device);

  enum class Outcome {
    done,       // on its way, or there, or not to be had
    unwanted,   // those before it were not used there, as far as is known
    under_way,  // not here yet
    full,       // nothing more for now
  };
  /// The block that a get will fetch, the `ahead`-th from now.
  Outcome offer(const FetchRequest& get, std::int64_t ahead);

  std::unique_ptr<IncomingBlock> place_for(std::int32_t pc, ArrayId array, const BlockIndex& block,
                                           double* buffer) override;
  void to_host(const double* buffer, std::int32_t pc) override {
    cache_.on_host(buffer, buffer, Intent::read, Statement{pc});
  }

 private:
  enum class Where : std::uint8_t { unknown, host, device };
  BlockStore& store_;
  DeviceBlockCache& cache_;
  const bool direct_;
  Shape shape_;
  std::vector<Where> used_where_;  // by get
  double operations_per_get_ = 1.0;
  std::int64_t operations_ = 0;  // at the last get
};

}  // namespace sial
