#include "runtime/core/model/memory/memory_model.h"

#include <algorithm>
#include <array>
#include <ostream>

#include <fmt/format.h>

#include "runtime/core/base/bytes.h"
#include "runtime/core/model/memory/abstract_interpreter.h"

namespace sial {

namespace {

/// The job's needs as one rank sees them.
MemoryModel plan_for(const Viewpoint& view, std::span<const std::shared_ptr<const Module>> programs, const JobData& job,
                     const SavedArrays& saved, const PlanSetting& setting, std::int64_t& steps_left) {
  MemoryModel plan;
  JobMemory memory(setting, job, view);
  load_saved(memory, saved);
  for (std::size_t i = 0; i < programs.size() && plan.complete; ++i) {
    memory.ledger.begin_program();
    plan.programs.push_back(
        AbstractInterpreter(*programs[i], setting.first_program + static_cast<std::int32_t>(i), memory).run());
    const ProgramNeed& need = plan.programs.back();
    plan.take_larger(need);
    plan.exact &= need.exact;
    plan.complete = !memory.stops();
    if (!plan.complete && need.left_at.empty()) plan.programs.back().left_at = need.place;
    if (setting.keep_saved) continue;
    for (auto label = memory.labels.begin(); label != memory.labels.end();) {
      if (restored_by(programs.subspan(i + 1), label->first)) {
        ++label;
        continue;
      }
      for (const auto& [key, block] : label->second.content.blocks) {
        memory.ledger.give_remote(label->second.item, block.node, block.bytes);
        memory.ledger.remove_entries(block.node, 1);
      }
      label = memory.labels.erase(label);
    }
  }
  plan.steps = setting.max_steps - std::max<std::int64_t>(memory.steps_left, 0);
  steps_left -= plan.steps;
  return plan;
}

/// Ranks whose shares differ: of a few nodes, spread over all. The cyclic rule gives each rank of a node another share,
/// the queue gives the first rank of a node the first chunk, which is the largest.
std::vector<int> viewpoints(const PlanSetting& setting) {
  constexpr int most = 8;
  if (setting.nodes() + setting.servers == 1) return {0};
  const int stride = setting.static_schedule || setting.deterministic ? 1 : setting.node_size(),
            there = (setting.ranks + stride - 1) / stride;
  std::vector<int> ranks;
  for (int i = 0; i < std::min(there, most); ++i)
    ranks.push_back(static_cast<int>(std::int64_t{i} * there / std::min(there, most)) * stride);
  return ranks;
}

void merge_items(std::vector<MemoryItem>& items, const std::vector<MemoryItem>& others) {
  for (const MemoryItem& other : others) {
    const auto same = std::find_if(items.begin(), items.end(), [&](const MemoryItem& i) {
      return i.name == other.name && i.kind == other.kind && i.remote == other.remote;
    });
    if (same == items.end()) {
      items.push_back(other);
      continue;
    }
    same->blocks = std::max(same->blocks, other.blocks);
    same->bytes = std::max(same->bytes, other.bytes);
  }
}

/// The larger of both in everything.
void merge(MemoryModel& plan, const MemoryModel& other) {
  for (std::size_t i = 0; i < std::min(plan.programs.size(), other.programs.size()); ++i) {
    ProgramNeed& need = plan.programs[i];
    const ProgramNeed& theirs = other.programs[i];
    merge_items(need.items, theirs.items);
    if (theirs.least > need.least) need.place = theirs.place;
    if (theirs.certain > need.certain) need.certain_of = theirs.certain_of;
    need.take_larger(theirs);
    need.largest = std::max(need.largest, theirs.largest);
    need.pairs = std::max(need.pairs, theirs.pairs);
    need.integral_cache = std::max(need.integral_cache, theirs.integral_cache);
    need.exact &= theirs.exact;
    if (need.left_at.empty()) need.left_at = theirs.left_at;
  }
  plan.take_larger(other);
  plan.exact &= other.exact;
  plan.complete &= other.complete;
  plan.steps += other.steps;
}

}  // namespace

std::string memory_option(std::int64_t bytes) {
  constexpr std::array units = {"", "kB", "MB", "GB", "TB"};
  std::int64_t unit = 1;
  std::size_t name = 0;
  for (; name + 1 < units.size() && bytes >= 1000 * unit; ++name) unit *= 1000;
  const std::int64_t step = std::max<std::int64_t>(1, bytes < 10 * unit    ? unit / 100
                                                      : bytes < 100 * unit ? unit / 10
                                                                           : unit);
  const std::int64_t up = (bytes + step - 1) / step * step;
  return fmt::format("{}{}", static_cast<double>(up) / static_cast<double>(unit), units[name]);
}

MemoryModel model_memory(std::span<const std::shared_ptr<const Module>> programs, const JobData& job,
                         const SavedArrays& saved, const PlanSetting& setting) {
  std::int64_t steps_left = setting.max_steps;
  const std::vector<int> ranks = viewpoints(setting);
  MemoryModel plan = plan_for({ranks.front()}, programs, job, saved, setting, steps_left);
  // Large jobs are followed from fewer ranks: there the shares differ less.
  for (std::size_t i = 1; i < ranks.size() && steps_left > setting.max_steps / 2 && plan.complete; ++i)
    merge(plan, plan_for({ranks[i]}, programs, job, saved, setting, steps_left));
  for (ProgramNeed& need : plan.programs) need.most = need.peak;
  const bool several_nodes = ranks.size() > 1 || setting.servers > 0;
  if (several_nodes && setting.ranks > 1 && !setting.static_schedule && !setting.deterministic && plan.complete)
    for (const int rank : {ranks.front(), ranks.back()}) {
      if (steps_left < setting.max_steps / 2) break;
      const MemoryModel alone = plan_for({rank, true}, programs, job, saved, setting, steps_left);
      for (std::size_t i = 0; i < alone.programs.size(); ++i)
        plan.programs[i].most = std::max(plan.programs[i].most, alone.programs[i].peak);
    }
  std::int64_t integral_cache = 0;  // for the programs that follow as well
  for (ProgramNeed& need : plan.programs) {
    plan.most = std::max(plan.most, need.most);
    need.integral_cache = integral_cache = std::max(integral_cache, need.integral_cache);
  }
  return plan;
}

RanksNeeded ranks_needed(std::span<const std::shared_ptr<const Module>> programs, const JobData& job,
                         const SavedArrays& saved, PlanSetting setting, const MemoryModel& plan) {
  const auto budget = static_cast<std::int64_t>(setting.memory_per_rank);
  constexpr int most = 1 << 20;
  const auto next_guess = [&](const MemoryModel& p, int ranks) -> int {
    // Shared memory spreads over more ranks, the rest does not.
    const std::int64_t room = budget - p.floor;
    if (room <= 0) return 0;
    const double wanted = static_cast<double>(p.enough - p.floor) * ranks / static_cast<double>(room);
    return static_cast<int>(std::min<double>(most, std::max<double>(wanted + 0.999, ranks + 1)));
  };
  if (!plan.complete) return {};
  MemoryModel now = plan;
  for (std::int64_t steps = now.steps; !now.fits(setting.memory_per_rank); steps += now.steps) {
    const int guess = next_guess(now, setting.ranks);
    if (guess == 0 || guess >= most) return {};
    setting.ranks = guess;
    if (steps + now.steps > setting.max_steps) return {guess, false};
    now = model_memory(programs, job, saved, setting);
  }
  return {setting.ranks, true};
}

void print_plan(const MemoryModel& plan, const PlanSetting& setting, const RanksNeeded& needed_ranks,
                std::ostream& out) {
  const auto plural = [](std::int64_t n, const char* what) {
    return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
  };
  out << fmt::format("memory planned for {} on {}{}, {} each\n", plural(setting.ranks, "rank"),
                     plural(setting.nodes(), "node"),
                     setting.servers > 0 ? " and " + plural(setting.servers, "server") : "",
                     bytes_text(static_cast<std::int64_t>(setting.memory_per_rank)));
  const int owners = setting.servers > 0 ? setting.servers : setting.ranks;
  for (const ProgramNeed& program : plan.programs) {
    out << fmt::format("program {}\n  {:<34} {:<16} {:>9} {:>10} {:>10}\n", program.program, "array", "kind", "blocks",
                       "all ranks", "per rank");
    std::vector<MemoryItem> items = program.items;
    const auto per_rank = [&](const MemoryItem& i) { return i.remote ? i.bytes / owners : i.bytes; };
    std::stable_sort(items.begin(), items.end(),
                     [&](const MemoryItem& a, const MemoryItem& b) { return per_rank(a) > per_rank(b); });
    for (const MemoryItem& i : items)
      out << fmt::format("  {:<34} {:<16} {:>9} {:>10} {:>10}\n", i.name, i.kind,
                         i.blocks > 0 ? fmt::to_string(i.blocks) : "",
                         bytes_text(i.remote ? i.bytes : i.bytes * setting.ranks), bytes_text(per_rank(i)));
    out << fmt::format("  peak {} per rank, reached at {}\n", bytes_text(program.least), program.place);
    if (program.peak > program.least)
      out << fmt::format("  {} with copies of other nodes' blocks kept while there is room\n",
                         bytes_text(program.peak));
    if (program.most > program.peak)
      out << fmt::format("  {} for a rank that draws every iteration, should the others be late\n",
                         bytes_text(program.most));
    if (program.integral_cache > 0)
      out << fmt::format("  up to {} with two-electron integrals kept in memory that nothing else needs\n",
                         bytes_text(with_integral_cache(program, setting)));
    if (program.pairs > 0)
      out << fmt::format("  up to {} per rank beside the blocks, for pairs of shells of two-electron integrals\n",
                         bytes_text(program.pairs));
    if (!setting.explain_kernels) continue;
    out << (program.kernels.empty() ? "  no block operation that kernels would run\n"
                                    : "  kernels that would be chosen, for the largest operation of each line\n");
    for (const PlannedKernel& k : program.kernels) out << fmt::format("  {}:{}: {}\n", k.file, k.line, k.why);
  }
  if (!plan.complete) {
    out << fmt::format(
        "the job has too many iterations or blocks to follow to its end: the amounts are those up to {}, where it was left\n",
        std::ranges::find_if(plan.programs, [](const ProgramNeed& p) { return !p.left_at.empty(); })->left_at);
  } else if (!plan.exact)
    out << "the job has too many iterations or calls to follow one by one: loops were taken by their largest segments, an upper bound, and procedures once\n";
  const std::string needed = bytes_needed_text(plan.least),
                    given = bytes_text(static_cast<std::int64_t>(setting.memory_per_rank));
  if (!plan.complete) {
    const bool refused = plan.certainly_too_large(setting.memory_per_rank);
    out << fmt::format("{}: at least {} of {} per rank\n", refused ? "does not fit" : "not known whether it fits",
                       refused ? bytes_needed_text(plan.certain) : needed, given);
    return;
  }
  if (plan.fits(setting.memory_per_rank)) {
    std::int64_t most = 0;
    for (const ProgramNeed& program : plan.programs) most = std::max(most, with_integral_cache(program, setting));
    out << fmt::format("fits: {} of {} per rank{}\n", needed, given,
                       most > plan.least ? fmt::format(", {} with kept integrals", bytes_text(most)) : "");
    return;
  }
  if (!setting.spill.empty()) {
    out << fmt::format("does not fit into memory alone: {} of {} per rank\n", needed, given);
    return;
  }
  out << fmt::format("does not fit: {} of {} per rank", needed, given);
  if (plan.least <= static_cast<std::int64_t>(setting.memory_per_rank))
    out << fmt::format(", and up to {} for gaps between blocks of different sizes",
                       bytes_text(plan.enough - plan.least));
  if (needed_ranks.ranks > 0)
    out << fmt::format("; needs {} {} of this memory, or --memory {} on {}\n",
                       needed_ranks.certain ? "at least" : "about", plural(needed_ranks.ranks, "rank"),
                       memory_option(plan.enough), plural(setting.ranks, "rank"));
  else
    out << fmt::format(
        "; no number of ranks helps, since every rank needs {} for itself: use --memory {} or smaller segments\n",
        bytes_text(plan.floor), memory_option(plan.enough));
}

}  // namespace sial
