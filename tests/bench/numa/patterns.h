#pragma once
// The patterns of accesses, from one that the first cache serves to one in which no cache and no prefetcher helps, in
// the order of the published measurement. An access is one load of eight bytes.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tests/bench/numa/lines.h"

namespace sial::bench {

struct Visit {
  std::uint64_t accesses = 0;
  std::uint64_t sum = 0;
  std::size_t end = 0;  // where a cycle has ended: it must be its beginning, line 0
};

/// How much of it a pattern visits: all lines once, or those that stay in the first cache again and again.
struct VisitedArray {
  std::span<const Line> lines;
  std::size_t cached_lines = 0;
  std::uint64_t cached_passes = 0;
};

struct Pattern {
  std::string_view name;
  std::string_view helped_by;           // what still makes its accesses fast
  std::array<double, 3> published;      // seconds per access on two sockets: local, interleaved, remote
  Visit (*visit)(const VisitedArray&);  // visits all that the pattern visits once
};
std::span<const Pattern> patterns();

/// Empty, or what is wrong with what was visited: a word was not read, or another than the one that was meant.
std::string wrong_visit(const Pattern& pattern, const VisitedArray& array, const LineOrders& orders,
                        const Visit& visit);

}  // namespace sial::bench
