#pragma once
// The block references of one body (procedure or main) and of the procedures it calls, numbered, with what each may alias: the
// domain of the bit sets that Lifetimes moves through the program. Behind the references each of their arrays has one more
// number, for uses that name no block: whole arrays, regions, wild references. The home side is not in it. Refers to the Program.

#include <bit>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler/analysis/alias.h"

namespace sial::analysis {

/// One bit per reference.
class Bits {
 public:
  explicit Bits(std::size_t n = 0) : words_((n + 63) / 64) {}
  bool has(std::int32_t k) const { return (words_[static_cast<std::size_t>(k) / 64] >> (k % 64)) & 1; }
  void set(std::int32_t k) { words_[static_cast<std::size_t>(k) / 64] |= std::uint64_t{1} << (k % 64); }
  void clear(std::int32_t k) { words_[static_cast<std::size_t>(k) / 64] &= ~(std::uint64_t{1} << (k % 64)); }
  void unite(const Bits& o) {
    for (std::size_t w = 0; w < words_.size(); ++w) words_[w] |= o.words_[w];
  }
  void intersect(const Bits& o) {
    for (std::size_t w = 0; w < words_.size(); ++w) words_[w] &= o.words_[w];
  }
  void remove(const Bits& o) {
    for (std::size_t w = 0; w < words_.size(); ++w) words_[w] &= ~o.words_[w];
  }
  template <class F>
  void for_each(const F& f) const {
    for (std::size_t w = 0; w < words_.size(); ++w)
      for (std::uint64_t rest = words_[w]; rest != 0; rest &= rest - 1)
        f(static_cast<std::int32_t>(64 * w) + std::countr_zero(rest));
  }

 private:
  std::vector<std::uint64_t> words_;
};

using RefKey = std::vector<std::int32_t>;  // array, then per entry twice its index plus the cast
RefKey key_of(const ir::Block& block);

class References {
 public:
  /// `inner`: the references of the callees.
  References(const ir::Program& program, const ir::Body& body, const std::vector<const References*>& inner);

  std::size_t size() const { return blocks_.size(); }
  /// References and arrays: the size of bit sets.
  std::size_t bits() const { return blocks_.size() + arrays_.size(); }
  /// The number of an array as a whole; -1: no reference to it here.
  std::int32_t whole(std::int32_t array) const;
  bool is_whole(std::int32_t id) const { return static_cast<std::size_t>(id) >= blocks_.size(); }
  std::int32_t id(const ir::Block& block) const;
  std::int32_t find(const RefKey& key) const;  // -1: not in this body
  const ir::Block& block(std::int32_t id) const { return *blocks_[static_cast<std::size_t>(id)]; }
  const RefKey& key(std::int32_t id) const { return *keys_[static_cast<std::size_t>(id)]; }
  /// References that may mean (part of) the same block at the same state, itself included.
  const std::vector<std::int32_t>& aliases(std::int32_t id) const;
  const std::vector<std::int32_t>& of_array(std::int32_t array) const;
  /// References that can only mean (parts of) the very block, itself included.
  const std::vector<std::int32_t>& inside(std::int32_t id) const { return inside_[static_cast<std::size_t>(id)]; }
  /// Arrays with references here.
  const std::vector<std::int32_t>& arrays() const { return arrays_; }
  /// Those that name one of the indices, or a subindex of one.
  Bits with(const std::vector<std::int32_t>& indices) const;

  /// `live` seen from the other side of a loop's boundary, where its indices have other values. Names of which an index is not bound
  /// there (`bound`, by index row) stand for any value of it, and only come through unchanged. `later_iteration`: both
  /// sides are iterations of one loop, in which a single index never has the same value twice.
  Bits across(const Bits& live, const std::vector<std::int32_t>& indices, const std::vector<int>& bound, bool later_iteration) const;

 private:
  const ir::Program& p_;
  std::map<RefKey, std::int32_t> ids_;
  std::vector<const ir::Block*> blocks_;
  std::vector<const RefKey*> keys_;
  std::vector<std::vector<std::int32_t>> aliases_, inside_;
  void add(const ir::Block& block);

  std::unordered_map<std::int32_t, std::vector<std::int32_t>> by_array_;
  std::unordered_map<std::int32_t, std::int32_t> slots_;  // of arrays in arrays_
  std::unordered_map<std::int32_t, Bits> by_index_;
  std::vector<std::int32_t> arrays_;
};

}  // namespace sial::analysis
