#pragma once
// The block memory that a job will need, computed before it runs: an abstract interpretation of each program over the
// ranges that the job gives it, with sizes but without data. Conditions on data count both ways; what every rank does
// is done once, and remote blocks lie where the store would put them. Numbers are in the terms of the node heap
// (chunks, not elements), so that they can be compared with what a run measures. Values; nothing here touches a
// transport or a store.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/bytecode/module.h"
#include "runtime/core/job/job_data.h"
#include "runtime/core/job/results.h"
#include "runtime/core/kernels/interface/block_op.h"
#include "runtime/core/tier/request.h"

namespace sial {

/// The setting of the plan.
struct PlanSetting {
  int ranks = 1;
  int ranks_per_node = 0;  // 0: all ranks on one node
  int servers = 0;         // ranks that only serve, each a node of its own
  std::size_t memory_per_rank = std::size_t{2} << 30;
  bool copy = false, deterministic = false;  // as in StoreOptions
  bool static_schedule = false;              // every pardo is divided by the cyclic rule
  bool keep_saved = true;                    // a results file keeps everything saved until the end
  bool keep_integrals = true;                // two-electron ones, in memory that nothing else needs
  std::string kernels = "auto";
  KernelOptions kernel_options;
  bool explain_kernels = false;         // say what they would choose
  std::int32_t first_program = 0;       // number of the first program in its job; it decides where blocks lie
  std::int64_t max_steps = 10'000'000;  // beyond these, loops are taken by their largest iteration; beyond twice as
                                        // many the rest is left out
  bool only_verdict = false;            // nothing is followed after the point that no run gets to
  SpillRequest spill;                   // where blocks go that do not fit,
  int memory_nodes = 0;                 // servers beside those above, whose memory is for these only,
  std::size_t memory_of_server = 0;     // and of each; 0: as of a rank
  bool orders_pardos = true;            // and then pardos run in the order that moves least
  std::int64_t spill_capacity = 0;      // by which the orders of pardos are chosen, as in MachineOptions
  int node_size() const { return ranks_per_node > 0 ? std::min(ranks_per_node, ranks) : ranks; }
  /// Servers not counted. The last one may have fewer ranks.
  int nodes() const { return (ranks + node_size() - 1) / node_size(); }
};

/// One array of a program, a label, or something that is not an array (`kind` empty): at its largest.
struct MemoryItem {
  std::string name, kind;  // kind: "distributed", "served", "static", "local", "temp", "saved"
  bool remote = false;     // blocks and bytes are those of all ranks together, else those of one rank
  std::int64_t blocks = 0, bytes = 0;
};

/// The kernels' choice for the largest operation of a line.
struct PlannedKernel {
  std::string file, why;
  std::int32_t line = 0;
};

/// Bytes per rank.
struct MemoryFigures {
  std::int64_t peak = 0;     // the fullest node's sum divided by its ranks, fetched copies kept as long as they are
  std::int64_t most = 0;     // the same for a rank that draws all iterations of the pardos, because the others are late
  std::int64_t least = 0;    // `peak` with fetched copies given up as early as possible
  std::int64_t enough = 0;   // `least` and what blocks of different sizes cannot use of it
  std::int64_t floor = 0;    // part of `enough` that more ranks do not lower: what a rank has for itself
  std::int64_t certain = 0;  // no run with less gets to the end
  void take_larger(const MemoryFigures& other) {
    for (const auto figure : {&MemoryFigures::peak, &MemoryFigures::most, &MemoryFigures::least, &MemoryFigures::enough,
                              &MemoryFigures::floor, &MemoryFigures::certain})
      this->*figure = std::max(this->*figure, other.*figure);
  }
};

struct ProgramNeed : MemoryFigures {
  std::string program;
  std::vector<MemoryItem> items;
  std::int64_t directory = 0;  // of the blocks on all nodes
  std::int64_t largest = 0;    // block
  std::int64_t pairs =
      0;  // beside the blocks: pairs of shells that two-electron integrals remember, bytes per rank at most
  std::int64_t integral_cache =
      0;                   // two-electron integrals that are kept while nothing else needs the memory, bytes per rank
  std::string place;       // statement at which `least` is reached, "prog.sialx:12"
  bool exact = true;       // false: max_steps was reached
  std::string certain_of;  // why no run gets to the end with less than `certain`: "distributed `a`"
  std::string left_at;  // the statement at which the program was left before its end, where it was, "prog.sialx:12:5"
  std::vector<PlannedKernel> kernels{};  // with explain_kernels, in the order of the lines, as the first rank sees it
};

/// Bytes of a rank with what is kept of integrals, at most.
inline std::int64_t with_integral_cache(const ProgramNeed& need, const PlanSetting& setting) {
  return std::max(need.least,
                  std::min(need.least + need.integral_cache, static_cast<std::int64_t>(setting.memory_per_rank)));
}

/// Between nodes what a rank fetches depends on its iterations. Each of several ranks is planned for, and the fullest
/// counts.
struct MemoryModel : MemoryFigures {  // of all programs
  std::vector<ProgramNeed> programs;
  bool exact = true;
  bool complete = true;    // else `enough` and the others are those up to the point where planning stopped,
  std::int64_t steps = 0;  // that planning took
  bool fits(std::size_t memory_per_rank) const {
    return complete && enough <= static_cast<std::int64_t>(memory_per_rank);
  }
  bool certainly_too_large(std::size_t memory_per_rank) const {
    return certain > static_cast<std::int64_t>(memory_per_rank);
  }
};

/// Remote arrays that exist before the first program: label and layout.
using SavedArrays = std::map<std::string, SavedLayout>;

/// Throws SialError for a program that does not fit the job (missing values, ranges without segments).
MemoryModel model_memory(std::span<const std::shared_ptr<const Module>> programs, const JobData& job,
                         const SavedArrays& saved, const PlanSetting& setting);

struct RanksNeeded {
  int ranks = 0;         // 0: no number does, or it is not known
  bool certain = false;  // else an estimate
};

/// The smallest number of ranks (from setting.ranks on) for which the job fits.
RanksNeeded ranks_needed(std::span<const std::shared_ptr<const Module>> programs, const JobData& job,
                         const SavedArrays& saved, PlanSetting setting, const MemoryModel& plan);

/// An argument of --memory that is no less: two digits, rounded up.
std::string memory_option(std::int64_t bytes);

/// The table of --dry-run, verdict included. `needed_ranks` are not looked at when the plan fits, nor when blocks may
/// go to disk.
void print_plan(const MemoryModel& plan, const PlanSetting& setting, const RanksNeeded& needed_ranks,
                std::ostream& out);

}  // namespace sial
