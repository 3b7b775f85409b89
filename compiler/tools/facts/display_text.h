#pragma once
// Facts as an editor shows them: a few words after a line, and pages for the pointer. Texts end without a line break.

#include <string>

#include "compiler/tools/facts/facts.h"

namespace sial::facts {

/// "8.2 MB, 3.1 Gflop x 120 | 12.3 s, waits 4.1 s | missed: ...": bytes of the blocks and operations of one execution,
/// times executions; time and waiting of a mean rank in the last run, if it is a thousandth of the program's; the
/// heaviest missed remark. Empty: nothing is known of the line.
std::string inlay(const Facts& facts, LineKey line);

/// All that is known of a line, in several lines; empty: nothing.
std::string hover(const Facts& facts, LineKey line);

/// The text for an array, by its name in lower case: extents, blocks and bytes, where it is used, and in which phases.
std::string array_hover(const Facts& facts, const std::string& name);

/// "distributed, 4 x 3 blocks, 98 kB": after its declaration. Empty without numbers.
std::string array_inlay(const Facts& facts, const std::string& name);

}  // namespace sial::facts
