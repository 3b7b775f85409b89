#include "runtime/core/store/remote/outgoing_puts.h"

#include "runtime/core/base/fault_injection.h"
#include "runtime/core/store/remote/store_errors.h"

namespace sial {

OutgoingPuts::OutgoingPuts(StoreContext& context, RankCache& copies)
    : context_(context),
      copies_(copies),
      outbox_(context.heap, context.arena, context.options.memory_per_rank / 16,
              [this](const Outbox::Item& item, const Outcome& outcome) { record_answer(item, outcome); }) {}

void OutgoingPuts::record_answer(const Outbox::Item& item, const Outcome& outcome) {
  const RequestHeader& h = item.header;
  if (CacheEntry* held = h.kind == RequestKind::node_advanced ? nullptr : copies_.find(item.array, h.key.block)) {
    --held->puts_under_way;
    if (item.payload && held->shared_copy == item.payload) held->home_version = outcome.version;  // retained
  }
  report(context_, outcome, h.kind, item.array, h.key.block, h.size, h.access.place);
}

void OutgoingPuts::send(CacheEntry& h, NodeId node, const RequestHeader& request, Chunk* data,
                        std::unique_ptr<OutgoingBlock> outgoing, const double* in_place) {
  const bool orderless = request.kind == RequestKind::accumulate || request.kind == RequestKind::increment;
  if (h.puts_under_way > 0 && !(orderless && h.put_order == PutOrder::any) &&
      !fault_enabled(Fault::store_order_of_puts))
    complete(h);
  Outbox::Item item;
  item.array = h.array;
  item.header = request;
  item.payload = data;
  item.outgoing = std::move(outgoing);
  if (data) item.bytes = data->bytes;
  else if (in_place) item.bytes = static_cast<std::uint64_t>(request.size) * 8;
  Payload payload;
  if ((data || in_place) && request.size > 0) {
    payload = {std::as_bytes(std::span(in_place ? in_place : data->data(), static_cast<std::size_t>(request.size))),
               item.outgoing.get()};
    context_.stats.bytes_sent += request.size * 8;
  }
  h.record(CopyEvent::put);
  h.put_order = orderless ? PutOrder::any : PutOrder::as_sent;
  ++h.puts_under_way;
  ++context_.stats.messages_sent;
  item.request = context_.transport.request(context_.homes.server_of(node, h.block), to_bytes(request), payload, {},
                                            Priority::demand);
  outbox_.post(std::move(item));
}

void OutgoingPuts::send_control(NodeId node, const RequestHeader& request) {
  Outbox::Item item;
  item.header = request;
  ++context_.stats.messages_sent;
  item.request =
      context_.transport.request(context_.homes.first_of(node), to_bytes(item.header), {}, {}, Priority::demand);
  outbox_.post(std::move(item));
}

}  // namespace sial
