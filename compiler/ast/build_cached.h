#pragma once
// A file put together from the trees of its lines, which a LineTrees keeps. Private to the parser.

#include <optional>
#include <string_view>
#include <vector>

#include "compiler/ast/build_probe.h"
#include "compiler/ast/build_tokens.h"
#include "compiler/ast/build_tree.h"
#include "compiler/ast/line_trees.h"

namespace sial::parsing {

struct CachedLine;

/// The lines of a file that hold tokens, with places in the file, and what is kept of each of them.
struct CachedLines {
  std::vector<Line> lines;
  std::vector<CachedLine*> cached;    // beside `lines`; valid until the next call of lex_cached
  std::vector<std::uint32_t> begins;  // where the text of each begins
};

CachedLines lex_cached(std::string_view text, LineTrees& trees);

/// No module: the grammar refuses a line, or the lines do not make a program.
BuiltModule build_from_lines(const CachedLines& lines, std::string_view text, FileId file, ast::NodeId& next_id,
                             LineTrees& trees);

ProbeMemo& probe_memo(LineTrees& trees);

}  // namespace sial::parsing
