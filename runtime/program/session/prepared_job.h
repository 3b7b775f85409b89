#pragma once
// A job with what follows from it before it runs: its programs, ranges that shapes of arrays tell, input arrays,
// segments. Made once, the same on all ranks and in a dry run.

#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/checkpoint/index.h"
#include "runtime/program/session/programs.h"

namespace sial {

class PreparedJob {
 public:
  /// The job as stated outlives this: it is shared as long as nothing follows that differs from it.
  PreparedJob(const Job& stated, Programs programs) : stated_(stated), programs_(std::move(programs)) {}

  const Job& job() const { return own_ ? *own_ : stated_; }
  const Programs& programs() const { return programs_; }

  /// Ranges that shapes of input arrays tell.
  void take_ranges();
  /// Given arrays, as far as ranks need them whole.
  void read_arrays();
  /// Only those that files give, for a plan.
  void read_arrays_of_files();
  /// What the run that wrote a checkpoint had chosen.
  void follow(const CheckpointIndex& index);
  /// Segments, as options of `--segments`, with lines about them.
  void choose(std::span<const std::string> segments, std::span<const std::string> lines);
  /// Writes what was chosen for the user.
  void say_choices(std::ostream& err) const;

 private:
  Job& own();

  const Job& stated_;
  std::optional<Job> own_;
  Programs programs_;
  std::vector<std::string> lines_;
};

}  // namespace sial
