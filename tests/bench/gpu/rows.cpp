#include "tests/bench/gpu/rows.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace bench {
namespace {

constexpr int name_width = 44, column_width = 12;

std::string number_text(double x) {
  if (std::isnan(x)) return "-";
  const double size = std::abs(x);
  if (x == std::floor(x) && size < 1e9) return fmt::format("{:.0f}", x);
  return size >= 1000 ? fmt::format("{:.0f}", x) : size >= 10 ? fmt::format("{:.1f}", x) : fmt::format("{:.3g}", x);
}

}  // namespace

void Suite::print_title() const {
  fmt::print("\n{}: {}\n", name, about);
  if (!against.empty())
    fmt::print("  share: of {}{}\n", against,
               target > 0 ? fmt::format("; target {} {}", at_most ? "at most" : "at least", target) : "");
}

void Suite::print_last() const {
  const Row& row = rows.back();
  if (rows.size() == 1) {
    std::string head = fmt::format("  {:<{}}", "", name_width);
    for (const auto& [column, x] : row.numbers)
      head += fmt::format(" {:>{}}", column, std::max<std::size_t>(column_width, column.size()));
    fmt::print("{} {:>7}\n", head, against.empty() ? "" : "share");
  }
  std::string text = fmt::format("  {:<{}}", row.name, name_width);
  for (const auto& [column, x] : row.numbers)
    text += fmt::format(" {:>{}}", number_text(x), std::max<std::size_t>(column_width, column.size()));
  if (row.share)
    text += fmt::format(" {:>7.3f}{}", *row.share, target > 0 && row.targeted ? met(row) ? " " : "*" : " ");
  fmt::print("{}{}{}\n", text, row.note.empty() ? "" : "  " + row.note, row.right ? "" : "  WRONG");
  std::fflush(stdout);
}

void Suite::print_summary() const {
  double logs = 0, worst = 0;
  int held = 0, fine = 0;
  for (const Row& row : rows) {
    if (!row.share || !row.targeted || !(*row.share > 0)) continue;
    logs += std::log(*row.share);
    worst = held == 0 ? *row.share : at_most ? std::max(worst, *row.share) : std::min(worst, *row.share);
    ++held;
    fine += target > 0 && met(row) ? 1 : 0;
  }
  if (held > 0)
    fmt::print("  {} rows: geometric mean {:.3f}, worst {:.3f}{}\n", held, std::exp(logs / held), worst,
               target > 0 ? fmt::format(", {} of {} reach the target (others *)", fine, held) : "");
  for (const std::string& s : skipped) fmt::print("  not measured: {}\n", s);
}

bool Suite::right() const {
  return std::all_of(rows.begin(), rows.end(), [](const Row& r) { return r.right; });
}

void write_json(const std::string& file, const std::string& device, bool quick, const std::vector<Suite>& suites) {
  nlohmann::ordered_json j{{"format", "sialx-bench-device"}, {"version", 1}, {"device", device}, {"quick", quick}};
  j["suites"] = nlohmann::ordered_json::array();
  for (const Suite& s : suites) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const Row& row : s.rows) {
      nlohmann::ordered_json numbers = nlohmann::ordered_json::object();
      for (const auto& [column, x] : row.numbers)
        numbers[column] = std::isfinite(x) ? nlohmann::ordered_json(x) : nlohmann::ordered_json();
      rows.push_back({{"name", row.name},
                      {"numbers", std::move(numbers)},
                      {"share", row.share ? nlohmann::ordered_json(*row.share) : nlohmann::ordered_json()},
                      {"targeted", row.targeted},
                      {"right", row.right},
                      {"note", row.note}});
    }
    j["suites"].push_back({{"name", s.name},
                           {"about", s.about},
                           {"against", s.against},
                           {"target", s.target > 0 ? nlohmann::ordered_json(s.target) : nlohmann::ordered_json()},
                           {"at_most", s.at_most},
                           {"rows", std::move(rows)},
                           {"skipped", s.skipped}});
  }
  std::ofstream out(file);
  out << j.dump(1) << '\n';
  out.close();
  if (!out) throw std::runtime_error("cannot write " + file);
}

}  // namespace bench
