#pragma once
// The grammar's rules for single lines, as functions of the generated parser. Private to the parser.

#include <SialParser.h>

#include "compiler/ast/build_probe.h"

namespace sial::parsing {

/// Runs one rule from the parser's current token on.
antlr4::ParserRuleContext* run_rule(SialParser& parser, LineRule rule);

}  // namespace sial::parsing
