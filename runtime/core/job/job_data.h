#pragma once
// The input of all programs of a job: predefined values, segment tables and predefined arrays, and what only super
// instructions look at. Read-only once the job runs; shared by all ranks of a process.

#include <any>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/base/shape.h"

namespace sial {

/// Writes a part of an array, column-major: elements from `first` on, `count` in each direction. What it throws passes
/// through.
using FillPart =
    std::function<void(std::span<const std::int64_t> first, std::span<const std::int64_t> count, double* out)>;

/// Dense column-major array of doubles with its extents. `origin` says where it came from, for messages about its
/// shape. With `fill` the values are not there but are made when they are needed, part by part; `data` is empty.
struct DataArray {
  std::vector<std::int64_t> extents;
  std::vector<double> data;
  std::string origin = {};
  FillPart fill = {};
  bool in_program_order = false;  // who gave it states its extents as the program does, and not as HDF5 and NumPy list
                                  // those of a Fortran array: for messages
};
struct IntDataArray {
  std::vector<std::int64_t> extents;
  std::vector<std::int32_t> data;
  std::string origin = {};
};

/// An array that the job gives as a dataset of an HDF5 file, looked at but not read. Extents in the order of the
/// program, the fastest first. `where`: in the job file, for messages.
struct ArraySource {
  std::string file, dataset;
  std::vector<std::int64_t> extents;
  bool integers = false;
  std::string where = {};
};

/// Sizes of segments by the names of their kinds, "ao", "moa", ...
using NamedSegments = std::map<std::string, std::vector<std::int32_t>>;

struct JobData {
  std::map<std::string, std::int32_t> ints;  // lower-case names
  std::map<std::string, double> scalars;
  std::map<IndexKind, std::vector<std::int32_t>> segments;  // extents of segments 1..n, per kind
  std::map<std::string, DataArray> arrays;  // predefined statics by name, and chemistry data of legacy files
  std::map<std::string, IntDataArray> int_arrays;
  std::map<std::string, ArraySource> sources;  // arrays that are datasets; those that were read are in `arrays` as well
  std::map<std::string, std::string> choices;  // options that only super instructions look at, by their names
  std::any domain;                // what super instructions know of the job besides; a copy of the job has a copy
  bool empty_means_none = false;  // initial-data files list arrays without elements that their programs fill themselves
  bool gives_array(const std::string& name) const { return arrays.contains(name) || sources.contains(name); }
};

}  // namespace sial
