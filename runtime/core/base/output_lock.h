#pragma once
// Keeps an output for one job: of two jobs that would replace the same file, the second is refused before it computes.
// The locked file (flock) is a small one, `.NAME.lock`, beside the output, which says who holds it and goes with the
// lock. The system ends the lock of a process that is killed; its file stays and locks nothing. One owner per output.

#include <string>

#include "runtime/core/base/output_file.h"

namespace sial {

class OutputLock {
 public:
  /// Throws EnvironmentError, with `remedy` as its hint, while another process holds the output.
  OutputLock(const std::string& path, const std::string& remedy);
  OutputLock(OutputLock&&) noexcept = default;
  OutputLock& operator=(OutputLock&&) = delete;
  ~OutputLock();
  /// Why there is no lock, for example on a file system that has none; empty where there is one.
  const std::string& problem() const { return problem_; }

 private:
  OpenFolder place_;
  std::string name_, problem_;
  Descriptor file_;
  bool ours_ = false;  // made here, or left by a job
};

}  // namespace sial
