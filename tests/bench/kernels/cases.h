#pragma once
// What is measured: contractions D[d] = A[a] * B[b] + beta * D[d], each label a letter with an extent, first index
// fastest. The lists are data only; nothing here computes.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace bench {

/// full: what is reported. quick: the same shapes, smaller and fewer. tiny: seconds for everything, for the test that
/// checks numbers.
enum class Size { full, quick, tiny };

struct Case {
  std::string group;    // cases that share a geometric mean
  std::string name;     // the shape
  std::string setting;  // its extents in words
  std::string d, a, b;
  std::map<char, std::int64_t> extent;
  double beta = 0.0;
};

/// The 48 contractions of the public TCCG benchmark; groups intensli, ao2mo, ccsd, ccsd_t.
std::vector<Case> tccg_cases(Size size);

/// Blocks of SIAL programs at the segment sizes users choose; the group is the kind of contraction.
std::vector<Case> sial_cases(Size size);

/// The same at segments of these extents, of these groups only.
std::vector<Case> sial_cases(const std::vector<std::int64_t>& segments, const std::vector<std::string>& groups);

}  // namespace bench
