#pragma once
// Statistics of one rank as a value: the counters of counters.def, and by source line or statement the costs of
// costs.def. Components increment; at the end of the job the ranks' values travel as bytes to rank 0, which reduces
// them once; text and JSON print the same struct. Owned by whoever runs the job.

#include <array>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace sial {

enum class Counter : int {
#define COUNTER(number, name, ...) name,
#include "runtime/core/stats/counters.def"
};

enum class Combine { sum, max };
struct CounterRow {
  int number;
  const char* name;
  const char* unit;
  Combine combine;
  const char* meaning;
  bool device_time;
};
std::span<const CounterRow> counter_rows();
inline constexpr int counter_count = 0
#define COUNTER(number, ...) +1
#include "runtime/core/stats/counters.def"
    ;

/// The parts of a rank's wall time; the last is what the others leave.
inline constexpr std::array wall_time_parts = {Counter::compute_time, Counter::fetch_wait_time, Counter::lock_time,
                                               Counter::barrier_time, Counter::checkpoint_time, Counter::overhead_time};

// The numbers of these structs are rows of costs.def.
struct LineCost {
  std::string program, file;
  std::int32_t line = 0;
#define LINE_COST(type, field, combine, key) type field = 0;
#include "runtime/core/stats/costs.def"
};

struct AccessCost {
  std::string program, file, array;
  std::int32_t line = 0;
#define ACCESS_COST(type, field, combine, key) type field = 0;
#include "runtime/core/stats/costs.def"
  double mean_wait_seconds() const { return accesses > 0 ? wait_seconds / static_cast<double>(accesses) : 0.0; }
  double mean_first_wait_seconds() const { return firsts > 0 ? first_wait_seconds / static_cast<double>(firsts) : 0.0; }
};

/// The sums over all are the counters block_copies ...
struct CopyCost {
  std::string program, file, array;  // the array: of the block that was made
  std::int32_t line = 0;
#define COPY_COST(type, field, combine, key) type field = 0;
#include "runtime/core/stats/costs.def"
};

/// The sums over all are the counters device_in ...
struct TransferCost {
  struct Count {
    std::int64_t transfers = 0, bytes = 0;
  };
  std::string program, file, array;
  std::int32_t line = 0;
#define TRANSFER_COST(field) Count field;
#include "runtime/core/stats/costs.def"
};

/// `method`: as Kernels::last_choice names it; `why`: the reasons at the largest of the operations.
struct KernelCost {
  std::string program, file, method, why;
  std::int32_t line = 0;
#define KERNEL_COST(type, field, combine, key) type field = 0;
#include "runtime/core/stats/costs.def"
};

/// `state` as the engine of a rank says it: "on", or why there is none.
struct CodeCost {
  std::string state;
#define CODE_COST(type, field) type field = 0;
#include "runtime/core/stats/costs.def"
  std::uint64_t engine = 0;  // ranks of one process share one, and all count what it did; 0: nobody's
};

/// The facts of a run, for setting two of them side by side and for turning symbolic costs into numbers. The same on
/// all ranks.
struct IndexFacts {
  std::string name, kind;
  std::int64_t count = 0;
  double mean_extent = 0;
};
/// A remote array saved under a label: per dimension its first segment and the extents of its segments.
struct SavedFacts {
  std::string label;
  std::vector<std::int32_t> first_segment;
  std::vector<std::vector<std::int64_t>> extents;
};
/// A pardo that memory was short for, the same on all ranks: in which order its iterations ran, and the bytes that were
/// predicted to move between the memory of a node and the tiers below it, at one execution.
struct PardoOrderFacts {
  std::string file;
  std::int32_t line = 0;
  std::string order, refusal;  // refusal: why it ran as written though `order` moves less; empty: it ran so
  double bytes = 0, bytes_as_written = 0;
};
struct ProgramFacts {
  std::string program, source_hash;
  int optimisation = 0;
  std::vector<std::string> kept{};  // arrays that the job, not the program, saves at its end
  std::vector<IndexFacts> indices;  // as bound by the job, in the order of the module
  double predicted_seconds = 0;     // of wall time, before the run; 0: not predicted
  // When it ran, and not before a checkpoint that the run goes on from:
  bool ran = false;
  std::int64_t memory_high_water = 0;  // of its phases, as the counter; servers do not count
  std::vector<SavedFacts> saved{};     // what there was at its beginning
  std::vector<PardoOrderFacts> pardo_orders{};
  std::vector<std::string> files{};  // its sources under the names they were compiled from, the program's own first
  std::vector<std::string>
      sources{};  // their texts, as many; none: not found any more, or not those that were compiled
};
/// The job's input of its programs, as far as it decides how large things are and how often they happen.
struct JobFacts {
  std::map<std::string, std::int32_t> ints;
  std::map<std::string, double> scalars;
  std::map<std::string, std::vector<std::int32_t>> segments;  // extents, by kind as in the flags
};
/// Memory nodes (NUMA nodes) and what lies on them. Numbers of nodes are the system's; -1: none, or not known.
struct NumaFacts {
  struct Node {
    int number = 0;
    std::int64_t bytes = 0, processors = 0;
  };
  struct Rank {
    int node = -1;
    std::string rule;                 // of its arena's pages
    std::vector<std::int64_t> pages;  // by node; of those looked at
    std::int64_t in_large_pages = 0;  // bytes
  };
  std::string policy;
  std::vector<Node> nodes;  // of rank 0's machine
  std::vector<Rank> ranks;
  std::vector<std::string> problems;  // what the system did not do, and why
};

struct RunFacts {
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  std::string version;
  int nodes = 1, servers = 0;
  Pairs options, machine;  // machine: nothing that names the host
  std::vector<ProgramFacts> programs;
  JobFacts job;
  NumaFacts numa;
};

/// Reads the texts of a program's sources, if they are still the ones that were compiled.
void add_sources(ProgramFacts& program);

/// Processor, number of processors and memory of this machine.
RunFacts::Pairs machine_facts();

struct Stats {
  std::array<double, counter_count> value{};
  std::vector<LineCost> lines;  // only when profiling; a line may have several rows
  std::vector<AccessCost> accesses;
  std::vector<CopyCost> copies;
  std::vector<KernelCost> kernels;  // only when profiling
  std::vector<TransferCost> transfers;
  CodeCost code;

  double& operator[](Counter c) { return value[static_cast<int>(c)]; }
  double operator[](Counter c) const { return value[static_cast<int>(c)]; }
  /// Whether the counter was counted: times of a device are not unless they are taken.
  bool has(Counter c) const;
};

/// All ranks together. `per_rank` keeps the counters of each rank (the time breakdown is read per rank).
struct JobStats {
  std::vector<Stats> per_rank;  // rows moved out
  Stats total;
  RunFacts facts;
  double hit_ratio() const;  // 1 - blocked / accesses; 1 without accesses
};

std::vector<std::byte> pack_stats(const Stats& stats);
Stats unpack_stats(std::span<const std::byte> bytes);
/// Makes rows of one place one row. Of one rank: which of its rows took longest on a rank is not known before
/// reduce_stats().
void merge_rows(Stats& rank);
/// Adds counts; the state is that of the first.
void add_code(CodeCost& to, const CodeCost& code);
JobStats reduce_stats(std::vector<Stats> ranks);

/// run.json. Throws EnvironmentError when the file cannot be written.
void write_stats_json(const JobStats& stats, const std::string& path);
/// The summary of --stats.
void print_stats(const JobStats& stats, std::ostream& out);
/// The table of --explain-kernels: per line of the programs which way its block operations went, how fast, and why.
void print_kernels(const JobStats& stats, std::ostream& out);
/// "12.3 GFLOP/s", for rows without flops "4.5 GB/s"; "-" when no time was measured.
std::string kernel_speed(const KernelCost& row);

}  // namespace sial
