#pragma once
// The accesses to the remote blocks of one node that the programs of a job make, in their order, as far as they are
// known before the run (access_model.h). A value.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/base/ids.h"
#include "runtime/core/model/memory/memory_model.h"
#include "runtime/core/tier/replay/access_sequence.h"

namespace sial {

/// A pardo that runs its iterations in another order than the one as written.
struct OrderedPardo {
  std::string place, order;                // "prog.sialx:12", "k inside; i in groups of 4; j outside"
  double bytes = 0, bytes_as_written = 0;  // predicted when the order was chosen, of one execution
};

struct JobAccesses {
  AccessSequence sequence;
  bool known = false;  // false: there are too many to follow
  bool exact = false;  // a run makes these, whatever its data; several ranks in another order between two barriers
  std::vector<OrderedPardo> orders;
  std::vector<std::int32_t> first_places;  // per program: the place in the sequence of its first instruction
};

/// Accesses and steps that are followed at most.
struct AccessLimits {
  std::size_t accesses = 5'000'000;
  std::int64_t steps = 20'000'000;
};
constexpr AccessLimits few_accesses{.accesses = 2'000'000, .steps = 10'000'000};

/// Throws SialError for a program that does not fit the job.
JobAccesses follow_accesses(std::span<const std::shared_ptr<const Module>> programs, const JobData& job,
                            const SavedArrays& saved, PlanSetting setting, NodeId node,
                            const AccessLimits& limits = {});

/// "prog.sialx:12" of a place in the sequence.
std::string place_text(std::span<const std::shared_ptr<const Module>> programs, const JobAccesses& accesses,
                       std::int32_t place);

}  // namespace sial
