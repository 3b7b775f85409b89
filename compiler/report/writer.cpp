#include "compiler/report/writer.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace sial::report {

double RankTimes::sum() const { return std::accumulate(std::begin(part), std::end(part), 0.0); }

Breakdown breakdown_of(const Run& run) {
  Breakdown result;
  double busiest = 0, total = 0;
  for (const std::vector<CounterLine>& counters : run.per_rank) {
    const auto value = [&](const std::string& name) {
      const auto found =
          std::find_if(counters.begin(), counters.end(), [&](const CounterLine& c) { return c.name == name; });
      return found == counters.end() ? 0.0 : found->value;
    };
    RankTimes& times = result.ranks.emplace_back();
    times.wall = value("wall_time");
    for (std::size_t p = 0; p < std::size(breakdown_counters); ++p) times.part[p] = value(breakdown_counters[p]);
    result.handler += value("handler_time");
    busiest = std::max(busiest, times.part[0]);
    total += times.part[0];
  }
  if (total > 0) result.imbalance = busiest * static_cast<double>(result.ranks.size()) / total;
  return result;
}

std::vector<Traffic> traffic_of(const Run& run) {
  std::map<std::string, Traffic> arrays;
  for (const AccessLine& a : run.accesses) {
    Traffic& t = arrays[a.array];
    t.array = a.array;
    t.moved += a.moved;
    t.in_place += a.in_place;
    t.accesses += a.accesses;
    t.used += a.bytes;
    t.on_other_nodes += a.on_other_nodes;
  }
  std::vector<Traffic> rows;
  for (auto& [name, t] : arrays) rows.push_back(std::move(t));
  std::stable_sort(rows.begin(), rows.end(), [](const Traffic& a, const Traffic& b) {
    return std::pair(a.moved, a.in_place) > std::pair(b.moved, b.in_place);
  });
  return rows;
}

std::string copies_at(const Run& run, const std::string& file, int line) {
  std::string text;
  for (const CopyLine& c : run.copies) {
    if (c.line != line || c.file != file) continue;
    std::string part;
    if (c.copied > 0)
      part = fmt::format("{} {} of `{}` ({})", c.copied, c.copied == 1 ? "copy" : "copies", c.array,
                         bytes_number(static_cast<double>(c.bytes_copied)));
    if (c.elided > 0)
      part +=
          fmt::format("{} spared ({})",
                      part.empty() ? fmt::format("{} {} of `{}`", c.elided, c.elided == 1 ? "copy" : "copies", c.array)
                                   : fmt::format(", {}", c.elided),
                      bytes_number(static_cast<double>(c.bytes_elided)));
    if (!part.empty()) text += (text.empty() ? "" : "; ") + part;
  }
  return text;
}

Prefetches prefetches_of(const Run& run) {
  return {run.counter("prefetches"), run.counter("prefetches_useful"), run.counter("prefetches_late"),
          run.counter("prefetches_useless")};
}

std::string plural(double n, const char* noun) {
  return fmt::format("{} {}{}", count_number(n), noun, n == 1 ? "" : "s");
}

}  // namespace sial::report
