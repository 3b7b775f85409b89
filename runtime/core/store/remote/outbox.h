#pragma once
// A rank's puts to other nodes that are not yet acknowledged. Each owns its payload until then. Bounded: post() waits
// for the oldest when too much is under way. What the owner answered goes to `complete`, in whatever call finds the
// answer.

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>

#include "runtime/core/base/ids.h"
#include "runtime/core/store/remote/messages.h"

namespace sial {

class Outbox {
 public:
  struct Item {
    std::unique_ptr<OutgoingBlock>
        outgoing;  // whose values are sent, where they are not those of a buffer from the start; outlives the request
    std::unique_ptr<PendingRequest> request;
    Chunk* payload = nullptr;  // one reference, may be null
    std::uint64_t bytes = 0;   // of memory that it keeps
    ArrayId array = no_array;
    RequestHeader header;
  };
  using OnComplete = std::function<void(const Item&, const Outcome&)>;

  /// `max_bytes`: of payloads, beside one of any size. The memory model counts on it.
  Outbox(NodeHeap& heap, int arena, std::uint64_t max_bytes, OnComplete complete)
      : heap_(heap), arena_(arena), max_bytes_(std::min(max_bytes, max_in_all)), on_complete_(std::move(complete)) {}

  void post(Item item);
  /// Waits for those of a block, of an array, of all.
  void complete(ArrayId array, const BlockIndex& block);
  void complete(ArrayId array);
  void complete_all();
  /// Lets go of what is sent from memory that is about to go, without looking at answers: an error ends the job.
  void drop_outgoing() noexcept;

 private:
  void finish(std::deque<Item>::iterator at);
  template <class Which>
  void complete_if(Which which);

  static constexpr std::size_t max_items = 64;
  static constexpr std::uint64_t max_in_all = std::uint64_t{64} << 20;
  NodeHeap& heap_;
  int arena_;
  std::uint64_t max_bytes_;
  OnComplete on_complete_;
  std::deque<Item> items_;
  std::uint64_t bytes_ = 0;
};

}  // namespace sial
