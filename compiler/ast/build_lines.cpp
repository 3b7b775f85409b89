#include "compiler/ast/build_lines.h"

namespace sial::parsing {

void diagnose_lines(const std::vector<Line>& lines, const SourceManager&, FileId file, Emitter& emitter) {
  const Span place = lines.empty() ? Span{file, 0, 1} : Span{file, lines.front().tokens.front().begin, lines.front().tokens.front().end};
  emitter.report(Code::E_SYNTAX, place, "the file is not a well-formed program");
}

}  // namespace sial::parsing
