#pragma once
// The lines of a text that are those of an earlier version of it. A line is the same only where nothing speaks against
// it: it stands in the same order between lines that are the same, its text is not also that of a line which came or
// went, and the headers of the blocks around it are the same lines too. A number of the old version may then stand
// beside the new line.

#include <string_view>
#include <vector>

namespace sial::facts {

/// For each line of `now` (the first is 1, entry 0 is unused) its number in `before`; 0: it is new, was changed, or
/// nobody knows.
std::vector<int> same_lines(std::string_view before, std::string_view now);

}  // namespace sial::facts
