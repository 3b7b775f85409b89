#include "runtime/store/rank_monitor.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/store/remote/messages.h"

namespace sial {

StoreStats RankMonitor::stats() const {
  StoreStats s = context_.stats;
  s.bytes_copied += context_.node.counters().bytes_copied;
  s.lock_seconds += context_.node.counters().lock_seconds;
  if (service_) {
    s.requests_served = service_->served();
    s.handler_seconds = service_->busy_seconds();
  }
  return s;
}

std::int64_t RankMonitor::server_peak() {
  std::int64_t max_bytes = 0;
  for (const NodeId node : context_.transport.home_nodes()) {
    const int first = context_.homes.first_of(node);
    if (first < context_.transport.size()) continue;
    RequestHeader request;
    request.kind = RequestKind::memory_peak;
    const auto pending = context_.transport.request(first, to_bytes(request), {}, {}, Priority::demand);
    pending->wait();
    max_bytes = std::max(max_bytes, read_reply(pending->reply_header()).rows);
  }
  return max_bytes;
}

std::vector<std::pair<std::string, std::int64_t>> RankMonitor::memory_held() const {
  std::vector<std::pair<std::string, std::int64_t>> held;
  const auto add = [&](const std::string& what, std::uint64_t number, std::uint32_t generation) {
    std::int64_t bytes = 0;
    for (const ListedBlock& b : context_.node.list(number, generation)) bytes += b.size * 8;
    if (bytes > 0) held.emplace_back(what, bytes);
  };
  for (const RemoteArray& a : context_.arrays.all())
    if (!a.info.name.empty())
      add(fmt::format("array `{}` on this node", a.info.name), context_.arrays.number(a.info.id), a.generation);
  const LabelTable& labels = snapshots_.table();
  for (const std::string& label : labels.names())
    add(fmt::format("what was saved as \"{}\" on this node", label), labels.find(label)->number,
        labels.find(label)->generation);
  if (const std::int64_t directory = context_.heap.bytes_not_counted(); directory > 0)
    held.emplace_back("the block directory", directory);
  if (copies_.bytes() > 0)
    held.emplace_back("copies of other nodes' blocks", static_cast<std::int64_t>(copies_.bytes()));
  return held;
}

}  // namespace sial
