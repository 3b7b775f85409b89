#pragma once
// Automatic segments by predicted time: for the programs of this job, of a few dozen ways to cut the ranges that its
// science leaves open (domain.h), the one of least predicted time (time_model.h) that fits into memory
// (memory_model.h), or with --spill into memory and tiers. Short jobs keep the usual sizes where these fit, and jobs
// that restore earlier results those of the earlier job. What certainly does not fit is said before anything runs.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/job/job.h"
#include "runtime/core/model/memory/memory_model.h"
#include "runtime/core/model/time_model.h"

namespace sial {

struct PredictedTime {
  std::string program;
  double seconds = 0;
};

struct SegmentChoice {
  std::vector<std::string> options;      // of `--segments`, "occ_target=7"; none: the usual sizes stay
  std::vector<std::string> lines;        // for the user: what was chosen, and what the neighbours would take
  std::vector<PredictedTime> predicted;  // with the segments chosen, in the order of the programs
  std::string refusal, refused_at;       // why no run of the job can get to its end with them; and where it would stop
};

/// `job` has its usual segments. The same for the same job, memory, ranks and caches. Where the user states all
/// segments, times are predicted and nothing is chosen; neither where a program cannot be bound
/// to the job. `saved`: of saved_arrays().
SegmentChoice choose_segments(const Job& job, std::span<const std::shared_ptr<const Module>> programs,
                              const SavedArrays& saved, const PlanSetting& memory, const TimeSetting& time);

/// "predicted time: 63 s (rhf 1.9 s, ccsd 61 s)"; empty where nothing was predicted.
std::string predicted_text(const std::vector<PredictedTime>& predicted);

}  // namespace sial
