#pragma once
// SIAL programs compiled and run inside a process that is not ours: what sialc and sialrun do, without a file, a signal
// handler, a thread of its own or a line on the standard streams. On one rank, or together with other processes that
// do the same. What the modules for Python are made of; knows nothing of Python and of MPI.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/core/interp/context/progress.h"
#include "runtime/core/job/job_data.h"
#include "runtime/core/transport/transport.h"

namespace sial {

struct CompiledProgram {
  std::vector<std::byte> module;         // empty: there are errors
  std::string text;                      // all diagnostics, as sialc writes them
  std::vector<std::string> diagnostics;  // each as a JSON object
  std::vector<std::string> files;        // that were read, the program's own among them where it is one
};

/// `text`: the program, called `name` in messages; without it `name` is its file. Imports are files in both cases.
/// `saved`: distributed and served arrays that the program keeps at its end, though it does not say so.
CompiledProgram compile_in_process(const std::string& name, const std::optional<std::string>& text,
                                   const std::vector<std::string>& include_dirs, int optimisation,
                                   const std::vector<std::string>& saved = {});

struct InProcessProgram {
  std::string name;
  std::shared_ptr<const std::vector<std::byte>> module;
};

/// A block of a saved array: where it begins in the array, its extents, and its values.
struct SavedPart {
  std::vector<std::int64_t> first;
  DataArray values;
};

struct InProcessJob {
  std::vector<InProcessProgram> programs;  // in the order they run
  std::vector<std::string> values;         // "norb=4", as `--set` has them
  std::vector<std::string> segments;       // "ao=8,8,4", as `--segments` has them
  std::map<std::string, DataArray> arrays;
  std::vector<std::string> saved_arrays;        // that the results are to have, though no program saves them
  std::string memory;                           // "2GB"; empty: what sialrun takes
  std::function<void(std::string_view)> write;  // takes what the programs print; what it throws ends the run
  std::function<void()> between_statements;     // called about ten times a second; what it throws ends the run
  TellProgress tell_progress;                   // called while a long pardo runs, on rank 0; empty: not wanted
  /// Compiles a program anew, so that it saves arrays.
  std::function<std::vector<std::byte>(const std::string& name, const std::vector<std::string>& saved)> compile_saving;
  std::function<std::unique_ptr<Transport>()> connect;  // the ranks that run the job; empty: this one only
};

struct InProcessResults {
  int code = 0;          // sialrun's exit code; anything but 0: there are no results
  std::string messages;  // what sialrun writes to the error stream
  std::map<std::string, double> scalars, saved_scalars;
  std::map<std::string, std::int32_t> ints;
  std::map<std::string, DataArray> statics, saved_arrays;  // saved ones by label: whole, on rank 0 only
  std::map<std::string, std::vector<SavedPart>>
      parts;  // of saved distributed and served arrays; on several ranks: the blocks that are this rank's
};

/// Runs the programs one after the other; collective where there are several ranks. Errors of the run are in the
/// results; what functions of the job throw passes through. Errors while programs run on several ranks, and what is
/// thrown there, end all processes with a message. Any number of threads.
InProcessResults run_in_process(InProcessJob& job);

/// Gives back the code that runs have made and ends the thread that makes it: before the process is forked, where no
/// thread but one goes on. Later runs make it again.
void drop_generated_code();

}  // namespace sial
