#include "runtime/core/store/remote/array_requests.h"

#include <algorithm>
#include <bit>

#include "runtime/core/base/check.h"

namespace sial {

void ArrayRequests::control(NodeId node, RequestHeader request) {
  if (context_.homes.is_here(node)) {
    switch (request.kind) {
      case RequestKind::drop: context_.node.drop(request.key.array, request.key.generation); break;
      case RequestKind::transfer:
        context_.node.transfer(request.key.array, request.key.generation, request.to_array, request.to_generation,
                               request.move);
        break;
      default: SIAL_CHECK(false, "request {} to this rank's own node", static_cast<int>(request.kind));
    }
    return;
  }
  request.access = context_.access({context_.arrays.program(), -1});
  ++context_.stats.messages_sent;
  context_.transport.request(context_.homes.first_of(node), to_bytes(request), {}, {}, Priority::demand)->wait();
}

void ArrayRequests::announce_arrays() {
  for (const NodeId node : context_.homes.in_charge()) {
    if (context_.homes.is_here(node)) continue;
    for (const RemoteArray& a : context_.arrays.all()) {
      if (a.info.name.empty()) continue;
      RequestHeader request;
      request.kind = RequestKind::announce;
      request.key.array = context_.arrays.number(a.info.id);
      a.info.name.copy(request.name, sizeof(request.name) - 1);
      control(node, request);
    }
  }
}

void ArrayRequests::drop(std::span<const BlockKey> keys) {
  for (const NodeId node : context_.homes.in_charge())
    for (const BlockKey& key : keys) {
      RequestHeader request;
      request.kind = RequestKind::drop;
      request.key = key;
      control(node, request);
    }
}

void ArrayRequests::transfer(const BlockKey& from, std::uint64_t to_array, std::uint32_t to_generation, bool move) {
  RequestHeader request;
  request.kind = RequestKind::transfer;
  request.key = from;
  request.to_array = to_array;
  request.to_generation = to_generation;
  request.move = move;
  for (const NodeId node : context_.homes.in_charge()) control(node, request);
}

void ArrayRequests::apply_contributions() {
  if (is_home_) context_.node.apply_contributions();
  for (const NodeId node : context_.homes.in_charge()) {
    if (context_.homes.is_here(node)) continue;
    RequestHeader request;
    request.kind = RequestKind::apply_contributions;
    control(node, request);
  }
}

std::vector<ListedBlock> ArrayRequests::list(NodeId node, std::uint64_t array, std::uint32_t generation) const {
  if (context_.homes.is_here(node)) return context_.node.list(array, generation);
  std::vector<ListedBlock> all;
  std::int64_t total = 1;
  while (static_cast<std::int64_t>(all.size()) < total) {
    RequestHeader request;
    request.kind = RequestKind::list;
    request.key = {array, generation, {}};
    request.size = static_cast<std::int64_t>(all.size());
    std::vector<ListedBlock> rows(static_cast<std::size_t>(rows_per_reply));
    const auto pending = context_.transport.request(context_.homes.first_of(node), to_bytes(request), {},
                                                    std::as_writable_bytes(std::span(rows)), Priority::demand);
    pending->wait();
    ++context_.stats.messages_sent;
    total = read_reply(pending->reply_header()).rows;
    rows.resize(pending->reply_bytes() / sizeof(ListedBlock));
    all.insert(all.end(), rows.begin(), rows.end());
  }
  return all;
}

void ArrayRequests::advance(std::uint64_t array, std::uint32_t generation) {
  if (!context_.node.rank_advanced(array, generation)) return;
  for (const NodeId node : context_.transport.home_nodes()) {
    if (context_.homes.is_here(node)) continue;
    RequestHeader request;
    request.kind = RequestKind::node_advanced;
    request.key = {array, generation, {}};
    puts_.send_control(node, request);
  }
}

void ArrayRequests::wait_until_freed(std::uint64_t array, std::uint32_t generation) {
  constexpr int max_looks = 5000;
  constexpr double max_seconds = 0.05;
  Transport& transport = context_.transport;
  const double start = transport.now();
  for (int look = 0;
       look < max_looks && directory_.find_shelf(array, generation) && transport.now() - start < max_seconds; ++look)
    transport.pause();
}

std::vector<BlockIndex> ArrayRequests::share_of_blocks(std::uint64_t array, std::uint32_t generation) const {
  const Transport& transport = context_.transport;
  std::vector<BlockIndex> mine;
  if (is_home_) {
    const auto all = context_.node.list(array, generation);
    for (std::size_t i = 0; i < all.size(); ++i)
      if (static_cast<int>(i) % transport.node_size() == transport.node_rank()) mine.push_back(all[i].block);
  }
  for (const NodeId node : context_.homes.in_charge())
    if (!context_.homes.is_here(node))
      for (const ListedBlock& b : list(node, array, generation)) mine.push_back(b.block);
  return mine;
}

std::optional<std::vector<double>> ArrayRequests::copy_of_block(const BlockKey& k, std::uint64_t placement) const {
  const NodeId node = context_.homes.home(placement, k.block);
  const Access unchecked = context_.unchecked();
  if (context_.homes.is_here(node)) {
    Chunk* c = nullptr;
    context_.node.lease(k, -1, unchecked, c);
    if (!c) return std::nullopt;
    std::vector<double> data(c->data(), c->data() + c->doubles);
    context_.drop(c);
    return data;
  }
  RequestHeader request;
  request.kind = RequestKind::get;
  request.key = k;
  request.access = unchecked;
  std::vector<double> data;
  while (true) {  // a size that is not the block's is answered with the right one
    request.size = static_cast<std::int64_t>(data.size());
    const auto pending = context_.transport.request(context_.homes.server_of(node, k.block), to_bytes(request), {},
                                                    std::as_writable_bytes(std::span(data)), Priority::demand);
    pending->wait();
    ++context_.stats.messages_sent;
    const Outcome outcome = read_reply(pending->reply_header()).outcome;
    if (outcome.status == BlockStatus::absent) return std::nullopt;
    if (outcome.status == BlockStatus::ok) return data;
    data.resize(static_cast<std::size_t>(outcome.size));
  }
}

std::optional<LeasedValues> ArrayRequests::hold_block(const BlockKey& k, std::uint64_t placement) const {
  if (context_.spilled || !context_.homes.is_here(context_.homes.home(placement, k.block))) {
    std::optional<std::vector<double>> data = copy_of_block(k, placement);
    if (!data) return std::nullopt;
    const auto copy = std::make_shared<const std::vector<double>>(std::move(*data));
    return LeasedValues{*copy, copy, true};
  }
  Chunk* c = nullptr;
  context_.node.lease(k, -1, context_.unchecked(), c);
  if (!c) return std::nullopt;
  NodeHeap& heap = context_.heap;
  heap.begin_passing(context_.arena);
  return LeasedValues{
      {c->data(), static_cast<std::size_t>(c->doubles)},
      std::shared_ptr<const void>(c, [&heap, c, arena = context_.arena](const void*) { heap.drop_passing(c, arena); }),
      false};
}

void ArrayRequests::set_block(const BlockKey& k, std::uint64_t placement, std::span<const double> data) {
  RequestHeader request;
  request.kind = RequestKind::put;
  request.key = k;
  request.size = static_cast<std::int64_t>(data.size());
  request.access.rank = context_.transport.rank();
  const NodeId node = context_.homes.home(placement, k.block);
  if (context_.homes.is_here(node)) {
    context_.node.put(request.key, request.size, data.data(), request.access);
    return;
  }
  ++context_.stats.messages_sent;
  context_.transport
      .request(context_.homes.server_of(node, k.block), to_bytes(request), std::as_bytes(data), {}, Priority::demand)
      ->wait();
}

bool ArrayRequests::are_same(const BlockKey& a, std::uint64_t placement_a, const BlockKey& b,
                             std::uint64_t placement_b) const {
  if (context_.homes.is_here(context_.homes.home(placement_b, b.block))) {
    // Restoring shares the values; whoever changes one gets another.
    return context_.node.share_value(a, b);
  }
  const auto data = copy_of_block(a, placement_a), theirs = copy_of_block(b, placement_b);
  const auto bits_agree = [](double x, double y) {
    return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
  };
  return data && theirs && std::equal(data->begin(), data->end(), theirs->begin(), theirs->end(), bits_agree);
}

}  // namespace sial
