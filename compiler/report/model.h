#pragma once
// What a module, and the statistics of a run of it, say to their reader: a plain value that text.cpp and json.cpp print.
// Sizes are symbolic (names of predefined ints), since a module knows no molecule.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/bytecode/module.h"

namespace sial::report {

struct IndexLine {
  std::string name, kind, range, segments;  // range "1:norb" or "of p"; segments: how many, symbolic
};

/// How often statements use an array, by what they do with it.
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
  std::string place, part;       // "prog.sialx:12"; procedure, empty for the main body
  std::string kind, indices, trips, pragma;
  int depth = 0, wheres = 0, instructions = 0;
  bool rank_dependent = false;
};

struct MixLine { std::string name; int count = 0; };
struct SpecialLine { std::string name, signature; int calls = 0; };

// --- from run.json
struct CounterLine { std::string name; double value = 0.0; };
struct CostLine { std::string place; std::int64_t executions = 0; double seconds = 0.0; };
struct AccessLine { std::string place, array; std::int64_t accesses = 0, blocked = 0, bytes = 0; double wait_seconds = 0.0; };
struct Run {
  int ranks = 0;
  double hit_ratio = 1.0;
  std::vector<CounterLine> totals;
  std::vector<CostLine> lines;        // of this program, most expensive first
  std::vector<AccessLine> accesses;   // of this program, longest waits first
};

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
  std::optional<Run> run;
};

Report describe(const Module& module);

/// Reads run.json. Throws WorldError when it cannot be read, SialError when it is no statistics file.
Run read_run(const std::string& path, const std::string& program);

std::string to_text(const Report& report);
std::string to_json(const Report& report);

}  // namespace sial::report
