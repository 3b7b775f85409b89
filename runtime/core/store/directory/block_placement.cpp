#include "runtime/core/store/directory/block_placement.h"

#include <algorithm>
#include <utility>

namespace sial {

namespace {

/// Spreads evenly over blocks that are neighbours.
std::uint64_t number_of(const BlockIndex& block) {
  std::uint64_t number = 0;
  for (int d = 0; d < block.rank; ++d)
    number = number * 31 + static_cast<std::uint64_t>(block.segment[static_cast<std::size_t>(d)]);
  return number;
}

}  // namespace

BlockPlacement::BlockPlacement(std::shared_ptr<const NumaTopology> machine, NumaPlacement placement,
                               NumaRequest request)
    : machine_(std::move(machine)), node_of_arena_(std::move(placement.node_of_arena)), request_(std::move(request)) {
  several_ = std::any_of(node_of_arena_.begin(), node_of_arena_.end(),
                         [&](int node) { return node >= 0 && node_of_arena_[0] >= 0 && node != node_of_arena_[0]; });
}

void BlockPlacement::set_array(std::uint64_t number, const std::string& name) {
  if (!several_ || request_.arrays.empty()) return;
  const std::lock_guard guard(mutex_);
  rules_.erase(number);
  for (const auto& [array, rule] : request_.arrays)
    if (array == name) rules_[number] = &rule;
}

const NumaRule* BlockPlacement::rule_of(std::uint64_t array) const {
  if (!several_ || request_.arrays.empty()) return nullptr;
  const std::lock_guard guard(mutex_);
  const auto found = rules_.find(array);
  return found == rules_.end() ? nullptr : found->second;
}

int BlockPlacement::arena_for(const BlockKey& key, int own) const {
  const NumaRule* rule = rule_of(key.array);
  return rule ? arena_of_block(*machine_, node_of_arena_, *rule, own, number_of(key.block)) : own;
}

bool BlockPlacement::fits(const BlockKey& key, int arena) const {
  const NumaRule* rule = rule_of(key.array);
  return !rule || same_node(arena_of_block(*machine_, node_of_arena_, *rule, arena, number_of(key.block)), arena);
}

std::vector<int> BlockPlacement::fallback_arenas(int own, std::span<const double> used) const {
  return fallback_order(*machine_, node_of_arena_, own, used);
}

}  // namespace sial
