#include "runtime/core/interp/order/choose_order.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/core/base/iteration_shares.h"
#include "runtime/core/bytecode/evaluate/iteration_space.h"
#include "runtime/core/interp/order/order_legality.h"
#include "runtime/core/interp/order/order_search.h"

namespace sial {
namespace {

constexpr std::int64_t max_recorded = 500'000;  // accesses; longer pardos are looked at on a coarser grid
constexpr std::int64_t max_simulated = 10'000;  // of them, for each order
constexpr double worth_a_change = 0.95;         // of the bytes as written

const LoopRow& row_of(const BoundProgram& bound, std::int32_t loop) {
  return bound.module->loops[static_cast<std::size_t>(loop)];
}

std::int64_t count_of(const BoundIndex& index) { return std::int64_t{index.hi} - index.lo + 1; }

/// Whether all indices have values, and not too many to be counted.
bool has_iterations(const BoundProgram& bound, std::int32_t loop) {
  double tuples = 1;
  for (const IndexId id : row_of(bound, loop).indices) {
    const BoundIndex& index = bound.indices[id.at()];
    const std::int64_t count = count_of(index);
    if (count < 1 || count > std::numeric_limits<std::int32_t>::max() || !index.problem.empty()) return false;
    tuples *= static_cast<double>(count);
  }
  return tuples > 1 && tuples < 1e18;
}

/// From the grid of the recorded pardo to segments.
TupleOrder on_segments(const BoundProgram& bound, std::int32_t loop, const RecordedPardo& pardo,
                       const TupleOrder& found) {
  // Without groups of cells the cells themselves are groups.
  bool plain = pardo.cell > 1;
  for (std::size_t d = 0; d < found.size(); ++d)
    plain = plain && found[d].group == pardo.counts[static_cast<std::size_t>(found[d].index)];
  TupleOrder order;
  for (std::size_t d = 0; d < found.size(); ++d) {
    TupleOrder::Step step = found[d];
    if (plain) step.group = 1;
    const std::int64_t count =
        count_of(bound.indices[row_of(bound, loop).indices[static_cast<std::size_t>(step.index)].at()]);
    const std::int64_t cells = pardo.counts[static_cast<std::size_t>(step.index)];
    const std::int64_t width = (count + cells - 1) / cells;
    step.group = static_cast<std::int32_t>(step.group == cells ? count : std::min(count, step.group * width));
    order.add(step);
  }
  return order;
}

/// The iterations of the first node, by number, in the order in which its ranks come to them.
std::vector<std::int32_t> sequence_of_node(const Module& module, const LoopRow& row, const RecordedPardo& pardo,
                                           const OrderSetting& setting) {
  if (pardo_mode(module, row, setting.rules) == PardoMode::dynamic)
    return joint_sequence(static_cast<std::int32_t>(std::max<std::int64_t>(
                              1, share_before(pardo.tuples(), setting.ranks, setting.ranks_of_node))),
                          setting.ranks_of_node);
  std::vector<std::int32_t> sequence;
  for (std::int32_t n = 0; n < pardo.tuples(); ++n)
    if (n % setting.ranks < setting.ranks_of_node) sequence.push_back(n);
  return sequence;
}

/// A block that one rank of the node has read serves all of them.
void predict(const BoundProgram& bound, const RecordedPardo& pardo, std::int32_t loop, const OrderSetting& setting,
             PardoOrder& chosen) {
  const std::vector<std::int32_t> sequence = sequence_of_node(*bound.module, row_of(bound, loop), pardo, setting);
  PardoTraffic traffic(pardo, sequence, setting.capacity, max_simulated);
  const PardoTraffic::Bytes written = traffic.bytes({});
  const FoundOrder found = search_order(pardo, row_of(bound, loop).indices.size(), traffic);
  chosen.bytes = chosen.bytes_as_written = written.moved;
  if (found.bytes.moved > worth_a_change * written.moved) return;
  chosen.bytes = found.bytes.moved;
  chosen.order = on_segments(bound, loop, pardo, found.order);
}

}  // namespace

std::string order_is_fixed(const Module& module, std::int32_t loop, bool deterministic) {
  if (runs_everywhere(module, module.loops[static_cast<std::size_t>(loop)])) return "every rank runs all of it";
  if (deterministic) return "`--deterministic` fixes the order";
  return order_seen_by(module, loop);
}

PardoOrder choose_order(const BoundProgram& bound, const std::vector<std::int32_t>& ints, std::int32_t loop,
                        const OrderSetting& setting) {
  PardoOrder chosen;
  chosen.text = "as written";
  if (setting.capacity <= 0 || !has_iterations(bound, loop)) return chosen;
  const RecordedPardo pardo = record_pardo(bound, ints, loop, max_recorded);
  if (pardo.tuples() < 1 || pardo.all_bytes() <= setting.capacity) return chosen;
  chosen.considered = true;
  predict(bound, pardo, loop, setting, chosen);
  if (chosen.order.as_written()) return chosen;
  chosen.text = order_text(bound, loop, chosen.order);
  chosen.refusal = order_is_fixed(*bound.module, loop, setting.deterministic);
  const bool in_turn = pardo_mode(*bound.module, row_of(bound, loop), setting.rules) != PardoMode::dynamic;
  if (chosen.refusal.empty() && in_turn && setting.ranks > 1)
    chosen.refusal = "its iterations are dealt to the ranks in turn, and another order would deal them otherwise";
  if (!chosen.refusal.empty()) chosen.order = {};
  return chosen;
}

TupleOrder shuffled_order(const BoundProgram& bound, std::int32_t loop, bool deterministic) {
  TupleOrder order;
  if (!has_iterations(bound, loop) || !order_is_fixed(*bound.module, loop, deterministic).empty()) return order;
  const std::vector<IndexId>& indices = row_of(bound, loop).indices;
  std::uint64_t seed = mix_hash(0, static_cast<std::uint64_t>(loop));
  std::vector<std::int32_t> left(indices.size());
  for (std::size_t d = 0; d < left.size(); ++d) left[d] = static_cast<std::int32_t>(d);
  while (!left.empty()) {
    seed = mix_hash(seed, left.size());
    const auto at = left.begin() + static_cast<std::ptrdiff_t>(seed % left.size());
    const std::int64_t count = count_of(bound.indices[indices[static_cast<std::size_t>(*at)].at()]);
    order.add({*at, static_cast<std::int32_t>(
                        1 + static_cast<std::int64_t>((seed >> 8) % static_cast<std::uint64_t>(count)))});
    left.erase(at);
  }
  return order;
}

std::string order_text(const BoundProgram& bound, std::int32_t loop, const TupleOrder& order) {
  if (order.as_written()) return "as written";
  std::vector<std::string> inside, groups, outside;
  for (std::size_t d = 0; d < order.size(); ++d) {
    const BoundIndex& index = bound.indices[row_of(bound, loop).indices[static_cast<std::size_t>(order[d].index)].at()];
    if (order[d].group >= count_of(index)) inside.push_back(index.name);
    else if (order[d].group == 1) outside.push_back(index.name);
    else groups.push_back(fmt::format("{} in groups of {}", index.name, order[d].group));
  }
  if (groups.empty() && outside.empty()) return fmt::format("{}, the first one fastest", fmt::join(inside, ", "));
  std::string text;
  const auto add = [&](const std::vector<std::string>& names, const char* where) {
    if (!names.empty()) text += fmt::format("{}{}{}", text.empty() ? "" : "; ", fmt::join(names, ", "), where);
  };
  add(groups, "");
  add(inside, " inside");
  add(outside, " outside");
  return text;
}

}  // namespace sial
