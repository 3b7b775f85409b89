#include "runtime/core/watch/stall_report.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

namespace sial {

namespace {

bool works(const RankStatus& r) { return r.rank >= 0 && r.serves == 0 && r.ended == 0 && r.beat > 0; }

std::string ranges(const std::vector<int>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    text += i > 0 ? ", " : "";
    text += end - i > 1 ? fmt::format("{}-{}", ranks[i], ranks[end - 1]) : fmt::format("{}", ranks[i]);
    i = end;
  }
  return text;
}

std::string seconds(double s) { return fmt::format("{:.0f} s", std::floor(s)); }

}  // namespace

std::string rank_list(std::vector<int> ranks, const HostNamer& host) {
  std::sort(ranks.begin(), ranks.end());
  std::vector<std::pair<std::string, std::vector<int>>> by_host;
  for (const int rank : ranks) {
    const std::string name = host ? host(rank) : std::string();
    auto at = std::find_if(by_host.begin(), by_host.end(), [&](const auto& h) { return h.first == name; });
    if (at == by_host.end()) at = by_host.insert(by_host.end(), {name, {}});
    at->second.push_back(rank);
  }
  std::string text;
  for (const auto& [name, its] : by_host) {
    if (!text.empty()) text += ", ";
    text += ranges(its);
    if (!name.empty()) text += fmt::format(" ({})", name);
  }
  return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", text);
}

std::string describe_ranks(std::span<const RankStatus> ranks, const HostNamer& host) {
  struct Group {
    std::string what;
    std::vector<int> ranks;
    double most = 0, least = 0;
    std::int64_t collective = -1;
    double silent = 0;
  };
  std::vector<Group> groups;
  for (const RankStatus& r : ranks) {
    if (r.rank < 0) continue;
    const std::string what = r.serves != 0  ? "serves blocks"
                             : r.ended != 0 ? "has ended"
                             : r.beat == 0  ? "has not been heard of"
                             : r.text[0]    ? r.what()
                                            : "is at work";
    const double since = r.waiting > 0 ? r.waiting : r.still;
    auto at = std::find_if(groups.begin(), groups.end(), [&](const Group& g) {
      return g.what == what && g.collective == r.waits_for_collective && (g.silent > 0) == (r.silent > 0);
    });
    if (at == groups.end())
      at = groups.insert(groups.end(), {what, {}, since, since, r.waits_for_collective, r.silent});
    at->ranks.push_back(r.rank);
    at->most = std::max(at->most, since);
    at->least = std::min(at->least, since);
  }
  std::string text;
  for (const Group& g : groups) {
    text += fmt::format("  {}: {}", rank_list(g.ranks, host), g.what);
    if (g.most >= 1)
      text += std::floor(g.least) < std::floor(g.most)
                  ? fmt::format(", for {} to {}", seconds(g.least), seconds(g.most))
                  : fmt::format(", for {}", seconds(g.most));
    if (g.silent > 0) text += fmt::format(", no sign of life for {}", seconds(g.silent));
    if (g.collective >= 0) {
      std::vector<int> missing;
      for (const RankStatus& r : ranks)
        if (r.rank >= 0 && r.serves == 0 && r.collectives <= g.collective) missing.push_back(r.rank);
      if (!missing.empty())
        text += fmt::format("; {} {} not come to it", rank_list(missing, host), missing.size() == 1 ? "has" : "have");
    }
    text += '\n';
  }
  return text;
}

std::string StallReport::due(std::span<const RankStatus> ranks, const HostNamer& host) {
  if (after_ <= 0) return {};
  double longest = 0;
  int waiting = 0, all = 0;
  for (const RankStatus& r : ranks) {
    if (!works(r)) continue;
    ++all;
    longest = std::max(longest, r.waiting);
    waiting += r.waiting >= after_ ? 1 : 0;
  }
  if (longest < after_) {
    next_ = after_;
    return {};
  }
  if (longest < next_) return {};
  next_ = 2 * longest;
  return fmt::format("note: {} of {} ranks {} waited for {} or longer (`--stall-report`)\n{}", waiting, all,
                     waiting == 1 ? "has" : "have", seconds(after_), describe_ranks(ranks, host));
}

double longest_standstill(std::span<const RankStatus> ranks) {
  double least = -1;
  for (const RankStatus& r : ranks) {
    if (r.rank < 0 || r.serves != 0 || r.ended != 0) continue;
    if (r.beat == 0) return 0;
    least = least < 0 ? r.still : std::min(least, r.still);
  }
  return std::max(0.0, least);
}

}  // namespace sial
