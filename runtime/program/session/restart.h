#pragma once
// What a job goes on from: a checkpoint of the same job, and results of earlier jobs.

#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/bytecode/module.h"
#include "runtime/program/session/rank_tools.h"

namespace sial {

/// Where a job has its checkpoint; `restart`: the folder that it goes on from, if one is named.
std::string checkpoint_folder_of(const Job& job, const std::optional<std::string>& restart);

/// The last checkpoint of a folder and the one before it. A last one without a readable index is left out, with a
/// warning. Throws InputError where there is none.
struct CheckpointPair {
  CheckpointIndex last;
  std::optional<CheckpointIndex> previous;
};
CheckpointPair read_checkpoints(const std::string& folder, std::ostream& err);

/// Says of a checkpoint in the folder of a job that does not go on from it that the first one of this run replaces it.
/// Throws InputError where it is no checkpoint.
void look_at_checkpoint(const std::string& folder, std::ostream& err);

/// Gives the job what the run that wrote a checkpoint had chosen, as far as the job leaves it open. Lines about it for
/// the user.
std::vector<std::string> follow_checkpoint(const CheckpointIndex& index, Job& job);
/// Of a job with its segments.
JobIdentity identity_of(const Job& job, std::span<const std::shared_ptr<const Module>> programs,
                        const SessionOptions& options);
/// Throws InputError where the checkpoint whose index is in the folder is not that of the job.
void check_restart(const CheckpointIndex& index, const JobIdentity& identity, const std::string& folder,
                   const SessionOptions& options);

/// Collective: the last checkpoint, if all its files are what they were, else the one before it.
CheckpointIndex undamaged(RankTools& tools, const CheckpointIndex& last, const CheckpointIndex& previous,
                          const std::string& folder);
/// Collective: gives this rank what earlier jobs saved.
void restore_earlier(RankTools& tools, const Job& job, RankState& state);

}  // namespace sial
