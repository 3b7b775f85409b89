#include "runtime/core/transport/transport.h"

#include <algorithm>
#include <chrono>

#include "runtime/core/base/check.h"

namespace sial {

void Transport::broadcast_text(std::string& text, int root, CollectiveTag tag) {
  std::int64_t size = std::ssize(text);
  broadcast(std::as_writable_bytes(std::span(&size, 1)), root, tag);
  text.resize(static_cast<std::size_t>(size));
  if (size > 0) broadcast(std::as_writable_bytes(std::span(text)), root, tag);
}

int Transport::node_rank() const {
  const auto& ranks = ranks_of_node(node());
  const auto it = std::find(ranks.begin(), ranks.end(), rank());
  SIAL_CHECK(it != ranks.end(), "rank {} is not listed on its node {}", rank(), node());
  return static_cast<int>(it - ranks.begin());
}

int Transport::node_size() const { return static_cast<int>(ranks_of_node(node()).size()); }

int Transport::worker_nodes() const {
  int nodes = 0;
  while (nodes < node_count() && ranks_of_node(NodeId(nodes)).front() < size()) ++nodes;
  return nodes;
}

void Transport::linger(double seconds) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < until) pause();
}

void Transport::serve_forever() { SIAL_CHECK(false, "rank {} is no server", rank()); }

std::unique_ptr<RemoteMemory> Transport::open_remote_memory(MemoryProvider&) {
  SIAL_CHECK(false, "rank {} has no other node to provide memory to", rank());
  return nullptr;
}

}  // namespace sial
