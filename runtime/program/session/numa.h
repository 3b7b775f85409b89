#pragma once
// What became of `--numa`, for the statistics.

#include "runtime/program/session/rank_tools.h"

namespace sial {

/// Collective over the workers.
NumaFacts numa_facts(RankTools& tools, const Job& job);

}  // namespace sial
