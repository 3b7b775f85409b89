#include "compiler/report/formats/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "compiler/report/writer.h"
#include "runtime/core/base/json.h"

namespace sial::report {
namespace {

constexpr std::size_t rows_listed = 25;

/// A number that both runs have, or one of them (the other is 0).
struct Pair {
  std::string name;
  double a = 0, b = 0;
  double change() const { return std::abs(b - a); }
};

struct Comparison {
  struct Difference {
    std::string what, a, b;
  };
  std::vector<Difference> settings;
  std::vector<std::string> notes;
  std::vector<Pair> times;     // mean over the ranks, wall first
  std::vector<Pair> counters;  // those that differ
  std::vector<Pair> lines;     // seconds, all ranks; largest change first
  std::vector<Pair> waits, traffic;
};

using Table = std::map<std::string, Pair>;

void add(Table& table, const std::string& name, double value, double Pair::* side) {
  Pair& row = table[name];
  row.name = name;
  row.*side += value;
}

std::vector<Pair> by_change(Table table) {
  std::vector<Pair> rows;
  for (auto& [name, row] : table)
    if (row.a != 0 || row.b != 0) rows.push_back(std::move(row));
  std::stable_sort(rows.begin(), rows.end(), [](const Pair& x, const Pair& y) { return x.change() > y.change(); });
  return rows;
}

void compare_pairs(Comparison& c, const std::string& group, const Run::Pairs& a, const Run::Pairs& b) {
  std::map<std::string, std::pair<std::string, std::string>> both;
  for (const auto& [key, value] : a) both[key].first = value;
  for (const auto& [key, value] : b) both[key].second = value;
  for (const auto& [key, values] : both)
    if (values.first != values.second)
      c.settings.push_back(
          {group + key, values.first.empty() ? "-" : values.first, values.second.empty() ? "-" : values.second});
}

double mean_time(const Run& run, const char* counter) {
  double sum = 0;
  for (const auto& rank : run.per_rank)
    for (const CounterLine& c : rank)
      if (c.name == counter) sum += c.value;
  return run.per_rank.empty() ? 0 : sum / static_cast<double>(run.per_rank.size());
}

Comparison compare(const Run& a, const Run& b) {
  Comparison c;
  const auto setting = [&](const char* what, const std::string& x, const std::string& y) {
    if (x != y) c.settings.push_back({what, x, y});
  };
  setting("version", a.version, b.version);
  setting("ranks", std::to_string(a.ranks), std::to_string(b.ranks));
  setting("nodes", std::to_string(a.nodes), std::to_string(b.nodes));
  setting("servers", std::to_string(a.servers), std::to_string(b.servers));
  compare_pairs(c, "", a.options, b.options);
  compare_pairs(c, "", a.machine, b.machine);
  const auto names = [](const Run& run) {
    std::string text;
    for (const auto& [name, hash] : run.programs) text += (text.empty() ? "" : ", ") + name;
    return text;
  };
  setting("programs", names(a), names(b));
  if (a.programs != b.programs)
    c.notes.push_back(names(a) == names(b)
                          ? "the programs' sources differ: a line may not be the same statement in both"
                          : "the runs are of different programs: times and counters do not compare like with like");
  if (a.machine != b.machine) c.notes.push_back("the runs were made on different machines");

  c.times.push_back({"wall", a.counter("wall_time"), b.counter("wall_time")});
  for (std::size_t p = 0; p < std::size(breakdown_counters); ++p)
    c.times.push_back({breakdown_names[p], mean_time(a, breakdown_counters[p]), mean_time(b, breakdown_counters[p])});

  Table counters, lines, waits, traffic;
  for (const auto& [run, side] : {std::pair{&a, &Pair::a}, {&b, &Pair::b}}) {
    for (const CounterLine& row : run->totals)
      if (!row.name.ends_with("_time")) add(counters, row.name, row.value, side);
    for (const CostLine& row : run->lines) add(lines, fmt::format("{}:{}", row.file, row.line), row.seconds, side);
    for (const AccessLine& row : run->accesses) {
      add(waits, row.array, row.wait_seconds, side);
      add(traffic, row.array, static_cast<double>(row.moved), side);
    }
  }
  for (const CounterLine& row : a.totals)  // in the order of the table
    if (const auto found = counters.find(row.name); found != counters.end() && found->second.a != found->second.b)
      c.counters.push_back(found->second);
  for (const CounterLine& row : b.totals)
    if (const auto found = counters.find(row.name);
        found != counters.end() && found->second.a == 0 && found->second.b != 0 &&
        std::none_of(c.counters.begin(), c.counters.end(), [&](const Pair& p) { return p.name == row.name; }))
      c.counters.push_back(found->second);
  c.lines = by_change(std::move(lines));
  c.waits = by_change(std::move(waits));
  c.traffic = by_change(std::move(traffic));
  return c;
}

std::string ratio(const Pair& p) {
  if (p.a == p.b) return "1.00";
  return p.a == 0 ? "new" : p.b == 0 ? "gone" : fmt::format("{:.2f}", p.b / p.a);
}

class ComparisonText : Writer {
 public:
  std::string text(const Run& a, const Run& b, const Comparison& c, const std::vector<Reached>& reached) {
    line("a: {}\nb: {}", a.path, b.path);
    for (const std::string& note : c.notes) line("note: {}", note);
    if (c.settings.empty()) line("both runs had the same options, ranks and version");
    if (!c.settings.empty()) line("\nwhat differs\n  {:<20} {:<28} {}", "", "a", "b");
    for (const auto& d : c.settings) line("  {:<20} {:<28} {}", d.what, d.a, d.b);
    advice(reached);
    table("time, mean of the ranks", c.times, seconds_number, c.times.size());
    const auto number = [](double v) { return fmt::format("{:.6g}", v); };
    table("counters that differ, all ranks", c.counters, number, c.counters.size());
    table("lines whose time changed most, all ranks", c.lines, seconds_number, rows_listed);
    table("waiting by array, all ranks", c.waits, seconds_number, rows_listed);
    table("bytes moved by array, all ranks", c.traffic, bytes_number, rows_listed);
    return take();
  }

 private:
  void advice(const std::vector<Reached>& reached) {
    if (reached.empty()) return;
    line(
        "\nwhat the report of a asked for, predicted beside what b reached at the same lines\n  {:>12} {:>12} {:>12} {:>12}  {}",
        "predicted", "reached", "before", "after", "");
    for (const Reached& r : reached)
      line("  {:>12} {:>12} {:>12} {:>12}  {}{} at {}: {}", seconds_number(r.advice.seconds),
           r.after ? seconds_number(r.before - *r.after) : "-", seconds_number(r.before),
           r.after ? seconds_number(*r.after) : "-", r.followed ? "followed: " : "not followed: ", r.advice.kind,
           short_place(r.advice.at.file, r.advice.at.line), r.advice.change);
  }

  template <class Number>
  void table(const char* title, const std::vector<Pair>& rows, Number number, std::size_t most) {
    if (rows.empty()) return;
    line("\n{}\n  {:<28} {:>14} {:>14} {:>8}", title, "", "a", "b", "b/a");
    for (std::size_t i = 0; i < std::min(most, rows.size()); ++i)
      line("  {:<28} {:>14} {:>14} {:>8}", rows[i].name, number(rows[i].a), number(rows[i].b), ratio(rows[i]));
    if (rows.size() > most) line("  ... and {} more", rows.size() - most);
  }
};

}  // namespace

std::string compare_text(const Run& a, const Run& b, const std::vector<Reached>& reached) {
  return ComparisonText().text(a, b, compare(a, b), reached);
}

std::string compare_json(const Run& a, const Run& b, const std::vector<Reached>& reached) {
  const Comparison c = compare(a, b);
  const auto rows = [](const std::vector<Pair>& pairs) {
    Json out = Json::array();
    for (const Pair& p : pairs) out.push_back({{"name", p.name}, {"a", p.a}, {"b", p.b}});
    return out;
  };
  Json j{{"format", 2}, {"a", a.path}, {"b", b.path}, {"notes", c.notes}};
  j["settings"] = Json::array();
  for (const auto& d : c.settings) j["settings"].push_back({{"name", d.what}, {"a", d.a}, {"b", d.b}});
  j["times"] = rows(c.times);
  j["counters"] = rows(c.counters);
  j["lines"] = rows(c.lines);
  j["waits"] = rows(c.waits);
  j["bytes_moved"] = rows(c.traffic);
  j["advice"] = Json::array();
  for (const Reached& r : reached)
    j["advice"].push_back({{"kind", r.advice.kind},
                           {"program", r.advice.at.program},
                           {"file", r.advice.at.file},
                           {"line", r.advice.at.line},
                           {"change", r.advice.change},
                           {"followed", r.followed},
                           {"predicted_seconds", r.advice.seconds},
                           {"before_seconds", r.before},
                           {"after_seconds", r.after ? Json(*r.after) : Json()}});
  return json_text(j) + "\n";
}

}  // namespace sial::report
