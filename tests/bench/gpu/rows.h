#pragma once
// What the GPU benchmarks found: suites of rows with the same columns, as tables for people and JSON for the record,
// with what each is held against. No row passes or fails by its numbers; `right` says that what was timed computed what
// it should.

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bench {

struct Row {
  std::string name;
  std::vector<std::pair<std::string, double>> numbers;  // by column; not a number: not measured
  std::optional<double> share;                          // of what the suite is held against
  bool targeted = true;                                 // whether the target is about this row
  bool right = true;
  std::string note;
};

struct Suite {
  std::string name, about;  // about: what the columns are
  std::string against;      // what `share` is of
  double target = 0;        // of it; 0: there is none
  bool at_most = false;     // the target is an upper limit
  std::vector<Row> rows;
  std::vector<std::string> skipped;  // what was not measured, and why

  void print_title() const;
  /// The last row, and before the first the columns' names.
  void print_last() const;
  void print_summary() const;
  bool right() const;
  bool met(const Row& row) const { return at_most ? *row.share <= target : *row.share >= target; }
};

/// Throws std::runtime_error where the file cannot be written.
void write_json(const std::string& file, const std::string& device, bool quick, const std::vector<Suite>& suites);

}  // namespace bench
