#include "tests/bench/numa/report.h"

#include <fstream>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace sial::bench {

namespace {

double mib(std::size_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

/// Of this process, by the system: whether large pages are used is its choice.
std::optional<std::size_t> bytes_in_large_pages() {
  std::ifstream file("/proc/self/smaps_rollup");
  for (std::string word; file >> word;)
    if (std::size_t kilobytes = 0; word == "AnonHugePages:" && file >> kilobytes) return kilobytes << 10;
  return {};
}

std::string placement_line(const Column& column) {
  std::string text = fmt::format("{}: {}", column.placement.name, page_rule_text(column.placement.rule));
  if (column.placement.distance != 1) text += fmt::format(", distance {:.2g}", column.placement.distance);
  std::string pages;
  for (std::size_t node = 0; node < column.found.by_node.size(); ++node)
    if (column.found.by_node[node] > 0)
      pages += fmt::format("{}{} on node {}", pages.empty() ? "" : ", ", column.found.by_node[node], node);
  if (!pages.empty()) text += fmt::format("; pages found: {}", pages);
  for (const std::string& problem : column.problems) text += fmt::format("\n  {}", problem);
  return text + "\n";
}

std::string figures(const Measured& measured, std::size_t pattern) {
  std::string seconds, ratios;
  for (const Column& column : measured.columns) {
    seconds += column.memory ? fmt::format(" {:>11.2e}", column.median(pattern)) : fmt::format(" {:>11}", "-");
    if (&column == &measured.columns.front()) continue;
    ratios += column.memory
                  ? fmt::format(" {:>11.2f}", column.median(pattern) / measured.columns.front().median(pattern))
                  : fmt::format(" {:>11}", "-");
  }
  return seconds + ratios;
}

std::string published_figures(const std::array<double, 3>& published) {
  return fmt::format(" {:>11.2e} {:>11.2e} {:>11.2e} {:>11.2f} {:>11.2f}", published[0], published[1], published[2],
                     published[1] / published[0], published[2] / published[0]);
}

}  // namespace

std::string heading(const Setting& setting) {
  const auto& [machine, observer, caches, extent] = setting;
  std::string text = fmt::format("{} memory node{}", machine.size(), machine.size() == 1 ? "" : "s");
  if (!machine.problem.empty()) text += fmt::format(" ({})", machine.problem);
  if (!machine.is_this_machine) text += " of a machine that is only described: the times are of this one";
  text += fmt::format("; measured on processor {}, node {}\n", observer.cpu < 0 ? "any" : std::to_string(observer.cpu),
                      machine.nodes[static_cast<std::size_t>(observer.node)].number);
  text += fmt::format("arrays of {:.4g} MiB, ", mib(extent.bytes));
  if (caches.last == 0) text += "last cache of unknown size";
  else
    text += fmt::format("{:.2g} times the last cache of {:.4g} MiB", mib(extent.bytes) / mib(caches.last),
                        mib(caches.last));
  text += fmt::format("; rounds: {}, medians\n", extent.rounds);
  if (caches.last > 0 && extent.bytes < 2 * caches.last)
    text += "smaller than twice that cache: part of an array stays there, and the ratios are too small\n";
  return text;
}

std::string table(const Measured& measured) {
  std::string text;
  for (const Column& column : measured.columns) text += placement_line(column);
  if (const auto large = bytes_in_large_pages()) text += fmt::format("in large pages: {:.4g} MiB\n", mib(*large));
  const std::size_t columns = measured.columns.size(), width = 12 * (2 * columns - 1);
  text += fmt::format("\n{:<25} {:<34}{:^{}} | {:^59}\n", "", "", "this machine", width, "published, two sockets");
  std::string names, ratio_names;
  for (const Column& column : measured.columns) {
    names += fmt::format(" {:>11}", column.placement.name);
    if (&column != &measured.columns.front()) ratio_names += fmt::format(" {:>11}", "ratio");
  }
  text += fmt::format("{:<25} {:<34}{}{} | {:>11} {:>11} {:>11} {:>11} {:>11}\n", "seconds per access", "helped by",
                      names, ratio_names, "local", "interleaved", "remote", "ratio", "ratio");
  for (std::size_t p = 0; p < patterns().size(); ++p) {
    const Pattern& pattern = patterns()[p];
    text += fmt::format("{:<25} {:<34}{} |{}\n", pattern.name, pattern.helped_by, figures(measured, p),
                        published_figures(pattern.published));
  }
  text += columns > 1 ? "Ratios: interleaved to local, remote to local.\n"
                      : "The machine has one memory node: there is nothing to compare.\n";
  return text;
}

std::string json_line(const Setting& setting, const Measured& measured) {
  using nlohmann::json;
  const auto& [machine, observer, caches, extent] = setting;
  json out = {{"benchmark", "numa"},
              {"nodes", machine.size()},
              {"described", !machine.is_this_machine},
              {"cpu", observer.cpu},
              {"first_cache", caches.first},
              {"last_cache", caches.last},
              {"array_bytes", extent.bytes},
              {"rounds", extent.rounds},
              {"large_page_bytes", bytes_in_large_pages().value_or(0)},
              {"placements", json::array()},
              {"patterns", json::array()}};
  for (const Column& column : measured.columns)
    out["placements"].push_back({{"name", column.placement.name},
                                 {"nodes", column.placement.rule.nodes},
                                 {"distance", column.placement.distance},
                                 {"pages_by_node", column.found.by_node},
                                 {"measured", column.memory != nullptr},
                                 {"problems", column.problems}});
  for (std::size_t p = 0; p < patterns().size(); ++p) {
    json seconds = json::object(), ratios = json::object(), rounds = json::object();
    for (const Column& column : measured.columns) {
      if (!column.memory) continue;
      const std::string name(column.placement.name);
      seconds[name] = column.median(p);
      ratios[name] = column.median(p) / measured.columns.front().median(p);
      rounds[name] = column.seconds[p];
    }
    out["patterns"].push_back({{"name", patterns()[p].name},
                               {"seconds", seconds},
                               {"ratio_to_local", ratios},
                               {"all_rounds", rounds},
                               {"published", patterns()[p].published}});
  }
  return out.dump() + "\n";
}

}  // namespace sial::bench
