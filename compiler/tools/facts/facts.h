#pragma once
// The facts of each line and each array of a program: what its statements move and compute, how often, with the numbers
// of a job; the compiler's remarks; the measurements of the last run. A value made from a compiled program, for
// editors: words.h makes short and long texts of it. Files are numbered as in the program (0 is the main one), lines
// from 1.

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/analysis/bound.h"
#include "compiler/ir/ir.h"
#include "compiler/report/model.h"
#include "runtime/core/bytecode/module.h"

namespace sial::facts {

/// Numbers of a job, and what people call the place they come from: "job.toml".
struct Numbers {
  report::JobValues values;
  std::string origin;
};

struct Input {
  const Module& module;
  const ir::Program& program;      // the same as written
  std::vector<std::string> texts;  // of its files, in the program's order
  std::string source_hash;         // of all of them
  std::optional<Numbers> numbers = {};
  std::int64_t max_steps = analysis::Job{}.max_steps;  // of counting: fewer take less time and are less exact
  std::optional<report::Run> run = {};                 // of this program, in this or an earlier version
};

/// Measurements of the last run; seconds are those of a mean rank, counts and bytes those of all ranks.
struct Measured {
  std::int64_t executions = 0, moved = 0;
  double seconds = 0, slowest = 0, waits = 0, flops = 0;
};

/// Everything is known of the text as it is now, except what was measured, which may be of an earlier version of a line
/// that is still the same.
struct LineFacts {
  report::SourceLine line;                    // uses of arrays, loops, amounts as formulas
  std::string times, flops_each, bytes_each;  // formulas: how often, and of one execution; empty: none
  // With the job's numbers, of all executions: all ranks together inside pardos, else one rank.
  std::optional<double> executions;
  double flops = 0, bytes = 0, moved = 0;
  std::optional<double> iterations;  // of the loop that begins here
  bool at_most = false;              // data decide whether all of that happens
  bool each_rank = false;            // outside of pardos: every rank does it
  std::optional<Measured> measured;
  std::vector<std::size_t> remarks;  // rows of Facts::report.remarks
};

struct Dimension {
  std::string index, kind, range;               // "i", "moindex", "1:eaocc"
  std::optional<std::pair<int, int>> segments;  // first and last, with the job's numbers
  std::vector<std::int32_t> extents;            // of these; empty: not known, or a simple index
};

/// The uses of an array between two barriers.
struct PhaseUse {
  std::string procedure;           // empty: the main body
  std::vector<SourcePlace> from;   // the barriers where it begins; line 0: the beginning
  std::vector<std::string> deeds;  // "fetched", "put", "added to", "read", "written"
};

struct ArrayFacts {
  std::string name, kind;
  bool predefined = false, sparse = false;
  std::vector<Dimension> dims;
  std::optional<double> blocks, smallest_block, largest_block, bytes;  // with the job's numbers; bytes: of all blocks
  std::vector<std::pair<report::Deed, std::vector<SourcePlace>>> places;
  std::vector<PhaseUse> phases;
};

using LineKey = std::pair<int, int>;  // file, line

struct Facts {
  report::Report report;
  std::map<LineKey, LineFacts> lines;
  std::map<std::string, ArrayFacts> arrays;  // by name in lower case
  std::string numbers_from;                  // empty: there are none
  int ranks = 1;                             // of the run
  double seconds = 0;                        // of a mean rank of the run, all lines
  bool run_of_these_numbers = false;         // and it had the same numbers
  bool run_of_this_text = false;             // the last run was of exactly this text
  std::vector<std::string> notes;            // what is missing and why
};

Facts gather(Input input);

// arrays.cpp
void add_arrays(Facts& facts, const Input& input);

}  // namespace sial::facts
