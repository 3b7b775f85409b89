#pragma once
// When blocks are got next: the gets that look-ahead foresees, numbered in order, by block. Tells the store, for which
// the block that is got last is the first to leave memory. Does nothing until the store says how far ahead it wants to
// know. Owned by the look-ahead.

#include <cstdint>
#include <deque>
#include <unordered_map>

#include "runtime/base/ids.h"
#include "runtime/base/placement.h"
#include "runtime/store/look_ahead.h"

namespace sial {

class NextGets {
 public:
  explicit NextGets(BlockLookAhead& store) : store_(store) {}

  /// One more get, behind all others.
  void foresee(ArrayId array, const BlockIndex& block) {
    ++foreseen_;
    std::deque<std::uint64_t>& gets = gets_[{array, block}];
    gets.push_back(foreseen_);
    if (gets.size() == 1) store_.set_next_get(array, block, foreseen_ - made_);
  }
  /// The first of them was made, or will not be.
  void pass(ArrayId array, const BlockIndex& block) {
    ++made_;
    const auto found = gets_.find({array, block});
    if (found == gets_.end()) return;
    found->second.pop_front();
    store_.set_next_get(array, block, found->second.empty() ? 0 : found->second.front() - made_);
    if (found->second.empty()) gets_.erase(found);
  }
  void clear() {
    gets_.clear();
    foreseen_ = made_ = 0;
  }

 private:
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
  std::unordered_map<Key, std::deque<std::uint64_t>, Hash> gets_;
  std::uint64_t foreseen_ = 0, made_ = 0;
};

}  // namespace sial
