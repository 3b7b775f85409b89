#include "tests/bench/numa/patterns.h"

#include <algorithm>
#include <numeric>
#include <random>

#include <fmt/format.h>

namespace sial::bench {

namespace {

/// A load that stands in the program as often as it is written: loads of plain words would be merged to vectors.
std::uint64_t load(const std::uint64_t& word) { return *static_cast<const volatile std::uint64_t*>(&word); }

const std::uint64_t* words(std::span<const Line> lines) { return &lines.front().next_anywhere; }

std::uint64_t sum_of(const std::uint64_t* words, std::size_t count) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += load(words[i]);
  return sum;
}

Visit cached_words(const VisitedArray& array) {
  const std::size_t count = array.cached_lines * words_per_line;
  std::uint64_t sum = 0;
  for (std::uint64_t pass = 0; pass < array.cached_passes; ++pass) sum += sum_of(words(array.lines), count);
  return {array.cached_passes * count, sum};
}

Visit words_in_order(const VisitedArray& array) {
  const std::size_t count = array.lines.size() * words_per_line;
  return {count, sum_of(words(array.lines), count)};
}

/// Orders of the lines of a page. There are several: a prefetcher may learn one that all pages have.
using PageOrders = std::array<std::array<std::uint8_t, lines_per_page>, 32>;

PageOrders make_page_orders() {
  PageOrders orders;
  std::mt19937 random(1);
  for (auto& order : orders) {
    std::iota(order.begin(), order.end(), std::uint8_t{0});
    std::shuffle(order.begin(), order.end(), random);
  }
  return orders;
}

Visit lines_of_pages(const VisitedArray& array) {
  static const PageOrders orders = make_page_orders();
  std::uint64_t sum = 0;
  const std::size_t pages = array.lines.size() / lines_per_page;
  for (std::size_t page = 0; page < pages; ++page) {
    const Line* lines = &array.lines[page * lines_per_page];
    for (const std::uint8_t line : orders[page % orders.size()]) sum += load(lines[line].number);
  }
  return {array.lines.size(), sum};
}

/// Each address is known when the access before it has ended.
template <std::uint64_t Line::* next>
Visit cycle(const VisitedArray& array) {
  const Line* lines = array.lines.data();
  std::uint64_t sum = 0, at = 0;
  for (std::size_t i = array.lines.size(); i > 0; --i) {
    at = load(lines[at].*next);
    sum += at;
  }
  return {array.lines.size(), sum, at};
}

constexpr std::array<Pattern, 5> all{{
    {"cached words", "first cache", {3.0e-10, 3.1e-10, 3.2e-10}, cached_words},
    {"words in order", "8 words a line, prefetch, overlap", {8.4e-9, 9.7e-9, 1.19e-8}, words_in_order},
    {"lines of a page at random", "overlap, address translation", {2.37e-8, 3.05e-8, 3.78e-8}, lines_of_pages},
    {"cycle, page by page", "address translation", {7.6e-8, 9.1e-8, 1.07e-7}, cycle<&Line::next_in_page>},
    {"cycle over all lines", "nothing", {9.2e-8, 1.24e-7, 1.52e-7}, cycle<&Line::next_anywhere>},
}};

}  // namespace

std::span<const Pattern> patterns() { return all; }

std::string wrong_visit(const Pattern& pattern, const VisitedArray& array, const LineOrders& orders,
                        const Visit& visit) {
  const std::uint64_t sum = pattern.visit == cached_words
                                ? array.cached_passes * orders.sum_of_words(array.cached_lines)
                            : pattern.visit == words_in_order ? orders.sum_of_words(orders.size())
                                                              : orders.sum_of_numbers();
  if (visit.sum != sum) return fmt::format("{}: the sum is {} and should be {}", pattern.name, visit.sum, sum);
  if (visit.end != 0) return fmt::format("{}: the cycle ends at line {}", pattern.name, visit.end);
  return {};
}

}  // namespace sial::bench
