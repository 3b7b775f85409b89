#pragma once
// The gain of a job from changes of its programs, the change that pays most first. Every gain is predicted from
// what the run measured; where no change is known to pay, the advice says so and why. Values; nothing here reads files
// or compiles.

#include <functional>
#include <string>
#include <vector>

#include "compiler/report/advice/declarations.h"
#include "compiler/report/job.h"

namespace sial::report {

/// Lines whose time a change should lower.
struct LineOfProgram {
  std::string program, file;
  int line = 0;
  bool operator==(const LineOfProgram&) const = default;
};

struct Advice {
  std::string kind;  // symmetry, repeated, imbalance, waits, memory, declaration
  LineOfProgram at;
  std::string found;   // what is the case
  std::string change;  // what to do about it
  std::string brief;   // the same for a sentence; empty: as it is
  double seconds = 0;  // predicted gain, of a mean rank
  double bytes = 0;    // block data that would no longer be put into another order, all ranks
  std::vector<LineOfProgram> lines;
  std::vector<Redeclaration> redeclarations;
};

struct ProgramShare {
  std::string program;
  double seconds = 0, share = 0;
  double predicted = 0;  // seconds, by sialrun before the run; 0: not predicted
  std::string problem;   // why it could not be looked at
};

struct JobAdvice {
  std::string opening;  // where the time goes, and what pays most: one or two sentences
  LineOfProgram costliest;
  std::string reason;  // what that line does, and why no change of it is proposed, if none is
  double costliest_seconds = 0, costliest_share = 0, seconds = 0;
  double model_seconds = 0;    // what the cost model says of all block operations; orders of indices are judged by it
  std::vector<Advice> advice;  // largest gain first
  std::vector<ProgramShare> programs;
  std::vector<std::string> undecided;  // arrays whose orders could not be judged, as sentences
};

/// Gains below this part of the job's time are not worth a change.
inline constexpr double min_gain = 0.005;

JobAdvice advise(const Job& job, const OrderCosts& costs, const Recompile& recompile);

/// advice_lines.cpp: what the costliest line does, in words.
std::string deed_of_line(const JobProgram& program, const CostLine& line);
/// advice_executes.cpp: unused symmetry of integrals, and super instructions that are run again with the same
/// arguments.
void add_execute_advice(const Job& job, std::vector<Advice>& advice,
                        std::map<std::pair<std::string, int>, std::string>& reasons);
/// advice_ranks.cpp: imbalance, waiting, memory.
void add_rank_advice(const Job& job, std::vector<Advice>& advice);

/// "12.3 %".
std::string percent(double part);

}  // namespace sial::report
