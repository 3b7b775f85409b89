#include "runtime/core/store/local/node_storage.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "runtime/core/numa/placement.h"

namespace sial {

namespace {

constexpr std::size_t page = 4096;

std::size_t pages(std::size_t bytes) { return (bytes + page - 1) / page * page; }

/// The places of the node's ranks. Processes write it down for each other before they map the heap, which waits for
/// all; ranks that are threads of one process may run where that may.
class RanksOnNodes {
 public:
  RanksOnNodes(Transport& transport, const NumaTopology& machine)
      : machine_(machine), ranks_(transport.node_size()), own_(transport.node_rank()) {
    if (!machine_.is_this_machine || machine_.size() == 1) return;
    memory_ = transport.map_node_memory(sizeof(Row) * static_cast<std::size_t>(ranks_), "places of ranks");
    memory_->commit(0, sizeof(Row) * static_cast<std::size_t>(ranks_));
    found_ = find_rank(machine_);
    row(own_).near.store(found_.near + 2);
    row(own_).start.store(found_.start + 2);
  }

  /// After a call for which all ranks of the node wait.
  std::vector<RankOnNode> all() const {
    std::vector<RankOnNode> ranks;
    for (int r = 0; r < ranks_; ++r) {
      if (!memory_) ranks.push_back(spread_rank(machine_, r, ranks_));
      else if (const int start = row(r).start.load(); start == 0) ranks.push_back(found_);
      else ranks.push_back({row(r).near.load() - 2, start - 2});
    }
    return ranks;
  }

 private:
  struct Row {
    std::atomic<int> near, start;  // plus 2; 0: not written
  };
  Row& row(int r) const { return reinterpret_cast<Row*>(memory_->base())[r]; }

  const NumaTopology& machine_;
  int ranks_, own_;
  RankOnNode found_;
  std::shared_ptr<NodeMemory> memory_;
};

/// The heap has several times the address range of its budget where memory is handed back.
bool has_unlimited_addresses() {
  rlimit most{};
  return getrlimit(RLIMIT_AS, &most) == 0 && most.rlim_cur == RLIM_INFINITY;
}

}  // namespace

NodeStorage::NodeStorage(Transport& transport, const StoreOptions& options, std::function<bool(std::uint64_t)> reclaim,
                         std::function<std::string()> problem) {
  const int arenas = transport.node_size();
  const std::size_t share = pages(std::max<std::size_t>(options.memory_per_rank, page));
  const bool spills = !options.spill.empty() || options.make_tiers;
  // Memory that a network has registered must stay where it is: between nodes nothing is handed back that need not be.
  const bool hands_back = spills || (transport.node_count() == 1 && has_unlimited_addresses());
  // A tier may keep many times more blocks than the heap holds.
  const std::size_t chains = directory_chains(share * static_cast<std::size_t>(arenas) * (spills ? 8 : 1));
  const std::size_t heap_at = pages(Directory::bytes_needed(chains));  // behind the directory
  std::optional<RanksOnNodes> ranks;
  if (options.machine) ranks.emplace(transport, *options.machine);
  memory_ = transport.map_node_memory(heap_at + NodeHeap::bytes_needed(arenas, share, hands_back), "block memory");
  HeapHooks hooks{[memory = memory_](std::size_t offset, std::size_t bytes) { memory->commit(offset, bytes); },
                  [&transport] { transport.pause(); }, std::move(reclaim)};
  if (spills) {
    hooks.spills = true;
    hooks.problem = std::move(problem);
  }
  if (hands_back) {
    hooks.committed = [memory = memory_] { return memory->committed(); };
    hooks.uncommitted = [memory = memory_](std::size_t offset, std::size_t bytes) {
      return memory->uncommitted(offset, bytes);
    };
    hooks.uncommit = [memory = memory_](std::size_t offset, std::size_t bytes) { memory->uncommit(offset, bytes); };
  }
  arena_ = transport.node_rank();
  page_calls_ = options.page_calls;
  placement_ = std::make_shared<BlockPlacement>();
  std::optional<NumaPlacement> placed;
  if (ranks) {
    for (const auto& [array, rule] : options.numa.arrays)
      check_rule(*options.machine, rule, fmt::format("--numa, the array `{}`", array));
    placed = place(*options.machine, options.numa.all, ranks->all());
    placement_ = std::make_shared<BlockPlacement>(options.machine, *placed, options.numa);
  }
  if (placement_->several_nodes())
    hooks.fallback_arenas = [placement = placement_](int own, std::span<const double> used) {
      return placement->fallback_arenas(own, used);
    };
  heap_ = std::make_shared<NodeHeap>(memory_->base(), heap_at, arenas, share, hooks);
  if (placed) set_rules(*options.machine, *placed, heap_at);
  // Memory that is handed back goes in smaller pieces than large pages.
  if (page_calls_ && !spills && options.large_pages)
    page_calls_->ask_for_large_pages(memory_->base(), memory_->reserved());
  directory_ = std::make_unique<Directory>(memory_->base(), 0, chains, *heap_, transport.node_rank(), hooks);
}

/// By every rank for all arenas: whoever takes memory of one first finds its rule there, and doing it twice changes
/// nothing. Before this rank takes any.
void NodeStorage::set_rules(const NumaTopology& machine, const NumaPlacement& placement, std::size_t heap_at) {
  const auto set = [&](std::size_t offset, std::size_t bytes, const PageRule& rule) {
    if (rule.kind == PageRule::Kind::system) return;
    if (const std::string problem = page_calls_->set_rule(memory_->base() + offset, bytes, rule); !problem.empty())
      numa_.problem = problem;
  };
  set(0, heap_at, placement.shared);
  for (int a = 0; a < heap_->arenas(); ++a) {
    const auto [offset, bytes] = heap_->arena_range(a);
    set(offset, bytes, placement.arenas[static_cast<std::size_t>(a)]);
  }
  const auto own = static_cast<std::size_t>(arena_);
  numa_.rule = placement.arenas[own];
  if (const int node = placement.node_of_arena[own]; node >= 0)
    numa_.node = machine.nodes[static_cast<std::size_t>(node)].number;
}

NumaReport NodeStorage::numa() const {
  constexpr std::size_t max_pages = 4096;
  NumaReport report = numa_;
  // Memory that was handed back lies in between; what was never used lies behind.
  const auto bytes = static_cast<std::size_t>(heap_->stats(arena_).bytes_reserved);
  if (!page_calls_) return report;
  std::byte* const begin = memory_->base() + heap_->arena_range(arena_).first;
  report.pages = page_calls_->find_pages(begin, bytes, max_pages);
  if (arena_ == 0) report.in_large_pages = page_calls_->bytes_in_large_pages(memory_->base(), memory_->reserved());
  return report;
}

}  // namespace sial
