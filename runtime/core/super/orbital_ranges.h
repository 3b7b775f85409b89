#pragma once
// Whether the blocks that a super instruction takes for occupied or virtual orbitals hold such: what the compiler
// cannot see where an index runs over both (1:eavirt) is checked when the block is there. A job without the customary
// ints (baocc, eaocc, bavirt, eavirt; bbocc .. for beta, bocc .. for moindex) is not checked.

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/core/base/argument_rules.h"
#include "runtime/core/super/registry.h"

namespace sial {

class OrbitalRanges {
 public:
  explicit OrbitalRanges(const JobData& job);
  /// Throws SialError when two dimensions of a pair with strict rules certainly hold orbitals of one sort, and the
  /// block has more than this pair: exchanged pairs change a sign, and a single pair may be of one sort on purpose.
  void check(std::string_view instruction, std::span<const SuperArg> args, std::span<const ArgumentRule> rules) const;

 private:
  struct Ranges {
    bool known = false;
    std::int32_t last_occupied = 0, first_virtual = 0, last_virtual = 0;  // segments
    std::int64_t occupied_orbitals = 0, virtual_from = 0,
                 virtual_end = 0;  // numbers from 0: occupied below the first, virtual between the others
  };
  OrbitalRange side(const SuperArg& arg, int dimension) const;

  std::array<Ranges, 3> ranges_;  // moa, mob, mo
};

/// The rules of a super instruction that are checked at run time; empty for all others. By lower-case name.
std::span<const ArgumentRule> orbital_rules(std::string_view name);

}  // namespace sial
