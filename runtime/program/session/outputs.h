#pragma once
// The files that a job writes: where they may be written, which are replaced, and that they are this job's alone while
// it runs. On rank 0.

#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/base/output_file.h"
#include "runtime/core/base/output_lock.h"
#include "runtime/core/bytecode/module.h"
#include "runtime/program/session/options.h"

namespace sial {

/// What a job reads, besides earlier results; of programs that are loaded also the sources they were made from.
std::vector<NamedFile> input_files(const Job& job, std::span<const std::shared_ptr<const Module>> programs);

class JobOutputs {
 public:
  /// Throws InputError or EnvironmentError where one of the files may or can not be written, or another job writes it.
  /// Until release() no other job may. A job that ran for days must not find out at its end that its results have no
  /// place.
  void claim(const Job& job, std::span<const std::shared_ptr<const Module>> programs, const SessionOptions& options,
             std::ostream& err);
  /// The lock of the checkpoints' index, for who writes them.
  std::optional<OutputLock> take_checkpoint_lock();
  void release();
  /// Names the files of earlier runs that there are no more.
  void say_replaced(std::ostream& err) const;

 private:
  void lock(std::span<const NamedFile> outputs, std::ostream& err);

  std::vector<OutputLock> locks_;
  std::optional<OutputLock> checkpoint_lock_;
  std::vector<std::string> replaced_;
};

}  // namespace sial
