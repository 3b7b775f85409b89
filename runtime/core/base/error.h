#pragma once
// The exceptions of the runtime. All end the job with one message and a non-zero exit code, which the type decides;
// `where` is filled in by the interpreter (program, file:line:col of the statement) when the thrower does not know it.

#include <stdexcept>
#include <string>

namespace sial {

/// A mistake in the user's program that only shows at run time: absent block, domain error, shape mismatch...
/// `what()` states what was found and the rule, `hint()` what to do about it.
class SialError : public std::runtime_error {
 public:
  SialError(const std::string& message, std::string hint = {}, std::string where = {});
  const std::string& hint() const { return hint_; }
  const std::string& where() const { return where_; }
  void set_where(std::string where) { where_ = std::move(where); }

 private:
  std::string hint_;
  std::string where_;
};

/// The command line, or a file to be read, is wrong: it is not there, cannot be read, or holds what it may not.
class InputError : public SialError {
 public:
  using SialError::SialError;
};

/// The environment failed: MPI, memory, a device, a file that cannot be written.
class EnvironmentError : public SialError {
 public:
  using SialError::SialError;
};

/// Process exit codes of all three programs (runtime/program/job/RUNNING.md). 4: a run that ended early with a checkpoint.
enum ExitCode : int { exit_ok = 0, exit_program_error = 1, exit_input_error = 2, exit_environment_error = 3 };

ExitCode exit_code_of(const SialError& error);

}  // namespace sial
