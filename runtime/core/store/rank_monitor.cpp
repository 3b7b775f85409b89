#include "runtime/core/store/rank_monitor.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/core/store/remote/messages.h"

namespace sial {

namespace {

bool provides_memory(const StoreOptions& options) {
  return std::any_of(options.spill.begin(), options.spill.end(),
                     [](const TierRequest& t) { return t.kind == TierKind::nodes; });
}

}  // namespace

StoreStats RankMonitor::stats() const {
  StoreStats s = context_.stats;
  s.bytes_copied += context_.node.counters().bytes_copied;
  s.lock_seconds += context_.node.counters().lock_seconds;
  for (const SpilledBlocks* spilled : {static_cast<const SpilledBlocks*>(context_.spilled), spilled_for_others_})
    if (spilled) add(s.tier, spilled->counts());
  if (context_.spilled)
    s.tier.bytes_high_water = static_cast<std::int64_t>(context_.spilled->area().bytes_high_water());
  if (service_) {
    s.requests_served = service_->served();
    s.handler_seconds = service_->busy_seconds();
  }
  return s;
}

/// Each server is a node.
void RankMonitor::ask_servers(RequestKind kind, std::span<std::byte> payload,
                              const std::function<void(const ReplyHeader&)>& use) {
  for (const NodeId node : context_.transport.home_nodes()) {
    const int first = context_.homes.first_of(node);
    if (first < context_.transport.size()) continue;
    RequestHeader request;
    request.kind = kind;
    const auto pending = context_.transport.request(first, to_bytes(request), {}, payload, Priority::demand);
    pending->wait();
    use(read_reply(pending->reply_header()));
  }
}

std::int64_t RankMonitor::server_peak() {
  std::int64_t max_bytes = 0;
  ask_servers(RequestKind::memory_peak, {},
              [&](const ReplyHeader& reply) { max_bytes = std::max(max_bytes, reply.rows); });
  return max_bytes;
}

TierStats RankMonitor::take_server_tiers() {
  TierStats sum, one;
  ask_servers(RequestKind::tiers, std::as_writable_bytes(std::span(&one, 1)), [&](const ReplyHeader&) {
    const std::int64_t most = std::max(sum.bytes_high_water, one.bytes_high_water);
    add(sum, one);
    sum.bytes_high_water = most;
  });
  return sum;
}

std::vector<std::pair<std::string, std::int64_t>> RankMonitor::memory_held() const {
  std::vector<std::pair<std::string, std::int64_t>> held;
  const auto add = [&](const std::string& what, std::uint64_t number, std::uint32_t generation) {
    std::int64_t bytes = 0;
    for (const ListedBlock& b : context_.node.list(number, generation)) bytes += b.in_heap ? b.size * 8 : 0;
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
    held.emplace_back(provides_memory(context_.options) ? "the block directory, and what is lent to other nodes"
                                                        : "the block directory",
                      directory);
  if (copies_.bytes() > 0)
    held.emplace_back("copies of other nodes' blocks", static_cast<std::int64_t>(copies_.bytes()));
  return held;
}

}  // namespace sial
