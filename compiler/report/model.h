#pragma once
// The content of a report on a module, its sources and the statistics of a run of it: a plain value that text.cpp,
// annotate.cpp, json.cpp, yaml.cpp and html.cpp print. Sizes are symbolic, since a module knows no molecule; bind()
// sets numbers beside them when a run says how large every index was.

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/report/kernels.h"
#include "runtime/core/bytecode/module.h"

namespace sial::report {

struct IndexLine {
  std::string name, kind, range, segments;  // range "1:norb" or "of p"; segments: how many, symbolic
};

/// The number of statements that use an array, by what they do with it.
struct Uses {
  int read = 0, written = 0, updated = 0, fetched = 0, put = 0, accumulated = 0, whole = 0;
  bool none() const { return read + written + updated + fetched + put + accumulated + whole == 0; }
};

struct ArrayLine {
  std::string name, kind, dims;  // dims "mu,nu"
  std::string blocks;            // how many there can be, symbolic
  int rank = 0;
  bool predefined = false, sparse = false;
  Uses uses;
};

struct LoopLine {
  std::string place, part;  // "prog.sialx:12"; procedure, empty for the main body
  std::string kind, indices, trips, pragma;
  int depth = 0, wheres = 0, instructions = 0;
  bool rank_dependent = false;
};

struct MixLine {
  std::string name;
  int count = 0;
};
struct SpecialLine {
  std::string name, signature;
  int calls = 0;
};

/// An amount: symbolic (empty: none, or not known), and for a run also a number.
struct Amount {
  Cost cost;
  Cost each_rank;  // what every rank does for itself, beside
  std::string text;
  std::optional<double> value;
};

struct RemarkLine {
  RemarkKind kind = RemarkKind::passed;
  std::string pass, name, array, text, advice;  // array empty: none in particular
  std::string part;                             // procedure, empty for the main body
  SourcePlace place;
  Amount bytes, flops, executions;  // saved or lost at one execution; executions of a run over all ranks
  Amount all_bytes, all_flops;      // of all executions
  double weight = 0;                // for sorting, see weigh()
  std::optional<double> seconds;    // of all ranks, measured at its line
};

/// The uses of arrays by the statements of a line, in the order of the code.
enum class Deed { read, write, update, get, put, accumulate, pass };
struct Deeds {
  Deed deed = Deed::read;
  std::vector<std::string> arrays;
};

// --- from run.json
struct CounterLine {
  std::string name;
  double value = 0.0;
};
struct CostLine {
  std::string file;
  int line = 0;
  std::int64_t executions = 0;
  double seconds = 0.0, compute_seconds = 0.0, slowest_seconds = 0.0, flops = 0.0;
};
struct AccessLine {
  std::string file, array;
  int line = 0;
  std::int64_t accesses = 0, blocked = 0, bytes = 0, moved = 0, in_place = 0;
  double wait_seconds = 0.0, first_wait_seconds = 0.0;
  std::int64_t too_large = 0, too_large_bytes = 0,
               enough_memory = 0;   // gets that were not fetched ahead for their size
  std::int64_t on_other_nodes = 0;  // bytes used that lay on another memory node than the rank
  double hit_ratio() const {
    return accesses > 0 ? 1.0 - static_cast<double>(blocked) / static_cast<double>(accesses) : 1.0;
  }
};
/// Blocks that the statements of a line copied, by array of the block that was made, and copies that the plan spared
/// them.
struct CopyLine {
  std::string file, array;
  int line = 0;
  std::int64_t copied = 0, bytes_copied = 0, elided = 0, bytes_elided = 0;
};
/// Blocks of an array that travelled to a device and back for the statements of a line: as the program is written, with
/// each operand copied in and out, made, and at least (simulated devices only).
struct TransferLine {
  struct Count {
    std::int64_t transfers = 0, bytes = 0;
  };
  std::string file, array;
  int line = 0;
  Count in, out, in_unoptimized, out_unoptimized, in_lower_bound, out_lower_bound;
  std::int64_t bytes() const { return in.bytes + out.bytes; }
};
/// Block operations of a line that went one way. `slow`: a contraction below half of the speed of the program's fastest
/// one.
struct KernelLine {
  std::string file, method, why;
  int line = 0;
  std::int64_t calls = 0;
  double flops = 0.0, bytes = 0.0, seconds = 0.0;
  bool slow = false;
  std::string advice;  // of slow ones
};
/// Whether kernels were generated: counts over all ranks.
struct GeneratedCode {
  std::string state;
  std::int64_t asked = 0, compiled = 0, from_disk = 0, failed = 0;
  double compile_seconds = 0.0;
};
/// Values that decide how large things are and how often they happen; segments: extents, by kind as in sialrun's flags.
struct JobValues {
  std::map<std::string, std::int32_t> ints;
  std::map<std::string, double> scalars;
  std::map<std::string, std::vector<std::int32_t>> segments;
  bool operator==(const JobValues&) const = default;
};
struct SavedArray {
  std::string label;
  std::vector<std::int32_t> first_segment;
  std::vector<std::vector<std::int64_t>> extents;
};
/// A device's time by its use, in seconds: at kernels, at copies to it, from it and either way; at kernels and copies;
/// a rank waited for it.
struct DeviceSeconds {
  double kernels = 0.0, in = 0.0, out = 0.0, copies = 0.0, overlapped = 0.0, waited = 0.0;
  std::optional<double> overlap() const {
    return copies > 0 ? std::optional(std::min(1.0, overlapped / copies)) : std::nullopt;
  }  // part of the copies
};
/// Bytes that went to tiers below a node's memory and came back.
struct TierBytes {
  double written = 0.0, read = 0.0;
  double sum() const { return written + read; }
};
/// The bytes that a run moves by the model of a dry run, and the bytes it would at least move with all its uses of
/// blocks known from the start.
struct TierPrediction {
  TierBytes moved, optimum;
};
/// A run's prediction for a pardo that memory was short for.
struct PardoOrderLine {
  std::string file;
  int line = 0;
  std::string order, refusal;  // refusal: why it ran as written all the same
  double bytes = 0, bytes_as_written = 0;
};

struct Run {
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  std::string path, version,
      source_hash;  // hash of this program's sources as it ran; empty: the run has several versions of it
  int ranks = 0, nodes = 1, servers = 0;
  double hit_ratio = 1.0;
  std::optional<JobValues> job;   // what the job gave to its programs
  int optimisation = 0;           // this program was compiled with
  std::vector<std::string> kept;  // arrays that the job, not the program, saved at its end
  int number = 0;                 // of this program among those of the job
  std::vector<std::string> files,
      sources;  // of this program: names, the program's own first, and texts as far as the run kept them
  std::optional<double> memory;  // bytes that a rank needed in this program
  double predicted_seconds = 0;  // of wall time, before the run; 0: not predicted
  std::vector<PardoOrderLine> pardo_orders;
  std::vector<SavedArray> saved;  // what earlier programs had left under labels
  Pairs options, machine;
  std::vector<CounterLine> totals;
  std::vector<std::vector<CounterLine>> per_rank;
  std::map<std::string, IndexSize> sizes;                     // of this program's indices, by name
  std::vector<std::pair<std::string, std::string>> programs;  // in the order they ran, with the hash of their sources
  std::vector<CostLine> lines;                                // of this program, most expensive first
  std::vector<AccessLine> accesses;                           // of this program, longest waits first
  std::vector<CopyLine> copies;                               // of this program, most bytes copied first
  std::vector<TransferLine> transfers;                        // of this program, most bytes first
  std::vector<KernelLine> kernels;                            // of this program, longest first
  std::optional<GeneratedCode> code;                          // of the job
  double counter(const std::string& name, double otherwise = 0) const;
  /// All ranks and programs; nothing where it was not measured.
  std::optional<DeviceSeconds> device_seconds() const;
  /// The bytes of a whole run with `--spill` that moved anything.
  std::optional<TierBytes> tier_movement() const;
  std::optional<TierPrediction> predicted_tiers;  // of the job; nothing where the model says nothing
  std::string option(const std::string& name) const;
};

/// A line of the program's sources that has code or remarks, in the order of files and lines.
struct SourceLine {
  int file = 0, line = 0;
  std::vector<Deeds> deeds;
  std::string loop;                                // "pardo i,j" when a loop begins here
  std::string trips;                               // symbolic iterations of that loop
  Amount executions, flops, get_bytes, put_bytes;  // at most: where clauses and conditions are taken to hold
  bool at_most = false;                            // something may keep statements here from running each time
  std::vector<std::size_t> remarks;                // rows of Report::remarks
  double weight = 0;                               // of the heaviest missed remark
  double seconds = 0;                              // measured, all ranks
};

/// A source file as it is now. The module has one hash over all of its files: `changed` when they are not what it was
/// made of. origins: what each line was generated from, where a program wrote the file: comments that end in
/// `@FILE:LINE` say so of the lines below them, to the next such comment or empty line; empty where nothing is said.
struct SourceFile {
  std::string name, path, problem;
  std::vector<std::string> lines, origins;
  bool found = false, changed = false;
};

struct JobAdvice;  // advice.h

struct Report {
  std::string program, producer, source_hash;
  int optimisation = 0;
  std::vector<std::string> files;
  std::vector<std::string> expected_ints, expected_scalars, expected_arrays;  // predefined: the job must give them
  std::vector<IndexLine> indices;
  std::vector<ArrayLine> arrays;
  std::vector<LoopLine> loops;
  std::vector<MixLine> mix;           // most frequent first
  std::vector<SpecialLine> specials;  // executed ones
  int instructions = 0, procedures = 0;
  std::vector<RemarkLine> remarks;  // heaviest first
  std::vector<SourceLine> lines;
  std::vector<SourceFile> sources;           // when they were looked for: as many as files
  std::map<std::string, std::string> texts;  // sources that are known without a file, by name
  std::vector<ContractionLayout> layouts;    // of the contractions, in the order of the code
  std::optional<Run> run;
  std::shared_ptr<const JobAdvice> job;  // of the whole job that the run was, where somebody looked at it
};

/// Takes over what is known of the whole job: remarks and kernels about orders of indices say what was found over all
/// uses.
void set_job(Report& report, std::shared_ptr<const JobAdvice> job);

Report describe(const Module& module);

/// Reads run.json for one program. Throws EnvironmentError when it cannot be read, SialError when it is no statistics
/// file, or of no run of the program.
Run read_run(const std::string& path, const std::string& program);
/// The same for a comparison: of all programs. Fields of one program stay empty.
Run read_run(const std::string& path);

/// Throws SialError when the run was made with other sources than those with this hash.
void check_same_sources(const Run& run, const std::string& program, const std::string& source_hash);

/// Takes over a run: amounts get numbers, and remarks are sorted by them.
void bind(Report& report, Run run);

/// Finds the module's source files under their names, then along the folders, by their last name.
void find_sources(Report& report, const std::vector<std::string>& folders);

/// The part of the remarks that is wanted. Empty fields: all.
struct Filter {
  std::string only;  // passed, missed, analysis
  std::string array, pass;
  int first_line = 0, last_line = 0;
  std::string file;  // of the lines; empty: any
  bool none() const { return only.empty() && array.empty() && pass.empty() && first_line == 0; }
};
/// "12", "12-20", "prog.sialx:12-20". Throws SialError.
void set_lines(Filter& filter, const std::string& text);
/// Throws SialError for an array or pass that the module does not have.
void apply(Report& report, const Filter& filter);

std::string to_text(const Report& report);
/// The sources with what is known about each line. Throws EnvironmentError when no source was found.
std::string to_annotated(const Report& report);
std::string to_json(const Report& report);
std::string to_yaml(const Report& report);
std::string to_html(const Report& report);

/// The work of a row of block kernels, in words of the program: "3402 products of 171 flop each".
std::string kernel_text(const KernelLine& kernel);

std::string kind_text(RemarkKind kind);
const char* deed_text(Deed deed);
/// "1.2 MB", "3.4 Gflop", "12.3 ms".
std::string bytes_number(double bytes);
std::string flops_number(double flops);
std::string seconds_number(double seconds);
std::string count_number(double count);

}  // namespace sial::report
