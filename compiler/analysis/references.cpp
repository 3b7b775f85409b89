#include "compiler/analysis/references.h"

#include <algorithm>

#include "compiler/analysis/walk.h"
#include "runtime/base/check.h"

namespace sial::analysis {
namespace {

/// Beyond this many names of one array in one body every name is taken to alias every other: exactness would cost their square.
constexpr std::size_t max_compared = 300;

}  // namespace

RefKey key_of(const ir::Block& block) {
  RefKey key{block.array};
  for (const RefEntry& e : block.entries) key.push_back(2 * e.index + (e.as_simple ? 1 : 0));
  return key;
}

References::References(const ir::Program& program, const ir::Body& body, const std::vector<const References*>& inner) : p_(program) {
  for_each_instr(body, [&](const ir::Instr& i, const ir::Node&) {
    for (const ArrayUse& u : array_uses(p_, i))
      if (u.side == Side::own && u.block != nullptr && !has_wild(*u.block)) add(*u.block);
  });
  for (const References* callee : inner)
    for (const ir::Block* b : callee->blocks_) add(*b);
  for (std::size_t k = 0; k < blocks_.size(); ++k) {
    std::vector<std::int32_t>& list = by_array_[blocks_[k]->array];
    if (list.empty()) {
      slots_[blocks_[k]->array] = static_cast<std::int32_t>(arrays_.size());
      arrays_.push_back(blocks_[k]->array);
    }
    list.push_back(static_cast<std::int32_t>(k));
  }
  for (std::size_t k = 0; k < blocks_.size(); ++k) {
    for (const RefEntry& e : blocks_[k]->entries) {
      for (const std::int32_t i : {e.index, p_.indices[static_cast<std::size_t>(e.index)].parent})
        if (i >= 0) by_index_.try_emplace(i, bits()).first->second.set(static_cast<std::int32_t>(k));
    }
  }
  aliases_.resize(blocks_.size());
  inside_.resize(blocks_.size());
  for (const auto& [array, list] : by_array_) {
    for (const std::int32_t a : list) {
      const bool whole = !is_part(p_, block(a));
      for (const std::int32_t b : list) {
        if (list.size() > max_compared && a != b) continue;
        if (list.size() <= max_compared && alias(p_, block(a), block(b)) != Alias::never) aliases_[static_cast<std::size_t>(a)].push_back(b);
        if (a == b || (whole && same_block(p_, block(a), block(b)) == Alias::must)) inside_[static_cast<std::size_t>(a)].push_back(b);
      }
    }
  }
}

void References::add(const ir::Block& block) {
  const auto [at, fresh] = ids_.try_emplace(key_of(block), static_cast<std::int32_t>(blocks_.size()));
  if (!fresh) return;
  blocks_.push_back(&block);
  keys_.push_back(&at->first);
}

std::int32_t References::whole(std::int32_t array) const {
  const auto at = slots_.find(array);
  return at == slots_.end() ? -1 : static_cast<std::int32_t>(size()) + at->second;
}

const std::vector<std::int32_t>& References::aliases(std::int32_t id) const {
  const std::vector<std::int32_t>& list = aliases_[static_cast<std::size_t>(id)];
  return list.empty() ? of_array(block(id).array) : list;  // a reference is always among its own aliases
}

std::int32_t References::id(const ir::Block& block) const {
  const std::int32_t found = find(key_of(block));
  SIAL_CHECK(found >= 0, "a reference to array {} that was not collected", block.array);
  return found;
}

std::int32_t References::find(const RefKey& key) const {
  const auto at = ids_.find(key);
  return at == ids_.end() ? -1 : at->second;
}

const std::vector<std::int32_t>& References::of_array(std::int32_t array) const {
  static const std::vector<std::int32_t> none;
  const auto at = by_array_.find(array);
  return at == by_array_.end() ? none : at->second;
}

Bits References::with(const std::vector<std::int32_t>& indices) const {
  Bits result(bits());
  for (const std::int32_t i : indices)
    if (const auto at = by_index_.find(i); at != by_index_.end()) result.unite(at->second);
  return result;
}

Bits References::across(const Bits& live, const std::vector<std::int32_t>& indices, const std::vector<int>& bound, bool later_iteration) const {
  Bits result = live;
  const Bits moved = with(indices);
  result.remove(moved);
  std::vector<std::int32_t> sorted = indices;
  std::sort(sorted.begin(), sorted.end());
  AliasContext context;
  context.changed = &sorted;
  const auto differ = [&](const ir::Block& a, const ir::Block& b) {  // by the value of the loop's one index
    if (!later_iteration || indices.size() != 1) return false;
    const auto moves = [&](const RefEntry& e) { return e.index == indices[0] || p_.indices[static_cast<std::size_t>(e.index)].parent == indices[0]; };
    for (std::size_t d = 0; d < a.entries.size(); ++d)
      if (moves(a.entries[d]) && moves(b.entries[d])) return true;
    return false;
  };
  // Pairs of which neither names the loop's indices keep their meaning; few references are live at a time.
  std::int32_t whole = -1;  // array of many names that is done
  live.for_each([&](std::int32_t r) {
    if (is_whole(r)) return;
    const std::vector<std::int32_t>& list = of_array(block(r).array);
    if (list.size() > max_compared && whole == block(r).array) return result.set(r);
    for (const std::int32_t q : list) {
      const auto is_bound = [&](const RefEntry& e) { return bound[static_cast<std::size_t>(e.index)] > 0; };
      if (q != r && !std::all_of(block(q).entries.begin(), block(q).entries.end(), is_bound)) continue;
      if (list.size() > max_compared) result.set(q);
      else if ((moved.has(q) || moved.has(r)) && !differ(block(q), block(r)) && alias(p_, block(q), block(r), context) != Alias::never) result.set(q);
    }
    if (list.size() > max_compared) whole = block(r).array;
  });
  return result;
}

}  // namespace sial::analysis
