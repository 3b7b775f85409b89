// The source files of a module, as they are now.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>

#include "compiler/report/model.h"
#include "runtime/core/base/input_file.h"
#include "runtime/core/base/sha256.h"

namespace sial::report {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> contents(const std::string& path) {
  std::string problem;
  std::string text = read_file(path, input_limit::source, problem);
  return problem.empty() ? std::optional(std::move(text)) : std::nullopt;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find_first_of("\r\n", begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + (text.compare(end, 2, "\r\n") == 0 ? 2 : 1);
  }
  return lines;
}

/// `ccsd.txt:34,36` of a comment that ends in ` @ccsd.txt:34,36`; empty: it is no such comment.
std::string origin_of(std::string_view line) {
  const std::size_t end = line.find_last_not_of(" \t");
  if (end == std::string_view::npos || line[line.find_first_not_of(" \t")] != '#') return {};
  line = line.substr(0, end + 1);
  const std::size_t at = line.rfind(" @"), colon = line.rfind(':');
  if (at == std::string_view::npos || colon == std::string_view::npos || colon < at + 3 || colon == end) return {};
  if (line.find_first_not_of("0123456789,", colon + 1) != std::string_view::npos) return {};
  return std::string(line.substr(at + 2));
}

std::vector<std::string> origins_of(const std::vector<std::string>& lines) {
  std::vector<std::string> origins;
  std::string current;
  for (const std::string& line : lines) {
    if (line.find_first_not_of(" \t") == std::string::npos) current.clear();
    else if (std::string said = origin_of(line); !said.empty()) current = std::move(said);
    origins.push_back(current);
  }
  return origins;
}

/// Files that may be the one of that name: as named, then along the folders.
std::vector<std::string> candidates(const std::string& name, const std::vector<std::string>& folders) {
  std::vector<std::string> paths{name};
  for (const std::string& folder : folders) {
    paths.push_back((fs::path(folder) / name).string());
    paths.push_back((fs::path(folder) / fs::path(name).filename()).string());
  }
  return paths;
}

struct Found {
  std::string path, text;
};

/// Several files may have the right name: the first combination with the module's hash, trying so many at most.
bool choose(const std::vector<std::vector<Found>>& found, const std::string& source_hash,
            std::vector<std::size_t>& choice) {
  constexpr int max_tries = 64;
  for (int tries = 0; tries < max_tries; ++tries) {
    Sha256 hash;
    for (std::size_t f = 0; f < found.size(); ++f) hash.update(found[f][choice[f]].text);
    if (hash.hex() == source_hash) return true;
    std::size_t f = 0;
    for (; f < found.size(); ++f) {
      if (++choice[f] < found[f].size()) break;
      choice[f] = 0;
    }
    if (f == found.size()) break;
  }
  std::fill(choice.begin(), choice.end(), 0);
  return false;
}

}  // namespace

void find_sources(Report& report, const std::vector<std::string>& folders) {
  report.sources.clear();
  std::vector<std::vector<Found>> found(report.files.size());
  bool all = true;
  for (std::size_t f = 0; f < found.size(); ++f) {
    if (const auto known = report.texts.find(report.files[f]); known != report.texts.end())
      found[f].push_back({known->first, known->second});
    for (const std::string& path : candidates(report.files[f], folders))
      if (auto text = contents(path); text && std::none_of(found[f].begin(), found[f].end(),
                                                           [&](const Found& other) { return other.text == *text; }))
        found[f].push_back({path, std::move(*text)});
    all &= !found[f].empty();
  }
  std::vector<std::size_t> choice(found.size(), 0);
  const bool same = all && choose(found, report.source_hash, choice);
  for (std::size_t f = 0; f < found.size(); ++f) {
    SourceFile& source = report.sources.emplace_back();
    source.name = report.files[f];
    if (found[f].empty()) {
      source.problem = fmt::format(
          "source file `{}` was not found where it was compiled{}", source.name,
          folders.empty() ? "; name its folder with -I" : fmt::format(", nor in {}", fmt::join(folders, ", ")));
      continue;
    }
    source.found = true;
    source.path = found[f][choice[f]].path;
    source.lines = lines_of(found[f][choice[f]].text);
    source.origins = origins_of(source.lines);
    source.changed = all && !same;
    if (source.changed)
      source.problem =
          found.size() == 1
              ? fmt::format(
                    "`{}` changed since the module was compiled: compile it again to see what is known about its lines",
                    source.path)
              : "one of the source files changed since the module was compiled: compile it again to see what is known about their lines";
    else if (!all)
      source.problem =
          "not all source files were found, so that nobody knows whether they changed since the module was compiled";
  }
}

}  // namespace sial::report
