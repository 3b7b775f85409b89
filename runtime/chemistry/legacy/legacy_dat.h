#pragma once
// The initial-data file of ACES4 jobs (`.dat`) and its JSON form, as plain values: reading either byte order, writing.
// What was read is written back byte for byte, so names, their order and every number are kept as they stand in the
// file. Any byte string becomes a LegacyDat or is refused with one SialError that names the file, the byte and the
// field; what the numbers mean is legacy_job.h's business.
//
//   int = 4 bytes, double = 8 bytes, nothing aligned; string = int n, n bytes with a trailing NUL;
//   list = int n, n items
//   int 23121991, int 1
//   n, n x string                                      programs in the order they run
//   n, n x { string, int }                             predefined ints
//   n, n x { string, double }                          predefined scalars
//   n, n x { int kind, list of int }                   segment sizes of an index kind (numbers of IndexKind)
//   n, n x { string, int rank, list of int, list of double }   arrays: extents, column-major elements
//   n, n x { string, int rank, list of int, list of int }
//   n, n x { string, n, n x { string, string } }       settings per program; nothing reads them

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/core/base/shape.h"

namespace sial {

template <class T>
struct LegacyArray {
  std::string name;
  std::vector<std::int32_t> dims;
  std::vector<T> data;
  std::int64_t offset = -1;  // of its name in the file, -1 outside binary files; no part of the value
  bool operator==(const LegacyArray& o) const { return name == o.name && dims == o.dims && data == o.data; }
};

struct LegacyConfig {
  std::string program;
  std::vector<std::pair<std::string, std::string>> pairs;
  bool operator==(const LegacyConfig&) const = default;
};

struct LegacyDat {
  std::vector<std::string> programs;
  std::vector<std::pair<std::string, std::int32_t>> ints;
  std::vector<std::pair<std::string, double>> scalars;
  std::vector<std::pair<IndexKind, std::vector<std::int32_t>>> segments;
  std::vector<LegacyArray<double>> arrays;
  std::vector<LegacyArray<std::int32_t>> int_arrays;
  std::vector<LegacyConfig> configs;
  bool operator==(const LegacyDat&) const = default;
};

enum class ByteOrder { little, big };

/// The byte order is recognised by the first number and, where wanted, reported.
LegacyDat parse_legacy_dat(std::span<const std::byte> bytes, const std::string& file, ByteOrder* order = nullptr);
/// Throws SialError for what the format cannot hold (more than 2^31-1 elements).
std::vector<std::byte> format_legacy_dat(const LegacyDat& dat, ByteOrder order = ByteOrder::little);

LegacyDat parse_legacy_json(std::string_view text, const std::string& file);
/// Shortest digits that read back exactly. Throws SialError for numbers JSON cannot hold (NaN, infinity).
std::string format_legacy_json(const LegacyDat& dat);

/// Reads a file of either form, told apart by its content. Throws InputError when it cannot be read.
LegacyDat read_legacy_file(const std::string& path);
/// Writes JSON when the name ends in `.json`, else the binary form; under a temporary name first, then renamed. Throws
/// EnvironmentError when the disk does not take it.
void write_legacy_file(const LegacyDat& dat, const std::string& path);

}  // namespace sial
