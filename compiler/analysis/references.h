#pragma once
// The block references of one body (procedure or main) and of the procedures it calls, numbered, with what each may
// alias: the names whose lives Lifetimes follows through the program. After the references each of their arrays has
// one more number, for uses that name no block: whole arrays, regions, wildcard references. The home side is not in it.
// Refers to the Program.

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler/analysis/alias.h"
#include "runtime/core/base/ids.h"

namespace sial::analysis {

using RefKey = std::vector<std::int32_t>;  // array, then per entry twice its index plus the cast
RefKey key_of(const ir::Block& block);

class References {
 public:
  /// `inner`: the references of the callees.
  References(const ir::Program& program, const ir::Body& body, const std::vector<const References*>& inner);

  std::size_t size() const { return blocks_.size(); }
  /// References and arrays: how many numbers there are.
  std::size_t numbers() const { return blocks_.size() + arrays_.size(); }
  /// The number of an array as a whole; -1: no reference to it here.
  std::int32_t whole(ArrayId array) const {
    const std::int32_t s = slot(array);
    return s < 0 ? -1 : static_cast<std::int32_t>(size()) + s;
  }
  bool is_whole(std::int32_t id) const { return static_cast<std::size_t>(id) >= blocks_.size(); }
  std::int32_t id(const ir::Block& block) const;
  std::int32_t find(const RefKey& key) const;  // -1: not in this body
  const ir::Block& block(std::int32_t id) const { return *blocks_[static_cast<std::size_t>(id)]; }
  const RefKey& key(std::int32_t id) const { return *keys_[static_cast<std::size_t>(id)]; }
  /// The position in arrays() of the array of that number.
  std::int32_t slot_of(std::int32_t id) const {
    return is_whole(id) ? id - static_cast<std::int32_t>(size()) : block_slots_[static_cast<std::size_t>(id)];
  }
  /// The same for an array; -1: no reference to it here.
  std::int32_t slot(ArrayId array) const {
    const auto at = slots_.find(array);
    return at == slots_.end() ? -1 : at->second;
  }
  /// References that may mean (part of) the same block at the same state, itself included; not for arrays of many
  /// names.
  const std::vector<std::int32_t>& aliases(std::int32_t id) const { return aliases_[static_cast<std::size_t>(id)]; }
  /// By position in arrays().
  const std::vector<std::int32_t>& names(std::int32_t slot) const { return names_[static_cast<std::size_t>(slot)]; }
  /// So many names that each is taken to alias every other: exactness would cost their square.
  bool many(std::int32_t slot) const { return names(slot).size() > max_compared; }
  /// f(id) for those names of an array of many which have all their indices among the bound ones (`bound`, by index
  /// row).
  template <class F>
  void each_nameable(std::int32_t slot, const std::vector<IndexId>& bound_rows, const std::vector<int>& bound,
                     const F& f) const {
    const auto& buckets = by_last_index_.at(slot);
    for (const IndexId row : bound_rows)
      if (const auto at = buckets.find(row); at != buckets.end())
        for (const std::int32_t q : at->second)
          if (nameable(q, bound)) f(q);
  }
  /// References that can only mean (parts of) the very block, itself included.
  const std::vector<std::int32_t>& inside(std::int32_t id) const { return inside_[static_cast<std::size_t>(id)]; }
  /// Arrays with references here.
  const std::vector<ArrayId>& arrays() const { return arrays_; }

  /// Whether the reference names one of the indices, or a subindex of one.
  bool moved(std::int32_t id, const std::vector<IndexId>& indices) const;
  /// Whether each of its indices is bound (by index row).
  bool nameable(std::int32_t id, const std::vector<int>& bound) const {
    for (const RefEntry& e : block(id).entries)
      if (bound[e.index.at()] == 0) return false;
    return true;
  }
  /// Whether the two may be one block when the indices have other values for one than for the other (sorted rows).
  bool meet(std::int32_t a, std::int32_t b, const std::vector<IndexId>& changed) const {
    AliasContext context;
    context.changed = &changed;
    return alias(p_, block(a), block(b), context) != Alias::never;
  }
  /// In two iterations of a loop over one index, which never has a value twice: it stands on one dimension of both.
  bool differ(std::int32_t a, std::int32_t b, IndexId index) const;

 private:
  struct KeyHash {
    std::size_t operator()(const RefKey& key) const {
      std::size_t h = key.size();
      for (const std::int32_t k : key) h = h * 1'000'003 + static_cast<std::size_t>(k);
      return h;
    }
  };
  static constexpr std::size_t max_compared = 300;

  void add(const ir::Block& block);
  bool of(const RefEntry& entry, IndexId index) const {
    return entry.index == index || p_.indices[entry.index.at()].parent == index;
  }

  const ir::Program& p_;
  std::unordered_map<RefKey, std::int32_t, KeyHash> ids_;
  std::vector<const ir::Block*> blocks_;
  std::vector<const RefKey*> keys_;
  std::vector<std::int32_t> block_slots_;
  std::vector<std::vector<std::int32_t>> aliases_, inside_;
  std::vector<ArrayId> arrays_;
  std::vector<std::vector<std::int32_t>> names_;     // by position in arrays_
  std::unordered_map<ArrayId, std::int32_t> slots_;  // of arrays in arrays_
  std::unordered_map<std::int32_t, std::unordered_map<IndexId, std::vector<std::int32_t>>>
      by_last_index_;  // arrays of many names; key: largest row
};

}  // namespace sial::analysis
