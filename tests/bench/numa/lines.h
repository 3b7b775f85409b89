#pragma once
// The array that is measured: cache lines that are linked to two random cycles, and the sums that each pattern of
// accesses must find in it. The orders are made once and written into every array, wherever its pages lie.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sial::bench {

struct Line {
  std::uint64_t next_anywhere;  // the line after this one in a random cycle over all lines
  std::uint64_t next_in_page;   // ... in a random cycle that leaves a page when it has been to all lines of the page
  std::uint64_t number;         // of this line
  std::uint64_t values[5];
};
static_assert(sizeof(Line) == 64);
inline constexpr std::size_t words_per_line = sizeof(Line) / sizeof(std::uint64_t);
inline constexpr std::size_t page_bytes = 4096;
inline constexpr std::size_t lines_per_page = page_bytes / sizeof(Line);

class LineOrders {
 public:
  /// `lines`: whole pages, at most 2^32 lines.
  explicit LineOrders(std::size_t lines);

  std::size_t size() const { return anywhere_.size(); }
  /// Writes all lines, and so touches all pages. `lines`: size() of them.
  void fill(std::span<Line> lines) const;
  /// Of all words of so many lines at the beginning, modulo 2^64.
  std::uint64_t sum_of_words(std::size_t lines) const;
  /// Of the numbers of all lines.
  std::uint64_t sum_of_numbers() const { return static_cast<std::uint64_t>(size()) * (size() - 1) / 2; }

 private:
  std::vector<std::uint32_t> anywhere_, in_page_;
};

}  // namespace sial::bench
