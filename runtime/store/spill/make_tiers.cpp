#include "runtime/store/spill/make_tiers.h"

#include <array>
#include <atomic>
#include <cstring>

#include "runtime/base/check.h"
#include "runtime/base/error.h"
#include "runtime/tier/disk_tier.h"

namespace sial {

namespace {

/// What the first rank of a node tells the others of a file. Zero-filled: nothing yet.
struct SharedFile {
  std::atomic<std::uint32_t> ready;
  std::uint64_t capacity;
  std::array<char, 1024> path;
};

std::unique_ptr<SpillFile> create(const TierRequest& request, SharedFile& shared) {
  SpillFileOptions options;
  options.cap = request.bytes;
  auto file = SpillFile::create(request.directory, options);
  const std::string path = file->path_for_others();
  SIAL_CHECK(path.size() < shared.path.size(), "a path of {} characters", path.size());
  path.copy(shared.path.data(), path.size());
  shared.capacity = file->capacity();
  shared.ready.store(1, std::memory_order_release);
  return file;
}

std::unique_ptr<SpillFile> open(const TierRequest& request, const SharedFile& shared, Transport& transport) {
  while (shared.ready.load(std::memory_order_acquire) == 0) transport.pause();
  SpillFileOptions options;
  options.cap = request.bytes;
  return SpillFile::open(shared.path.data(), request.directory, shared.capacity, options);
}

}  // namespace

TierList make_tiers(Transport& transport, const SpillRequest& request) {
  for (const TierRequest& r : request)
    if (r.kind == TierKind::nodes)
      throw EnvironmentError("`--spill nodes`: the memory of other nodes cannot be used yet",
                             "give `--spill` a directory on a local disk");
  if (request.empty()) return {};
  const auto memory = transport.map_node_memory(request.size() * sizeof(SharedFile), "names of spill files");
  memory->commit(0, request.size() * sizeof(SharedFile));
  auto* shared = reinterpret_cast<SharedFile*>(memory->base());
  TierList tiers;
  for (std::size_t i = 0; i < request.size(); ++i)
    tiers.push_back(std::make_shared<DiskTier>(transport.node_rank() == 0 ? create(request[i], shared[i])
                                                                          : open(request[i], shared[i], transport)));
  return tiers;
}

}  // namespace sial
