#pragma once
// Names as programs and files give them: letter case does not matter, and a misspelt one is answered with the closest
// known ("did you mean").

#include <algorithm>
#include <cctype>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sial {

inline std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

/// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`.
inline int edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<int>> d(a.size() + 1, std::vector<int>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i)
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = static_cast<int>(i + j);
        continue;
      }
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

/// Known names within a third of the length of `name`, closest first, at most three.
template <class Names>
std::vector<std::string> close_names(std::string_view name, const Names& known) {
  std::vector<std::pair<int, std::string>> ranked;
  int limit = std::max(1, static_cast<int>(name.size()) / 3);
  for (std::string_view k : known)
    if (int d = edit_distance(name, k); d <= limit) ranked.emplace_back(d, k);
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
  std::vector<std::string> names;
  for (auto& [d, n] : ranked)
    if (names.size() < 3) names.push_back(n);
  return names;
}

/// The hint that names the closest of them; else another.
template <class Names>
std::string did_you_mean(std::string_view name, const Names& known, const std::string& otherwise = {}) {
  const std::vector<std::string> close = close_names(name, known);
  return close.empty() ? otherwise : "did you mean `" + close.front() + "`?";
}

/// Whether it can be a predefined value.
inline bool is_value_name(std::string_view text) {
  return !text.empty() && !std::isdigit(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '.'; });
}

}  // namespace sial
