#pragma once
// The index of a checkpoint folder: which files belong to the checkpoint, where in the job it was taken, and of which
// job. It is written last, under a temporary name, and renamed: whatever index lies in the folder names a complete
// checkpoint. The one before it stays, in case files of the last one are damaged.
//
//   FOLDER/index.json          the index; its last key is a hash of the rest
//   FOLDER/previous.json       that of the checkpoint before
//   FOLDER/SERIAL.rankN        what rank N saved; record_file.h
//
// A job is recognised by what its numbers depend on: the programs' code, values, segments, molecule, arrays, plugins.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/core/bytecode/module.h"
#include "runtime/core/checkpoint/record_file.h"
#include "runtime/core/job/job_data.h"

namespace sial {

struct JobIdentity {
  std::vector<std::pair<std::string, std::string>> programs;  // file name, hash
  std::map<std::string, std::string> ints, scalars, segments, arrays;
  std::map<std::string, std::string> domain;   // of what JobData::domain holds: geometry, basis set, ...
  std::map<std::string, std::string> plugins;  // file name, hash
};

JobIdentity identity_of(const JobData& data, std::span<const std::string> paths,
                        std::span<const std::shared_ptr<const Module>> programs);
/// The difference, for a message; empty when both are the same job.
std::string difference(const JobIdentity& saved, const JobIdentity& now);
NamedSegments segments_of(const JobIdentity& job);

struct CheckpointIndex {
  struct File {
    std::string name;
    FileSeal seal;
  };
  std::string version;  // of sialrun
  std::string job_id;   // the same from restart to restart
  std::string written;  // local time
  std::int64_t serial = 0;
  std::int32_t program = 0;  // number of the program to go on with
  bool inside = false;       // at a barrier of that program, else before its first statement
  std::string place;         // for messages
  bool uniform = true;       // what programs saved is the same on all ranks
  double seconds = 0;        // it took to write
  std::vector<File> files;   // one per rank
  JobIdentity job;
};

inline constexpr const char* checkpoint_index_name = "index.json";
inline constexpr const char* previous_index_name = "previous.json";
/// The file that a rank saved.
std::string checkpoint_file_name(std::int64_t serial, std::size_t rank);

/// The files of one checkpoint, for reading.
class CheckpointFiles {
 public:
  CheckpointFiles(CheckpointIndex index, std::string folder) : index_(std::move(index)), folder_(std::move(folder)) {}
  const CheckpointIndex& index() const { return index_; }
  std::size_t count() const { return index_.files.size(); }
  /// Opens the file that the rank of that number saved.
  std::unique_ptr<RecordReader> open(std::size_t file) const;
  /// Reads the whole file; why it cannot be used, or empty.
  std::string problem_of(std::size_t file) const;

 private:
  CheckpointIndex index_;
  std::string folder_;
};

std::string to_text(const CheckpointIndex& index);
/// Throws SialError naming `path` for anything that is not such a text.
CheckpointIndex checkpoint_index_from(const std::string& text, const std::string& path);
/// Whether it is one at all, perhaps damaged or of another version: what may be replaced.
bool is_checkpoint_index(const std::string& text);

/// Atomically. Throws EnvironmentError.
void write_checkpoint_index(const CheckpointIndex& index, const std::string& folder,
                            const char* name = checkpoint_index_name);
/// `path`: the folder or the index in it. Throws InputError when there is none.
std::string read_checkpoint_index(const std::string& path);
/// The index of the checkpoint before the last one, if there is one that can be read.
std::optional<CheckpointIndex> read_previous_index(const std::string& folder);

/// Serials start here in a folder that may hold earlier checkpoints, complete or not.
std::int64_t next_serial(const std::string& folder);
/// Removes the rank files that none of `keep` names, the index of the checkpoint before where `keep` has but one, both
/// where it has none, and nothing that no job has written. Never throws.
void remove_old_files(const std::string& folder, std::span<const CheckpointIndex* const> keep) noexcept;

}  // namespace sial
