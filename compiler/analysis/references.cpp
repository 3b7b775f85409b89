#include "compiler/analysis/references.h"

#include <algorithm>

#include "compiler/analysis/walk.h"
#include "runtime/core/base/check.h"

namespace sial::analysis {

RefKey key_of(const ir::Block& block) {
  RefKey key{block.array.number()};
  key.reserve(block.entries.size() + 1);
  for (const RefEntry& e : block.entries) key.push_back(2 * e.index.number() + (e.as_simple ? 1 : 0));
  return key;
}

References::References(const ir::Program& program, const ir::Body& body, const std::vector<const References*>& inner)
    : p_(program) {
  for_each_instr(body, [&](const ir::Instr& i, const ir::Node&) {
    for (const ArrayUse& u : array_uses(p_, i))
      if (u.side == Side::own && u.block != nullptr && !has_wildcard(*u.block)) add(*u.block);
  });
  for (const References* callee : inner)
    for (const ir::Block* b : callee->blocks_) add(*b);
  for (std::size_t k = 0; k < blocks_.size(); ++k) {
    const auto [at, fresh] = slots_.try_emplace(blocks_[k]->array, static_cast<std::int32_t>(arrays_.size()));
    if (fresh) {
      arrays_.push_back(blocks_[k]->array);
      names_.emplace_back();
    }
    block_slots_.push_back(at->second);
    names_[static_cast<std::size_t>(at->second)].push_back(static_cast<std::int32_t>(k));
  }
  aliases_.resize(blocks_.size());
  inside_.resize(blocks_.size());
  for (std::size_t s = 0; s < names_.size(); ++s) {
    const std::vector<std::int32_t>& list = names_[s];
    if (list.size() > max_compared) {
      auto& buckets = by_last_index_[static_cast<std::int32_t>(s)];
      for (const std::int32_t a : list) {
        inside_[static_cast<std::size_t>(a)] = {a};
        IndexId last = no_index;
        for (const RefEntry& e : block(a).entries) last = std::max(last, e.index);
        buckets[last].push_back(a);
      }
      continue;
    }
    for (const std::int32_t a : list) {
      const bool whole = !is_part(p_, block(a));
      for (const std::int32_t b : list) {
        if (alias(p_, block(a), block(b)) != Alias::never) aliases_[static_cast<std::size_t>(a)].push_back(b);
        if (a == b || (whole && same_block(p_, block(a), block(b)) == Alias::must))
          inside_[static_cast<std::size_t>(a)].push_back(b);
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

std::int32_t References::id(const ir::Block& block) const {
  const std::int32_t found = find(key_of(block));
  SIAL_CHECK(found >= 0, "a reference to array {} that was not collected", block.array);
  return found;
}

std::int32_t References::find(const RefKey& key) const {
  const auto at = ids_.find(key);
  return at == ids_.end() ? -1 : at->second;
}

bool References::moved(std::int32_t id, const std::vector<IndexId>& indices) const {
  for (const RefEntry& e : block(id).entries)
    for (const IndexId i : indices)
      if (of(e, i)) return true;
  return false;
}

bool References::differ(std::int32_t a, std::int32_t b, IndexId index) const {
  const std::vector<RefEntry>&x = block(a).entries, &y = block(b).entries;
  for (std::size_t d = 0; d < x.size(); ++d)
    if (of(x[d], index) && of(y[d], index)) return true;
  return false;
}

}  // namespace sial::analysis
