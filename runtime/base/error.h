#pragma once
// The two exceptions of the runtime. Both end the job with one message and a non-zero exit code; `where` is filled in
// by the interpreter (program, file:line:col of the statement) when the thrower does not know it.

#include <stdexcept>
#include <string>

namespace sial {

/// A mistake in the user's program or input that only shows at run time: absent block, domain error, shape mismatch...
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

/// The world failed: MPI, memory, a file, a device. Same shape; another exit code.
class EnvironmentError : public SialError {
 public:
  using SialError::SialError;
};

/// Process exit codes of all three programs.
enum ExitCode : int { exit_ok = 0, exit_program_error = 1, exit_usage_or_io = 2, exit_world = 3 };

}  // namespace sial
