#include "runtime/core/store/remote/outbox.h"

namespace sial {

void Outbox::finish(std::deque<Item>::iterator at) {
  at->request->wait();
  const Item item = std::move(*at);
  items_.erase(at);
  const ReplyHeader reply = read_reply(item.request->reply_header());
  bytes_ -= item.bytes;
  if (item.payload) heap_.drop_reference(item.payload, arena_);
  on_complete_(item, reply.outcome);
}

void Outbox::post(Item item) {
  bytes_ += item.bytes;
  items_.push_back(std::move(item));
  while (!items_.empty() && items_.front().request->test()) finish(items_.begin());
  while (items_.size() > max_items || (bytes_ > max_bytes_ && items_.size() > 1)) finish(items_.begin());
}

template <class Which>
void Outbox::complete_if(Which which) {
  for (std::size_t i = 0; i < items_.size();) {
    if (which(items_[i])) finish(items_.begin() + static_cast<std::ptrdiff_t>(i));
    else ++i;
  }
}

void Outbox::complete(ArrayId array, const BlockIndex& block) {
  complete_if([&](const Item& item) { return item.array == array && item.header.key.block == block; });
}

void Outbox::complete(ArrayId array) {
  complete_if([&](const Item& item) { return item.array == array; });
}

void Outbox::complete_all() {
  complete_if([](const Item&) { return true; });
}

void Outbox::drop_outgoing() noexcept {
  std::erase_if(items_, [](const Item& item) { return item.outgoing != nullptr; });
}

}  // namespace sial
