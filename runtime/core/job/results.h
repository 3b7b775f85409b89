#pragma once
// The results file: what a job leaves behind, and what a later job restores. HDF5, readable with h5py. Written by rank
// 0 under a temporary name and renamed when complete, so that a file under its own name is always whole.
//
//   attributes of the root       format, format_version, sialx_version, created, units, storage_order
//   /molecule                    symbols, coordinates, charges; attributes charge, multiplicity, basis, frozen_core
//   /segments/KIND               extents of all segments of an index kind
//   /programs/N_NAME/            one group per program of the job: each scalar, int and static array at its end;
//                                attributes name, source_hash
//   /scalars/NAME, /ints/NAME    last value of each variable over the job's programs; saved scalars also by their label
//   /statics/NAME                static arrays at the end of the last program that has them
//   /saved/scalars/LABEL         items of set_persistent, by label
//   /saved/statics/LABEL
//   /saved/arrays/LABEL          distributed and served arrays: one dense dataset (absent blocks are 0) or, when that
//                                would be too large, a group with one dataset per block named 1.4.2; attributes array,
//                                first_segment, n_segments, segment_extents (of all dimensions, one after the other)
//   /saved/blocks/LABEL          which blocks exist: their segment numbers
//
// Static arrays, and saved ones where the program that saved them is of this job, say how they were declared:
// `declared` (their kind), `indices` and `index_kinds` (a name per dimension), first_segment, n_segments,
// segment_extents (the last three are left out where there are more segments than an attribute holds: only simple
// indices have so many). The items in /scalars, /ints and /statics are the same objects as those of the last program
// that has them. Version 1 of the format lacks the attributes of the root, /molecule, /segments and /programs; readers
// need none.
//
// HDF5 lists extents slowest first, SIAL fastest first: the dataset of a SIAL array x[i,j] has shape (extent of j,
// extent of i).

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/core/base/output_file.h"
#include "runtime/core/base/shape.h"
#include "runtime/core/job/hdf5_file.h"
#include "runtime/core/job/job_data.h"

namespace sial {

/// Layout of a saved distributed or served array: per dimension the number of its first segment and the extents of all.
struct SavedLayout {
  std::string array;
  std::vector<std::int32_t> first_segment;
  std::vector<std::vector<std::int64_t>> extents;
};

/// A saved distributed or served array in memory: the blocks that one rank has of it.
struct SavedArrayBlocks {
  SavedLayout layout;
  std::vector<std::pair<BlockIndex, std::vector<double>>> blocks;
};

/// Whether it can be the layout of any array: files may be damaged.
bool is_possible(const SavedLayout& layout);
/// Elements of a block, or -1 when the array (of a possible layout) has no such block.
std::int64_t block_size(const SavedLayout& layout, const BlockIndex& block);

/// The declaration of an array, and the segments that its indices run over.
struct ArrayDescription {
  std::string declared;                     // static, distributed or served
  std::vector<std::string> indices, kinds;  // names and kinds, one per dimension
  std::vector<std::int32_t> first_segment;
  std::vector<std::vector<std::int64_t>> extents;
};

struct ProgramDescription {
  std::string name, source_hash;
  std::map<std::string, ArrayDescription> statics;  // by name
  std::map<std::string, ArrayDescription> saved;    // arrays it saves, by label
};

/// The place of a plain dataset's values in the file that is being written. They are zero until somebody writes them.
struct ValuesInFile {
  std::string path;          // of the file while it is written
  std::int64_t offset = -1;  // bytes; negative: there are no values
};

class ResultsWriter {
 public:
  /// Creates missing folders. Arrays of more than `dense_limit` elements are stored block by block, unless the caller
  /// of begin_saved() says otherwise.
  explicit ResultsWriter(const std::string& path, std::int64_t dense_limit = std::int64_t{1} << 27);
  ResultsWriter(const ResultsWriter&) = delete;
  ResultsWriter& operator=(const ResultsWriter&) = delete;

  /// States the subject of the file. `created`: seconds since 1970. `segments`: extents by kind.
  /// `stamp`: the job's, which shows from which run the file is; may be empty.
  void about(const std::string& version, std::int64_t created,
             const std::map<std::string, std::vector<std::int32_t>>& segments, const std::string& stamp = {});
  /// The items that follow are those of this program.
  void program(const ProgramDescription& description);

  // Each replaces an earlier item of the same name, so that programs can be reported in order.
  void scalar(const std::string& name, double value);
  void integer(const std::string& name, std::int64_t value);
  void static_array(const std::string& name, const DataArray& array);

  void saved_scalar(const std::string& label, double value);
  void saved_static(const std::string& label, const DataArray& array);
  /// Below `/properties`.
  void property(const std::string& name, std::span<const double> values, const std::string& units);
  /// Blocks between begin and end, each once, in any order. `plain`: the array is one dataset.
  void begin_saved(const std::string& label, const SavedLayout& layout, std::optional<bool> plain = {});
  void saved_block(const BlockIndex& block, std::span<const double> data);
  /// Takes a block of an array that is one dataset: the caller writes the block's elements by itself, there.
  void has_block(const BlockIndex& block);
  ValuesInFile values() const { return values_; }
  void end_saved();
  /// Elements from `first` on of the array that is one dataset.
  void write_values(std::int64_t first, std::span<const double> data);
  std::int64_t dense_limit() const { return dense_limit_; }
  /// For what the file shall say besides.
  Hdf5File& file() { return file_; }
  /// Somebody could not write: the file is not touched again, and goes.
  void discard() { file_.discard(); }

  /// Writes what is left, closes, renames. Throws EnvironmentError when the disk does not take it; nothing is left
  /// behind then.
  void finish();

 private:
  PartFile part_;
  std::int64_t dense_limit_;
  Hdf5File file_;
  void describe(const std::string& object, const ArrayDescription& array);
  void describe_static(const std::string& object, const ArrayDescription& array);
  void describe_segments(const std::string& object, std::span<const std::int32_t> first_segment,
                         std::span<const std::vector<std::int64_t>> segments);
  std::string place(const std::string& name) const;
  std::map<std::string, double> saved_scalars_;
  std::int64_t programs_ = 0;
  ProgramDescription program_;
  std::string program_group_;  // the last one's
  std::map<std::string, ArrayDescription> saved_;
  std::map<std::string, std::string> scalars_, ints_, statics_;  // where the last of each name is
  // The array between begin_saved and end_saved.
  std::string label_, saved_label_;
  SavedLayout layout_;
  ValuesInFile values_;
  bool is_dense_ = false;
  std::vector<std::int64_t> blocks_;
};

class ResultsReader {
 public:
  explicit ResultsReader(const std::string& path);
  std::map<std::string, double> saved_scalars() const;
  std::map<std::string, DataArray> saved_statics() const;
  /// Extents by kind, as the job that wrote the file had them; empty where it does not say.
  std::map<std::string, std::vector<std::int32_t>> segments() const;
  std::vector<std::string> saved_arrays() const;
  SavedLayout layout(const std::string& label) const;
  std::vector<BlockIndex> blocks(const std::string& label) const;
  std::vector<double> block(const std::string& label, const BlockIndex& block);
  /// For what the file says besides.
  const Hdf5File& file() const { return file_; }

 private:
  std::string path_;
  Hdf5File file_;
  std::unique_ptr<Hdf5Dataset> plain_;  // a large one, of which each block is read
  std::string cached_label_;            // a dense array is read once for all its blocks
  SavedLayout cached_layout_;
  std::vector<double> cached_;
};

}  // namespace sial
