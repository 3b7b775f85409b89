#include "runtime/core/store/spill/make_tiers.h"

#include <array>
#include <atomic>
#include <cstring>

#include "runtime/core/base/check.h"
#include "runtime/core/base/error.h"
#include "runtime/core/store/spill/memory_provider.h"
#include "runtime/core/store/spill/nodes_tier.h"
#include "runtime/core/tier/disk_tier.h"

namespace sial {

namespace {

/// The first rank's message to the others of a node about a file. Zero-filled: nothing yet.
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

bool only_serves(const Transport& transport, NodeId node) {
  return transport.ranks_of_node(node).front() >= transport.size();
}

std::shared_ptr<Tier> memory_of_nodes(Transport& transport, const TierRequest& request, const StoreOptions& options,
                                      NodeHeap& heap) {
  if (transport.node_count() == 1)
    throw EnvironmentError("`--spill nodes`: there is no other node whose memory could be used",
                           "run on several machines, or with `--servers`; or give `--spill` a folder on a local disk");
  if (request.bytes == 0 && !only_serves(transport, NodeId(transport.node_count() - 1)))
    throw EnvironmentError("`--spill nodes`: there are no servers, and nodes that compute lend only what they are told",
                           "say how much each node lends, as in `--spill nodes:2GB`, or run with `--servers`");
  std::vector<ProviderNode> servers, workers;
  for (int n = 0; n < transport.node_count(); ++n) {
    const NodeId node(n);
    if (node == transport.node()) continue;
    const bool serves = only_serves(transport, node);
    if (!serves && request.bytes == 0) continue;
    const std::uint64_t memory = serves && options.memory_of_server > 0
                                     ? options.memory_of_server
                                     : options.memory_per_rank * transport.ranks_of_node(node).size();
    const std::uint64_t most = request.bytes > 0 ? std::min<std::uint64_t>(request.bytes, memory) : memory;
    (serves ? servers : workers).push_back({node, most});
  }
  const std::size_t workers_at = servers.size();
  servers.insert(servers.end(), workers.begin(), workers.end());
  auto provider = std::make_unique<NodeMemoryProvider>(
      heap, transport.node_rank(), ProviderLimits{request.bytes, only_serves(transport, transport.node())});
  return std::make_shared<NodesTier>(transport, std::move(provider), std::move(servers), workers_at);
}

}  // namespace

TierList make_tiers(Transport& transport, const StoreOptions& options, NodeHeap& heap) {
  const SpillRequest& request = options.spill;
  if (request.empty()) return {};
  const auto memory = transport.map_node_memory(request.size() * sizeof(SharedFile), "names of spill files");
  memory->commit(0, request.size() * sizeof(SharedFile));
  auto* shared = reinterpret_cast<SharedFile*>(memory->base());
  TierList tiers;
  for (std::size_t i = 0; i < request.size(); ++i)
    tiers.push_back(request[i].kind == TierKind::nodes
                        ? memory_of_nodes(transport, request[i], options, heap)
                        : std::make_shared<DiskTier>(transport.node_rank() == 0
                                                         ? create(request[i], shared[i])
                                                         : open(request[i], shared[i], transport)));
  return tiers;
}

}  // namespace sial
