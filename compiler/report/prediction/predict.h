#pragma once
// The cost of a run on a machine that is not at hand: the work of each pardo, as a run measured it, spread over other
// ranks; its fetches, as its access slice foresees them, over another network; the waits of ranks for each other. A
// plain value computed from a module and a run.json; predict.cpp states the model. Memory comes from the planner of dry
// runs, which the command line asks.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/report/model.h"
#include "runtime/core/bytecode/module.h"

namespace sial::report {

struct Target {
  static constexpr int automatic = -1;
  int ranks = 0;
  int ranks_per_node = 1;      // 0: all ranks on one node
  int servers = 0;             // ranks that only serve, each a node of its own
  double latency = 2e-6;       // seconds, between nodes
  double bandwidth = 12e9;     // bytes per second and direction of a node
  int look_ahead = automatic;  // or so many blocks; 0: off
  int on_a_node() const { return ranks_per_node == 0 ? ranks : std::min(ranks, ranks_per_node); }
  int nodes() const { return (ranks + on_a_node() - 1) / on_a_node(); }  // of workers
};

/// "ranks=64,latency=2us,bandwidth=12GB/s[,ranks-per-node=N][,servers=K][,look-ahead=auto|off|N]". Throws SialError.
Target read_target(const std::string& text);

/// A pardo with what it calls, or the code outside of all pardos. Seconds of a mean rank.
struct PredictedPart {
  std::string place, kind, indices;      // of the loop, "pardo" or "do"; empty: outside
  double instances = 0, iterations = 0;  // iterations: of one instance, over all ranks
  double work = 0;                       // computing and bookkeeping, drawing iterations included
  double wait = 0;                       // for fetched blocks
  double synchronization = 0;            // idle at the end because others have more to do; outside: in collectives
  double total() const { return work + wait + synchronization; }
  std::optional<double> measured;  // of a real run: the same without idling
};

/// A rank's memory for this program: with copies of other nodes' blocks kept while there is room, and at least.
struct PredictedMemory {
  double peak = 0, least = 0;
  bool exact = true;
};

/// Seconds of a mean rank in this program.
struct Times {
  double work = 0, wait = 0, synchronization = 0;
  double total() const { return work + wait + synchronization; }
};

struct Prediction {
  Target target;
  Times times;
  double bytes = 0, fetches = 0;     // between nodes, all ranks
  std::vector<PredictedPart> parts;  // dearest first
  std::optional<PredictedMemory> memory;
  std::string no_memory;  // why it is not known
  Times from;             // of the run it starts from
  struct Measured {
    int ranks = 0;
    Times times;
    double bytes = 0;
    std::optional<double> memory;
  };
  std::optional<Measured> measured;  // of a real run on such a machine
};

/// `real`: a run on such a machine, to be set beside the prediction. Throws SialError when a run lacks what is needed,
/// or when `real` was made with other ranks, values or segments.
Prediction predict(const Module& module, const Run& run, const Target& target, const std::optional<Run>& real);

/// The time of a mean rank of a run in this program, as its lines say.
Times measured_times(const Module& module, const Run& run);

std::string predict_text(const Prediction& prediction, const Run& run, const std::optional<Run>& real);
/// Described by predict.schema.json.
std::string predict_json(const Prediction& prediction, const Run& run, const std::optional<Run>& real);

}  // namespace sial::report
