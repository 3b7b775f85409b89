#pragma once
// A super instruction's rules for its arguments, read from its row in runtime/core/super/super_arguments.def, which
// describes the form. The compiler, sialrun and the pages of `sialc --explain` all go by them.

#include <string>
#include <string_view>
#include <vector>

namespace sial {

enum class OrbitalRange { any, ao, mo, alpha, beta, occupied, virtual_ };

struct DimensionRule {
  OrbitalRange range = OrbitalRange::any;
  bool strict = false;  // `!`: certain faults are errors
  std::string label;    // dimensions of one label have the same extent; empty: none
};

struct ArgumentRule {
  std::string name, text;
  bool scalar = false;
  bool any_shape = false;                          // `*`
  std::string same_as;                             // `=x`: the argument whose shape it has
  std::vector<std::vector<DimensionRule>> shapes;  // alternatives; empty for the sorts above
  bool repeats = false;                            // `..`: the one shape once or several times
  std::string dimensions;                          // as written

  /// The dimensions of an argument of this rank; empty when there are none of it, or none are given.
  std::vector<DimensionRule> of_rank(int rank) const;
  bool accepts_rank(int rank) const { return shapes.empty() || !of_rank(rank).empty(); }
};

std::vector<ArgumentRule> argument_rules(std::string_view text);

/// "occupied orbitals", "basis functions".
std::string_view range_words(OrbitalRange range);

}  // namespace sial
