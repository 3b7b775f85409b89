#pragma once
// Times all patterns on an array in each placement, in turns. One thread, which is tied to its processor beforehand.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/numa/page_calls.h"
#include "tests/bench/numa/lines.h"
#include "tests/bench/numa/machine.h"
#include "tests/bench/numa/patterns.h"

namespace sial::bench {

/// Pages that nobody has touched yet, so that a rule about them holds for all.
class NewPages {
 public:
  explicit NewPages(std::size_t bytes);
  ~NewPages();
  NewPages(const NewPages&) = delete;
  NewPages& operator=(const NewPages&) = delete;
  std::byte* begin() const { return begin_; }
  std::size_t bytes() const { return bytes_; }
  std::span<Line> lines() const { return {reinterpret_cast<Line*>(begin_), bytes_ / sizeof(Line)}; }

 private:
  std::byte* begin_;
  std::size_t bytes_;
};

struct Extent {
  std::size_t bytes = 0;         // of each array
  std::size_t cached_lines = 0;  // of it, for the pattern of the first cache
  std::uint64_t cached_passes = 0;
  int rounds = 0;
  bool large_pages = false;  // ask for them
};

struct Column {
  Placement placement;
  std::unique_ptr<NewPages> memory;          // null: the system refused the placement, nothing is measured
  PagesFound found;                          // after all pages have been touched
  std::vector<std::string> problems;         // what the system refused, and pages that lie elsewhere
  std::vector<std::vector<double>> seconds;  // of processor time per access, of each pattern and round
  double median(std::size_t pattern) const;
};

struct Measured {
  std::vector<Column> columns;
  std::vector<std::string> wrong;  // what was visited and should not have been: then no figure counts
};

/// Throws EnvironmentError where there is no memory.
Measured measure(std::vector<Placement> placements, PageCalls& calls, const Extent& extent);

}  // namespace sial::bench
