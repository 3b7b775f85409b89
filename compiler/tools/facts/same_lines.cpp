#include "compiler/tools/facts/same_lines.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace sial::facts {
namespace {

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of("\r\n"), text.size());
    std::string_view line = text.substr(0, end);
    // Indentation and blanks at the end are no part of the statement.
    const std::size_t first = std::min(line.find_first_not_of(" \t"), line.size());
    line.remove_prefix(first);
    line = line.substr(0, line.find_last_not_of(" \t") + 1);
    lines.push_back(line);
    text.remove_prefix(std::min(end + (text.substr(end, 2) == "\r\n" ? 2 : 1), text.size()));
  }
  return lines;
}

struct BlockWords {
  std::string_view begin, end;
};
constexpr std::array<BlockWords, 6> block_words{{{"do", "enddo"},
                                                 {"pardo", "endpardo"},
                                                 {"if", "endif"},
                                                 {"proc", "endproc"},
                                                 {"section", "endsection"},
                                                 {"gpu_on", "gpu_off"}}};

std::string first_word(std::string_view line) {
  std::string word;
  for (const char c : line) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_') break;
    word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return word;
}

/// For each line, the number from 1 of the header of the innermost block around it; 0: none. `else` and `where` are
/// headers too: they decide how often the lines below happen.
std::vector<int> headers(const std::vector<std::string_view>& lines) {
  struct Header {
    int line = 0;
    std::size_t block = block_words.size();  // else, where: none
  };
  std::vector<Header> open;
  std::array<int, block_words.size()> open_of{};
  const auto close = [&](std::size_t block, bool whole) {
    if (open_of.at(block) == 0) return;
    while (open.back().block != block) {
      if (open.back().block < block_words.size()) --open_of.at(open.back().block);
      open.pop_back();
    }
    if (!whole) return;
    --open_of.at(block);
    open.pop_back();
  };
  std::vector<int> out;
  for (const std::string_view line : lines) {
    const std::string word = first_word(line);
    const auto begins = std::find_if(block_words.begin(), block_words.end(), [&](auto w) { return w.begin == word; });
    const auto ends = std::find_if(block_words.begin(), block_words.end(), [&](auto w) { return w.end == word; });
    const bool is_else = word == "else";
    if (ends != block_words.end()) close(static_cast<std::size_t>(ends - block_words.begin()), true);
    if (is_else) close(2, false);
    out.push_back(open.empty() ? 0 : open.back().line);
    const int number = static_cast<int>(out.size());
    if (begins != block_words.end()) {
      const auto block = static_cast<std::size_t>(begins - block_words.begin());
      open.push_back({number, block});
      ++open_of.at(block);
    } else if (is_else || word == "where") {
      open.push_back({number, block_words.size()});
    }
  }
  return out;
}

/// Matches equal ends of two stretches of lines, then lines that occur once in both, and so on between those.
class Matcher {
 public:
  Matcher(const std::vector<std::string_view>& a, const std::vector<std::string_view>& b)
      : a_(a), b_(b), of_(b.size() + 1, 0) {
    match(0, a.size(), 0, b.size(), 0);
  }

  std::vector<int> result() {
    drop_moved();
    // A line like one that came or went may be that one.
    std::unordered_set<std::string_view> doubtful;
    std::vector<bool> matched(a_.size(), false);
    for (std::size_t j = 1; j < of_.size(); ++j)
      if (of_[j] > 0) matched[static_cast<std::size_t>(of_[j]) - 1] = true;
      else doubtful.insert(b_[j - 1]);
    for (std::size_t i = 0; i < a_.size(); ++i)
      if (!matched[i]) doubtful.insert(a_[i]);
    for (std::size_t j = 1; j < of_.size(); ++j)
      if (of_[j] > 0 && doubtful.contains(b_[j - 1])) of_[j] = 0;
    return std::move(of_);
  }

 private:
  /// A line in other blocks than before happens at other times, however it is written.
  void drop_moved() {
    const std::vector<int> around_a = headers(a_), around_b = headers(b_);
    for (std::size_t j = 1; j < of_.size(); ++j) {
      if (of_[j] == 0) continue;
      // Headers stand above: of_ has their final value.
      const int before = around_a[static_cast<std::size_t>(of_[j]) - 1], now = around_b[j - 1];
      if ((now == 0) != (before == 0) || (now > 0 && of_[static_cast<std::size_t>(now)] != before)) of_[j] = 0;
    }
  }

  void match(std::size_t a0, std::size_t a1, std::size_t b0, std::size_t b1, int depth) {
    while (a0 < a1 && b0 < b1 && a_[a0] == b_[b0]) of_[++b0] = static_cast<int>(++a0);
    while (a0 < a1 && b0 < b1 && a_[a1 - 1] == b_[b1 - 1]) of_[b1--] = static_cast<int>(a1--);
    if (a0 == a1 || b0 == b1 || depth > max_depth) return;
    struct Seen {
      int in_a = 0, in_b = 0;
      std::size_t at_a = 0, at_b = 0;
    };
    std::unordered_map<std::string_view, Seen> seen;
    for (std::size_t i = a0; i < a1; ++i) ++seen[a_[i]].in_a, seen[a_[i]].at_a = i;
    for (std::size_t j = b0; j < b1; ++j) ++seen[b_[j]].in_b, seen[b_[j]].at_b = j;
    std::vector<Seen> once;
    for (std::size_t j = b0; j < b1; ++j)
      if (const Seen& s = seen[b_[j]]; s.in_a == 1 && s.in_b == 1) once.push_back(s);
    const std::vector<std::size_t> chain = longest_rising(once);
    std::size_t a = a0, b = b0;
    for (const std::size_t k : chain) {
      match(a, once[k].at_a, b, once[k].at_b, depth + 1);
      of_[once[k].at_b + 1] = static_cast<int>(once[k].at_a + 1);
      a = once[k].at_a + 1;
      b = once[k].at_b + 1;
    }
    if (!chain.empty()) match(a, a1, b, b1, depth + 1);
  }

  /// Places in the order of b whose places in a rise as well, as many as possible.
  template <class Places>
  static std::vector<std::size_t> longest_rising(const Places& places) {
    std::vector<std::size_t> tails, before(places.size());
    for (std::size_t k = 0; k < places.size(); ++k) {
      const auto tail = std::lower_bound(tails.begin(), tails.end(), k,
                                         [&](std::size_t x, std::size_t y) { return places[x].at_a < places[y].at_a; });
      before[k] = tail == tails.begin() ? places.size() : *(tail - 1);
      if (tail == tails.end()) tails.push_back(k);
      else *tail = k;
    }
    std::vector<std::size_t> chain;
    if (!tails.empty())
      for (std::size_t k = tails.back(); k < places.size(); k = before[k]) chain.push_back(k);
    std::reverse(chain.begin(), chain.end());
    return chain;
  }

  static constexpr int max_depth = 200;
  const std::vector<std::string_view>&a_, &b_;
  std::vector<int> of_;
};

}  // namespace

std::vector<int> same_lines(std::string_view before, std::string_view now) {
  const std::vector<std::string_view> a = split(before), b = split(now);
  return Matcher(a, b).result();
}

}  // namespace sial::facts
