#include <numaif.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/core/numa/page_calls.h"

namespace sial {

namespace {

constexpr std::size_t page = 4096;
constexpr int max_nodes = 1024;  // of Linux
constexpr std::size_t word_bits = sizeof(unsigned long) * 8;
using NodeMask = std::array<unsigned long, max_nodes / word_bits>;

/// The whole pages within a range.
std::pair<std::byte*, std::size_t> whole_pages(std::byte* begin, std::size_t bytes) {
  const auto first = (reinterpret_cast<std::uintptr_t>(begin) + page - 1) / page * page;
  const auto end = (reinterpret_cast<std::uintptr_t>(begin) + bytes) / page * page;
  return {reinterpret_cast<std::byte*>(first), end > first ? end - first : 0};
}

/// The number in a line that begins at `at`; 0: there is none.
std::uint64_t number(std::string_view line, std::size_t at, int base) {
  std::uint64_t n = 0;
  if (at < line.size()) std::from_chars(line.data() + at, line.data() + line.size(), n, base);
  return n;
}

class SystemPageCalls final : public PageCalls {
 public:
  std::string set_rule(std::byte* begin, std::size_t bytes, const PageRule& rule) override {
    const auto [first, length] = whole_pages(begin, bytes);
    if (length == 0) return {};
    NodeMask mask{};
    for (const int node : rule.nodes) {
      if (node < 0 || node >= max_nodes) return "there is no such node";
      mask[static_cast<std::size_t>(node) / word_bits] |= 1UL << (static_cast<std::size_t>(node) % word_bits);
    }
    const int mode = rule.kind == PageRule::Kind::prefer       ? MPOL_PREFERRED
                     : rule.kind == PageRule::Kind::bind       ? MPOL_BIND
                     : rule.kind == PageRule::Kind::interleave ? MPOL_INTERLEAVE
                                                               : MPOL_DEFAULT;
    const bool named = rule.kind != PageRule::Kind::system;
    if (mbind(first, length, mode, named ? mask.data() : nullptr, named ? max_nodes : 0, 0) == 0) return {};
    return std::strerror(errno);
  }

  std::string ask_for_large_pages(std::byte* begin, std::size_t bytes) override {
    const auto [first, length] = whole_pages(begin, bytes);
    return length == 0 || madvise(first, length, MADV_HUGEPAGE) == 0 ? std::string() : std::strerror(errno);
  }

  std::int64_t bytes_in_large_pages(const std::byte* begin, std::size_t bytes) override {
    const auto first = reinterpret_cast<std::uintptr_t>(begin), end = first + bytes;
    std::ifstream mappings("/proc/self/smaps");
    std::int64_t found = 0;
    bool inside = false;
    for (std::string line; std::getline(mappings, line);) {
      if (const std::size_t dash = line.find('-'); dash != std::string::npos && dash < line.find(' ')) {
        inside = number(line, 0, 16) < end && number(line, dash + 1, 16) > first;
        continue;
      }
      for (const std::string_view name : {"AnonHugePages:", "ShmemPmdMapped:"})
        if (inside && line.starts_with(name))
          found += static_cast<std::int64_t>(number(line, line.find_first_not_of(' ', name.size()), 10)) * 1024;
    }
    return found;
  }

  PagesFound find_pages(const std::byte* begin, std::size_t bytes, std::size_t most) override {
    const auto [first, length] = whole_pages(const_cast<std::byte*>(begin), bytes);
    std::vector<void*> addresses;
    for (const std::size_t p : sample_pages(length / page, most)) addresses.push_back(first + p * page);
    std::vector<int> status(addresses.size(), -1);
    PagesFound found;
    if (addresses.empty()) return found;
    if (move_pages(0, addresses.size(), addresses.data(), nullptr, status.data(), 0) < 0) {
      found.problem = std::strerror(errno);
      return found;
    }
    for (const int node : status) {
      if (node < 0) continue;  // not there
      if (found.by_node.size() <= static_cast<std::size_t>(node))
        found.by_node.resize(static_cast<std::size_t>(node) + 1, 0);
      ++found.by_node[static_cast<std::size_t>(node)];
      ++found.looked_at;
    }
    return found;
  }
};

}  // namespace

std::shared_ptr<PageCalls> make_system_page_calls() { return std::make_shared<SystemPageCalls>(); }

}  // namespace sial
