#pragma once
// The gradient of a scalar that a job computes, with respect to the places of the nuclei, by central differences: the
// job as it is, then the same job for displaced molecules, one after the other in one session.

#include <array>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "runtime/program/session/session.h"

namespace sial {

/// What programs left on this rank when a job had ended.
struct JobOutcome {
  std::map<std::string, double> scalars;  // from the last program that has each, and saved ones by label
  std::map<std::string, DataArray> saved_statics;
  std::map<std::string, std::shared_ptr<const SavedArrayBlocks>> saved_blocks;  // of the labels wanted
  std::set<std::string> wanted_blocks;                                          // labels, which stay from job to job
  bool is_set = false;
};

/// Lets a session keep the outcome of each job; to be called before the session is made.
std::shared_ptr<JobOutcome> keep_outcomes(SessionOptions& options);

struct Gradient {
  double value = 0.0;                         // of the scalar, undisplaced
  std::vector<std::array<double, 3>> values;  // hartree per bohr, one row per atom
  double step = 0.0;                          // bohr
  std::size_t displaced = 0, left_out = 0, operations = 1;
  JobOutcome undisplaced;
};

/// Throws InputError where the job has no gradient: no molecule, given coordinates, a job of ACES4.
void check_gradient(const Job& job);

/// Lines on how often the job will run for its gradient, for `--dry-run`. Throws as check_gradient().
std::string gradient_plan(const Job& job);

/// Collective. Runs the job, writes lines about displacements and the gradient on rank 0, and adds `derivatives` to the
/// results file. Returns the exit code of the job where it is not 0. Throws SialError where a displaced job fails, with
/// its atom and direction. `outcome`: of keep_outcomes().
int run_gradient(Session& session, int rank, const Job& job, JobOutcome& outcome, Gradient& gradient);

}  // namespace sial
