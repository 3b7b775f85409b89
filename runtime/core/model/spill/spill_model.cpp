#include "runtime/core/model/spill/spill_model.h"

#include <algorithm>
#include <ostream>

#include <fmt/format.h>

#include "runtime/core/base/bytes.h"
namespace sial {
namespace {

/// The first node that owns blocks, and its ranks: without any, it only serves.
struct Owner {
  NodeId node;
  int ranks = 1;
  bool works = true;
};

Owner owner_of(const PlanSetting& setting) {
  if (setting.servers > 0) return {NodeId(setting.nodes()), 1, false};
  return {NodeId(0), setting.node_size(), true};
}

/// Nodes that own blocks; they are alike.
int owners_of(const PlanSetting& setting) { return setting.servers > 0 ? setting.servers : setting.nodes(); }

/// Gaps stay between freed blocks of other sizes: a sixteenth, as in the verdict on memory.
std::int64_t with_gaps(std::int64_t bytes) { return bytes + bytes / 16; }
std::int64_t without_gaps(std::int64_t bytes) { return std::max<std::int64_t>(bytes, 0) / 17 * 16; }

/// The program's bytes on the owner's node.
std::int64_t fixed_of(const ProgramNeed& program, const PlanSetting& setting, const Owner& owner) {
  return program.directory / owners_of(setting) + (owner.works ? program.floor * owner.ranks : 0);
}

/// Per rank. What is in use may lie so that no gap takes the largest piece: there must be room for one more. Never more
/// than without a tier.
std::int64_t least_of(const ProgramNeed& program, std::int64_t fixed, std::int64_t in_use, const Owner& owner) {
  const std::int64_t sum = (fixed + with_gaps(in_use) + owner.ranks - 1) / owner.ranks;
  return std::min(std::max(sum + program.largest, program.floor), std::max(program.enough, program.floor));
}

int providers_of(const PlanSetting& setting) { return setting.nodes() + setting.servers + setting.memory_nodes - 1; }

/// No node would provide memory: the run is refused.
bool no_provider(const PlanSetting& setting) {
  return std::any_of(setting.spill.begin(), setting.spill.end(), [&](const TierRequest& t) {
    return t.kind == TierKind::nodes &&
           (providers_of(setting) == 0 || (t.bytes == 0 && setting.servers + setting.memory_nodes == 0));
  });
}

bool has_disk(const SpillRequest& request) {
  return std::any_of(request.begin(), request.end(), [](const TierRequest& t) { return t.kind == TierKind::disk; });
}
bool has_nodes(const SpillRequest& request) {
  return std::any_of(request.begin(), request.end(), [](const TierRequest& t) { return t.kind == TierKind::nodes; });
}

/// The memory of others for each owner of blocks. Owners are alike, so that where one is short, all are: what
/// is known to be free is that of nodes which own none. 0: that is not known.
std::int64_t memory_of_nodes(const PlanSetting& setting, const TierRequest& tier) {
  const auto memory =
      static_cast<std::int64_t>(setting.memory_of_server > 0 ? setting.memory_of_server : setting.memory_per_rank);
  const auto most = static_cast<std::int64_t>(tier.bytes);
  const std::int64_t of_server = memory - memory / 8;  // as NodeMemoryProvider keeps
  if (setting.memory_nodes > 0)
    return (most > 0 ? std::min(most, of_server) : of_server) * setting.memory_nodes / owners_of(setting);
  const std::int64_t of_node = static_cast<std::int64_t>(setting.memory_per_rank) * setting.node_size();
  return (std::min(most, of_node / 2) * setting.nodes() + most * setting.servers) / owners_of(setting);
}

std::int64_t room_of(const PlanSetting& setting) {
  if (no_provider(setting)) return -1;
  std::int64_t bytes = 0;
  for (const TierRequest& tier : setting.spill) {
    const std::int64_t room =
        tier.kind == TierKind::nodes ? memory_of_nodes(setting, tier) : static_cast<std::int64_t>(tier.bytes);
    if (room == 0) return 0;
    bytes += room;
  }
  return bytes;
}

}  // namespace

double spill_rate(const PlanSetting& setting) {
  return setting.spill.empty() || has_disk(setting.spill) ? usual_disk_rate : usual_network_rate;
}

SpillModel model_spill(std::span<const std::shared_ptr<const Module>> programs, const JobData& job,
                       const SavedArrays& saved, const PlanSetting& setting, const MemoryModel& plan,
                       const AccessLimits& limits) {
  const Owner owner = owner_of(setting);
  const JobAccesses followed = follow_accesses(programs, job, saved, setting, owner.node, limits);
  SpillModel spill;
  spill.known = followed.known && !programs.empty();
  // On one rank the order of accesses is the program's; several draw iterations as they come.
  spill.exact = followed.exact && (setting.ranks == 1 || setting.static_schedule || setting.deterministic);
  spill.room = room_of(setting);
  const std::int64_t memory = static_cast<std::int64_t>(setting.memory_per_rank) * owner.ranks;
  for (const ProgramNeed& program : plan.programs) {
    spill.fixed.push_back(fixed_of(program, setting, owner));
    spill.capacity.push_back(without_gaps(memory - spill.fixed.back()));
  }
  if (!spill.known) return spill;
  const Capacity capacity(spill.capacity);
  spill.moved = replay(followed.sequence, {.capacity = capacity});
  if (!setting.spill.empty()) {
    spill.optimum = offline_optimum(followed.sequence, capacity);
    spill.bound = lower_bound(followed.sequence, capacity);
  }
  spill.orders = followed.orders;
  spill.arrays = followed.sequence.arrays();
  for (std::size_t p = 0; p < programs.size(); ++p) {
    const BlocksInUse& used = spill.moved.max_in_use[p];
    const std::int64_t least = least_of(plan.programs[p], spill.fixed[p], used.bytes, owner);
    if (least <= spill.least) continue;
    spill.least = least;
    spill.min_fixed = spill.fixed[p] / owner.ranks;
    spill.place = place_text(programs, followed, used.place);
  }
  spill.seconds = static_cast<double>(spill.moved.total.bytes()) / spill_rate(setting);
  return spill;
}

namespace {

std::string on_each_node(const PlanSetting& setting) {
  const int owners = owners_of(setting);
  return owners == 1 ? "" : setting.servers > 0 ? " of each server" : " of each node";
}

std::string place_of(const SpillRequest& request) {
  const std::string nodes = "in the memory of other nodes";
  if (!has_nodes(request)) return "on disk";
  return has_disk(request) ? nodes + " and on disk" : nodes;
}

std::string movement(const SpillModel& spill, const PlanSetting& setting) {
  const TierTraffic& total = spill.moved.total;
  return fmt::format("{} {}{}, {} written, {} read", bytes_text(spill.moved.max_below), place_of(setting.spill),
                     on_each_node(setting), bytes_text(total.bytes_written), bytes_text(total.bytes_read));
}

void print_arrays(const SpillModel& spill, const PlanSetting& setting, std::ostream& out) {
  constexpr auto row = "  {:<34} {:>9} {:>10} {:>10} {:>9} {:>10}\n";
  out << fmt::format("blocks that do not fit into memory{}\n", on_each_node(setting))
      << fmt::format(row, "array", "writes", "written", "in vain", "reads", "read");
  for (std::size_t a = 0; a < spill.arrays.size(); ++a) {
    const TierTraffic& t = spill.moved.by_array[a];
    if (t.bytes() > 0)
      out << fmt::format(row, spill.arrays[a], t.writes, bytes_text(t.bytes_written), bytes_text(t.bytes_in_vain),
                         t.reads, bytes_text(t.bytes_read));
  }
  if (spill.moved.total.bytes_in_vain > 0)
    out << fmt::format(
        "  {} written in vain: replaced or dead before they are read; `delete` arrays after their last use\n",
        bytes_text(spill.moved.total.bytes_in_vain));
  out << fmt::format("  {} moved; offline optimum {}; less than {} is not possible with these accesses in this order\n",
                     bytes_text(spill.moved.total.bytes()), bytes_text(spill.optimum.total.bytes()),
                     bytes_text(spill.bound.bytes()));
  for (const OrderedPardo& pardo : spill.orders)
    out << fmt::format("  the pardo at {} runs {}: {} instead of {} at each execution\n", pardo.place, pardo.order,
                       bytes_text(static_cast<std::int64_t>(pardo.bytes)),
                       bytes_text(static_cast<std::int64_t>(pardo.bytes_as_written)));
  if (!spill.exact)
    out << "  not exact: both ways of conditions on data count, loops that data end take 12 trips, ranks are equally fast\n";
}

}  // namespace

void print_spill(const SpillModel& spill, const PlanSetting& setting, std::ostream& out) {
  const bool asked = !setting.spill.empty();
  if (!spill.known) {
    out << (asked ? "what leaves memory" : "what `--spill DIR` would move")
        << " is not known: the job accesses too many blocks to follow one by one\n";
    return;
  }
  if (spill.least > static_cast<std::int64_t>(setting.memory_per_rank)) {
    out << fmt::format(
        "{}: needs --memory {}: {} that never leave it, and the blocks in use at once at {}, with gaps\n",
        asked ? "does not fit with --spill" : "with `--spill DIR`", memory_option(spill.least),
        bytes_text(spill.min_fixed), spill.place);
    return;
  }
  if (!asked) {
    out << fmt::format("with `--spill DIR`: {}\n", movement(spill, setting));
    return;
  }
  if (no_provider(setting)) {
    out << "does not run with `--spill nodes`: no other node lends memory; `nodes:SIZE` says how much each does\n";
    return;
  }
  if (spill.moved.total.bytes() > 0) print_arrays(spill, setting, out);
  if (spill.fits(setting.memory_per_rank))
    out << fmt::format("fits with --spill: {}, {:.3g} s at {} per second\n", movement(spill, setting), spill.seconds,
                       bytes_text(static_cast<std::int64_t>(spill_rate(setting))));
  else
    out << fmt::format("does not fit with --spill: {}; {} are allowed\n", movement(spill, setting),
                       bytes_text(spill.room));
  if (has_nodes(setting.spill) && spill.room == 0 && !has_disk(setting.spill))
    out << "  how much memory other nodes have left is not known before the run\n";
}

}  // namespace sial
