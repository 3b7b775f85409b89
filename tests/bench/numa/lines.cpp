#include "tests/bench/numa/lines.h"

#include <array>
#include <numeric>
#include <random>
#include <utility>

namespace sial::bench {

namespace {

using Numbers = std::vector<std::uint32_t>;

std::size_t below(std::mt19937_64& random, std::size_t end) {
  return std::uniform_int_distribution<std::size_t>(0, end - 1)(random);
}

void shuffle(std::span<std::uint32_t> numbers, std::mt19937_64& random) {
  for (std::size_t i = numbers.size(); i-- > 1;) std::swap(numbers[i], numbers[below(random, i + 1)]);
}

/// A permutation that is one cycle (Sattolo): an entry is never exchanged with itself.
Numbers one_cycle(std::size_t size, std::mt19937_64& random) {
  Numbers next(size);
  std::iota(next.begin(), next.end(), 0U);
  for (std::size_t i = size; i-- > 1;) std::swap(next[i], next[below(random, i)]);
  return next;
}

/// One cycle over pages in random order, and over the lines of each page in random order.
Numbers cycle_by_page(std::size_t size, std::mt19937_64& random) {
  Numbers pages(size / lines_per_page), next(size);
  std::iota(pages.begin(), pages.end(), 0U);
  shuffle(pages, random);
  std::array<std::uint32_t, lines_per_page> order;
  std::iota(order.begin(), order.end(), 0U);
  std::uint32_t first = 0, last = 0;
  bool begun = false;
  for (const std::uint32_t page : pages) {
    shuffle(order, random);
    for (const std::uint32_t in_page : order) {
      const std::uint32_t line = page * static_cast<std::uint32_t>(lines_per_page) + in_page;
      if (begun) next[last] = line;
      else first = line;
      begun = true;
      last = line;
    }
  }
  next[last] = first;
  return next;
}

std::uint64_t value(std::size_t line, std::size_t place) { return line * words_per_line + place; }

}  // namespace

LineOrders::LineOrders(std::size_t lines) {
  std::mt19937_64 random(20260101);  // the same orders in every run
  anywhere_ = one_cycle(lines, random);
  in_page_ = cycle_by_page(lines, random);
}

void LineOrders::fill(std::span<Line> lines) const {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    Line& line = lines[i];
    line.next_anywhere = anywhere_[i];
    line.next_in_page = in_page_[i];
    line.number = i;
    for (std::size_t place = 0; place < std::size(line.values); ++place) line.values[place] = value(i, place);
  }
}

std::uint64_t LineOrders::sum_of_words(std::size_t lines) const {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < lines; ++i) {
    sum += anywhere_[i] + std::uint64_t{in_page_[i]} + i;
    for (std::size_t place = 0; place < std::size(Line{}.values); ++place) sum += value(i, place);
  }
  return sum;
}

}  // namespace sial::bench
