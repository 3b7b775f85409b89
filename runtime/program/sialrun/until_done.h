#pragma once
// `sialrun --until-done COMMAND`: starts the command that runs a job, and starts it again, to continue from the last
// checkpoint, until the job has reached its end.

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace sial {

/// The folder of the checkpoint that a command line of sialrun states. SialError where it states none.
using CheckpointFolderOf = std::function<std::string(std::vector<std::string> arguments)>;

/// `command`: of a launcher and sialrun, or of sialrun alone. Signals that ask a run to end are passed on; the job is
/// not started again then. Returns the exit code of the last run; InputError for a command that does not start sialrun.
int run_until_done(std::span<char* const> command, const CheckpointFolderOf& folder_of);

}  // namespace sial
