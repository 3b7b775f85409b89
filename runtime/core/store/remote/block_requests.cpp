#include "runtime/core/store/remote/block_requests.h"

#include <algorithm>

#include "runtime/core/store/remote/store_errors.h"

namespace sial {

void BlockRequests::request(CacheEntry& h, NodeId node, std::int64_t size, const Access& access, Priority priority,
                            std::int32_t get, std::uint64_t known_version) {
  RequestHeader request;
  request.kind = RequestKind::get;
  request.key = context_.arrays.key(h.array, h.block);
  request.size = size;
  request.known_version = known_version;
  request.access = access;
  h.issued = context_.transport.now();
  copies_.protect(h);  // `shared_copy` stays until `fetch` is there to say that it is in use
  if (places_ && known_version == 0 && !context_.arrays.at(h.array).on_host_only)
    h.incoming = places_->place_for(get, h.array, h.block, h.shared_copy->data());
  double* there = h.incoming ? h.incoming->place() : nullptr;
  const std::span<double> to(there ? there : h.shared_copy->data(), static_cast<std::size_t>(size));
  h.fetch = context_.transport.request(context_.homes.server_of(node, h.block), to_bytes(request), {},
                                       ReplyBuffer(std::as_writable_bytes(to), h.incoming ? h.incoming->piece() : 0),
                                       priority);
  ++context_.stats.messages_sent;
}

// The answer comes into the copy itself, so nobody else may hold that; in between the rank reads it as little as any
// block on its way.
bool BlockRequests::compare(CacheEntry& h, Priority priority) {
  if (h.fetch) {
    h.fetch->raise();
    return true;
  }
  if (h.place == CopyPlace::device) context_.arrays.at(h.array).on_host_only = true;  // from now on
  if (h.place == CopyPlace::device || !context_.heap.sole_reference(h.shared_copy)) return false;
  Access how = context_.access(h.get_place);
  how.is_prefetch = priority == Priority::prefetch;
  request(h, context_.home(h.array, h.block), h.shared_copy->doubles, how, priority, -1, h.home_version);
  return true;
}

/// The phase rule knows gets only.
void BlockRequests::record_get(CacheEntry& h, std::int64_t size) {
  RequestHeader request;
  request.kind = RequestKind::record_get;
  request.key = context_.arrays.key(h.array, h.block);
  request.size = size;
  request.access = context_.access(h.get_place);
  const int server = context_.homes.server_of(context_.home(h.array, h.block), h.block);
  const auto pending = context_.transport.request(server, to_bytes(request), {}, {}, Priority::demand);
  ++context_.stats.messages_sent;
  pending->wait();
  const Outcome outcome = read_reply(pending->reply_header()).outcome;
  if (outcome.status == BlockStatus::phase_conflict)
    report(context_, outcome, RequestKind::get, h.array, h.block, size, h.get_place);
}

/// Whoever takes it holds the buffer for a while: not one that others on the node may want back.
void BlockRequests::forward(CacheEntry& h) {
  if (!h.incoming || h.incoming->piece() == 0) return;
  if (h.prefetch_id && (context_.heap.wanted() || context_.more_than_half_in_use())) return;
  h.incoming->come(h.fetch->received());
}

void BlockRequests::end(CacheEntry& h, bool has_come) {
  h.fetch.reset();
  if (!h.incoming) return;
  if (has_come) {
    h.place = h.incoming->place() ? CopyPlace::device : CopyPlace::host;
    h.incoming->arrived();
  }
  h.incoming.reset();
}

void BlockRequests::time_fetch(const CacheEntry& h) {
  constexpr double fade = 0.95;
  const auto bytes = static_cast<double>(h.fetch->reply_bytes());
  const double seconds = context_.transport.now() - h.issued;
  FetchTimes& t = fetch_times_;
  for (double* sum : {&t.n, &t.x, &t.y, &t.xx, &t.xy}) *sum *= fade;
  t.n += 1;
  t.x += bytes;
  t.y += seconds;
  t.xx += bytes * bytes;
  t.xy += bytes * seconds;
}

double BlockRequests::seconds(std::int64_t bytes) const {
  const auto x = static_cast<double>(bytes);
  if (const auto link = context_.transport.link_speed())
    return 2 * link->latency + (link->bandwidth > 0 ? x / link->bandwidth : 0);
  const FetchTimes& t = fetch_times_;
  if (t.n == 0) return 0;
  // A line through what was measured; where all blocks have about one size only their mean is known.
  const double mean_x = t.x / t.n, mean_y = t.y / t.n, spread = t.xx / t.n - mean_x * mean_x;
  if (spread < 1e-2 * mean_x * mean_x) return mean_y;
  const double slope = std::max(0.0, (t.xy / t.n - mean_x * mean_y) / spread);
  return std::max(0.0, mean_y + slope * (x - mean_x));
}

}  // namespace sial
