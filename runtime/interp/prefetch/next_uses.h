#pragma once
// When and how blocks are used next: the gets and puts that look-ahead foresees, numbered in order, by block. Tells the
// store, for which the block that is used last is the first to leave memory. Does nothing until the store says how far
// ahead it wants to know. Owned by the look-ahead.

#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>

#include "runtime/base/foreseen_use.h"
#include "runtime/base/ids.h"
#include "runtime/base/placement.h"
#include "runtime/store/look_ahead.h"

namespace sial {

class NextUses {
 public:
  explicit NextUses(BlockLookAhead& store) : store_(store) {}

  /// One more use, behind all others.
  void foresee(ArrayId array, const BlockIndex& block, ForeseenUse use) {
    ++foreseen_;
    std::deque<Use>& uses = uses_[{array, block}];
    uses.push_back({foreseen_, use});
    if (uses.size() == 1) store_.set_next_use(array, block, foreseen_ - made_, use);
  }
  /// The first of them was made, or will not be.
  void pass(ArrayId array, const BlockIndex& block) {
    ++made_;
    const auto found = uses_.find({array, block});
    if (found == uses_.end()) return;
    found->second.pop_front();
    if (found->second.empty()) {
      store_.set_next_use(array, block, 0, ForeseenUse::get);
      uses_.erase(found);
    } else {
      const Use& next = found->second.front();
      store_.set_next_use(array, block, next.number - made_, next.use);
    }
  }
  /// How the block is used first; nothing: no use of it is foreseen.
  std::optional<ForeseenUse> first(ArrayId array, const BlockIndex& block) const {
    const auto found = uses_.find({array, block});
    return found == uses_.end() ? std::nullopt : std::optional(found->second.front().use);
  }
  /// What was foreseen is void.
  void clear() {
    for (const auto& [key, uses] : uses_) store_.set_next_use(key.array, key.block, 0, ForeseenUse::get);
    uses_.clear();
    foreseen_ = made_ = 0;
  }

 private:
  struct Use {
    std::uint64_t number = 0;
    ForeseenUse use = ForeseenUse::get;
  };
  struct Key {
    ArrayId array;
    BlockIndex block;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& k) const {
      return mix_hash(block_hash(k.block), static_cast<std::uint64_t>(k.array.number()));
    }
  };

  BlockLookAhead& store_;
  std::unordered_map<Key, std::deque<Use>, Hash> uses_;
  std::uint64_t foreseen_ = 0, made_ = 0;
};

}  // namespace sial
