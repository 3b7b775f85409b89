#pragma once
// A job as the user states it: ordered programs, values, segment lists, arrays, a molecule, and where output goes. Read
// from `job.toml` or put together from the command line; `data` is complete (predefined values and segment tables
// follow from the molecule) after every function here returns. A value type: every rank of a process may share one,
// read-only.

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/job/job_data.h"
#include "runtime/core/job/options.h"
#include "runtime/core/numa/request.h"
#include "runtime/core/tier/request.h"

namespace sial {

/// The cut of one range of orbitals or functions: the sizes the user wrote, or pieces of about `target` when there are
/// none, or as auto_segments.h finds best (0).
struct SegmentRequest {
  std::vector<std::int32_t> sizes;
  std::int32_t target = 0;
};

/// The keys of [segments], for reading and for messages.
inline constexpr std::string_view segment_keys[] = {"ao",  "mo",   "moa",      "mob",      "la",
                                                    "occ", "virt", "beta_occ", "beta_virt"};

struct LegacyDat;
struct SavedArrayBlocks;

struct Job {
  std::string file;                       // the job file or initial-data file, empty when there is none
  std::string batch_file;                 // the list of jobs that states this one, empty when there is none
  std::vector<std::string> programs;      // in order; relative names of a job file are relative to its folder
  std::vector<std::string> include_dirs;  // where imports are searched, besides the importing file's folder
  JobData data;
  std::size_t memory_per_rank = std::size_t{2} << 30;  // bytes of block data
  NumaRequest numa;                                    // on which memory nodes they lie
  SpillRequest spill;                                  // where blocks go that do not fit into it
  int ranks = 1;                                       // that the job is going to run on, for automatic segments
  std::string output_dir = ".";
  std::string results_path = "results.h5";    // relative to output_dir; "none" writes no file
  std::string run_json_path = "run.json";     // likewise
  std::string molden_path = "none";           // orbitals; likewise
  std::string fcidump_path = "none";          // integrals over orbitals; likewise
  std::string trexio_path = "none";           // molecule and orbitals; likewise
  std::vector<std::string> saved_arrays;      // whose values go into the results file, though no program says so
  std::string print_format = "classic";       // classic, classic-test, plain
  std::string checkpoint_dir = "checkpoint";  // relative to output_dir
  std::string checkpoint_local;               // on a disk of each host; empty: none
  double checkpoint_every = -1;      // seconds; negative: never, 0: at every barrier, infinity: only between programs
  double time_limit = 0;             // seconds; 0: none
  std::vector<std::string> plugins;  // shared libraries with super instructions of the user's own
  int look_ahead = -1;               // blocks; 0: off, negative: found out while running
  bool keep_integrals = true;        // in memory that nothing else needs
  std::vector<std::string> data_files;            // that data came from: molecule, basis, arrays
  std::vector<std::string> restore_files;         // results of earlier jobs whose saved items this job may restore
  std::string restore_place;                      // where the job file names them
  std::string guess_path = "none";                // results of an earlier job whose orbitals the SCF begins with
  std::map<std::string, DataArray> saved_before;  // static arrays by label that it may restore as well
  std::map<std::string, std::shared_ptr<const SavedArrayBlocks>> saved_blocks_before;  // others; this rank's blocks
  std::string gradient_scalar;             // whose gradient is wanted; empty: none is
  double gradient_step = 0.001;            // bohr
  std::string gradient_symmetry = "auto";  // auto, on, off: whether it leaves displacements out

  // Names that the user stated, apart from what follows from them.
  std::set<std::string> stated_values, input_arrays;
  std::map<std::string, std::string> value_places;         // of stated values: where the job file states them
  std::set<std::string> values_of_arrays;                  // values that follow from the shapes of arrays
  std::map<OptionId, std::string> settings;                // options of the job file and of the command line
  std::map<std::string, SegmentRequest> segment_requests;  // keys of [segments]: ao, occ, virt, moa, ...
  std::vector<std::string> warnings;                       // about the files that data came from, each with its place
  std::vector<std::string> segment_choices;                // a line for each range that was cut automatically
  std::shared_ptr<const LegacyDat> legacy;  // the initial-data file the job was read from, as it stands there
};

/// Throws InputError where one of `restore_files` is not there.
void check_restored_files(const Job& job);

/// "auto" (-1), "off" (0) or a number of blocks. Throws SialError.
int parse_look_ahead(std::string_view text);
/// Names separated by commas, in lower case.
std::vector<std::string> parse_array_list(std::string_view text);

/// "512 MB", "2GiB", "1500000000": a number of bytes above 0. Empty: it is none.
std::optional<std::size_t> read_memory(std::string_view text);
/// The same, of a rank. Throws SialError.
std::size_t parse_memory(std::string_view text);

/// Whether the name of a TREXIO file stands for a folder of texts.
inline bool is_trexio_text(std::string_view path) { return path.ends_with(".text"); }

}  // namespace sial
