#include "runtime/core/numa/page_calls.h"

#include <algorithm>

#include <fmt/format.h>

namespace sial {

std::vector<std::size_t> sample_pages(std::size_t pages, std::size_t most) {
  const std::size_t step = std::max<std::size_t>(1, pages / std::max<std::size_t>(1, most));
  std::vector<std::size_t> sample;
  for (std::size_t p = 0; p < pages && sample.size() < most; p += step)
    sample.push_back(std::min(pages - 1, p + (sample.size() * 2654435761U >> 7) % step));
  return sample;
}

std::string node_list_text(const std::vector<int>& nodes) {
  std::string text;
  for (std::size_t i = 0; i < nodes.size();) {
    std::size_t last = i;
    while (last + 1 < nodes.size() && nodes[last + 1] == nodes[last] + 1) ++last;
    text += fmt::format("{}{}", i == 0 ? "" : ",", nodes[i]);
    if (last > i) text += fmt::format("-{}", nodes[last]);
    i = last + 1;
  }
  return text;
}

std::string page_rule_text(const PageRule& rule) {
  const std::string nodes = fmt::format("node{} {}", rule.nodes.size() == 1 ? "" : "s", node_list_text(rule.nodes));
  switch (rule.kind) {
    case PageRule::Kind::system: return "as the system does it";
    case PageRule::Kind::prefer: return "on " + nodes + " while it has room";
    case PageRule::Kind::bind: return "on " + nodes + " only";
    case PageRule::Kind::interleave: return "interleaved over " + nodes;
  }
  return {};
}

std::string RecordedPageCalls::set_rule(std::byte* begin, std::size_t bytes, const PageRule& rule) {
  const std::lock_guard guard(mutex_);
  calls_.push_back({bytes, rule, false});
  ranges_.push_back({begin, bytes, rule});
  return {};
}

std::string RecordedPageCalls::ask_for_large_pages(std::byte*, std::size_t bytes) {
  const std::lock_guard guard(mutex_);
  calls_.push_back({bytes, {}, true});
  return {};
}

PagesFound RecordedPageCalls::find_pages(const std::byte* begin, std::size_t bytes, std::size_t most) {
  constexpr std::size_t page = 4096;
  const std::lock_guard guard(mutex_);
  PagesFound found;
  for (const std::size_t p : sample_pages(bytes / page, most)) {
    const std::byte* at = begin + p * page;
    const auto range = std::find_if(ranges_.rbegin(), ranges_.rend(),
                                    [&](const Range& r) { return r.begin <= at && at < r.begin + r.bytes; });
    if (range == ranges_.rend() || range->rule.nodes.empty()) continue;
    const std::size_t number = static_cast<std::size_t>(at - range->begin) / page;
    const auto node = static_cast<std::size_t>(range->rule.nodes[number % range->rule.nodes.size()]);
    if (found.by_node.size() <= node) found.by_node.resize(node + 1, 0);
    ++found.by_node[node];
    ++found.looked_at;
  }
  return found;
}

std::vector<RecordedPageCalls::Call> RecordedPageCalls::calls() const {
  const std::lock_guard guard(mutex_);
  return calls_;
}

}  // namespace sial
