#pragma once
// The bytes that a job will move between memory and the tier below it (--spill), computed before it runs: the accesses
// to the blocks of one node (access_model.h), played through with the memory that everything else leaves. Values.

#include <iosfwd>
#include <memory>
#include <span>
#include <string>

#include "runtime/core/model/memory/memory_model.h"
#include "runtime/core/model/spill/job_accesses.h"
#include "runtime/core/tier/replay/lower_bound.h"
#include "runtime/core/tier/replay/replay.h"

namespace sial {

/// The model of one node; of several, they are alike.
struct SpillModel {
  bool known = false;                  // false: too many accesses to follow
  bool exact = false;                  // whatever the data, and however fast the ranks are
  std::vector<std::int64_t> fixed;     // per program: bytes of the node that are not remote blocks and never leave,
  std::vector<std::int64_t> capacity;  // and what they leave for blocks
  std::int64_t room = 0;       // bytes that may be used below; 0: any number, or not known; -1: the run is refused
  std::int64_t least = 0;      // memory per rank that works,
  std::int64_t min_fixed = 0;  // of it what never leaves; the rest are the blocks
  std::string place;           // that are in use at once at "prog.sialx:12"
  ReplayResult moved;          // with the next uses known, which runs expect
  ReplayResult optimum;        // had it been known from the start what comes; with setting.spill
  TrafficBound bound;          // less is not possible; with setting.spill
  std::vector<std::string> arrays;
  std::vector<OrderedPardo> orders;
  double seconds = 0;  // of transfers, one after the other
  bool fits(std::size_t memory_per_rank) const {
    return known && least <= static_cast<std::int64_t>(memory_per_rank) && (room == 0 || moved.max_below <= room);
  }
};

/// Bytes per second of a disk, and to other nodes, as long as none was measured.
constexpr double usual_disk_rate = 1e9, usual_network_rate = 5e9;
double spill_rate(const PlanSetting& setting);

/// `plan`: of the same job. With `setting.spill` empty: as if it named one disk without a limit.
SpillModel model_spill(std::span<const std::shared_ptr<const Module>> programs, const JobData& job,
                       const SavedArrays& saved, const PlanSetting& setting, const MemoryModel& plan,
                       const AccessLimits& limits = {});

/// With `--spill`: the verdict, after a table by array. Without it: one line, what it would need.
void print_spill(const SpillModel& spill, const PlanSetting& setting, std::ostream& out);

}  // namespace sial
