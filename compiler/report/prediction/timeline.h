#pragma once
// Loops on a machine that is not at hand: iterations handed out as the work queue does it, their gets asked for ahead
// as look-ahead does it, each owner answering one request after the other, fetched blocks kept until a barrier. A
// simulation without data; nothing in it is random. Plain values; the model of predict.cpp builds loops and adds up
// what they take.

#include <cstdint>
#include <set>
#include <unordered_map>
#include <vector>

#include "compiler/report/prediction/predict.h"
#include "runtime/core/base/ids.h"
#include "runtime/core/bytecode/evaluate/iteration_space.h"

namespace sial::report {

struct LoopGet {
  std::uint64_t block = 0;  // equal: the same block
  ArrayId array;
  std::int32_t node = 0, server = 0;  // the node it lies on (-1: every rank has it already), and who answers there
  double bytes = 0;
  bool ahead = false;         // in the loop's access slice
  bool begins_group = false;  // what is asked for together is waited for together
};

struct LoopIteration {
  std::int64_t tuple = 0;  // its number among all, where clauses not regarded
  std::vector<LoopGet> gets;
};

struct TimedLoop {
  std::int64_t tuples = 0;
  std::vector<LoopIteration> iterations;  // those that where clauses accept, by tuple
  PardoMode division = PardoMode::dynamic;
  int wheres = 0;   // clauses
  double work = 0;  // seconds of all iterations together (everywhere: of one rank's)
};

/// The state of the ranks when a loop begins, and when it ends.
struct RanksState {
  explicit RanksState(const Target& target);
  struct FetchedCopy {
    double there = 0;
    ArrayId array;
    bool used = false;
  };
  std::vector<double> clock;    // of each rank
  double passed = 0;            // before they met last
  std::vector<double> in_vain;  // seconds of questions for work that brought nothing
  std::vector<int> depth;       // what look-ahead has learnt
  std::vector<std::unordered_map<std::uint64_t, FetchedCopy>> held;  // fetched blocks
  double longest() const;
  double mean() const;
  /// All ranks have met. At a barrier they drop what they have fetched, but for `retained` arrays.
  void meet(bool barrier, const std::set<ArrayId>& retained);
};

/// Means over the ranks; fetches and bytes are those of all ranks.
struct LoopTimes {
  double work = 0, wait = 0, draws = 0, fetches = 0, bytes = 0;
};

LoopTimes run_loop(const TimedLoop& loop, const Target& target, RanksState& state);

/// The time that a rank takes to learn that nobody has iterations left, after so many seconds of work.
double asking_seconds(const Target& target, double at_work);

/// A fetch that nothing else delays.
double trip_seconds(const Target& target, double bytes);

}  // namespace sial::report
