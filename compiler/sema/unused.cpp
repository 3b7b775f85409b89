#include "compiler/sema/unused.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "compiler/sema/fixes.h"

namespace sial::sema {

namespace {

constexpr std::size_t listed = 8;  // names spelled out in one message

Fix without_declarations(const CheckedProgram& program, const std::vector<SymbolId>& ids, std::string title) {
  std::vector<Span> declarations;
  declarations.reserve(ids.size());
  for (const SymbolId id : ids) declarations.push_back(program.symbol(id).decl->span);
  // Offered only: other programs may import the file, and comments go with the lines.
  return offered(remove_lines(std::move(title), std::move(declarations)));
}

void warn(const CheckedProgram& program, Emitter& emitter, Code code, const char* one, const char* many,
          const char* verb, const char* hint, const std::vector<SymbolId>& ids) {
  if (ids.size() <= 3) {
    for (const SymbolId id : ids)
      emitter
          .report(code, program.symbol(id).span, fmt::format("{} `{}` is never {}", one, program.symbol(id).text, verb),
                  hint)
          .fix(without_declarations(program, {id}, fmt::format("remove `{}`", program.symbol(id).text)));
    return;
  }
  // Long lists come from declarations copied between programs: one message says it all.
  std::string names;
  for (std::size_t i = 0; i < std::min(ids.size(), listed); ++i)
    names += fmt::format("{}`{}`", i == 0 ? "" : ", ", program.symbol(ids[i]).text);
  if (ids.size() > listed) names += fmt::format(" and {} more", ids.size() - listed);
  emitter
      .report(code, program.symbol(ids.front()).span,
              fmt::format("{} {} are never {}: {}", ids.size(), many, verb, names), hint)
      .fix(without_declarations(program, ids, fmt::format("remove the {} declarations", ids.size())));
}

}  // namespace

void warn_unused(const CheckedProgram& program, const std::vector<Routine>& routines, Emitter& emitter) {
  const int main = static_cast<int>(program.compilation->modules.size()) - 1;
  std::map<std::string, const Symbol*> data;
  for (const Symbol& s : program.symbols) {
    if (s.hidden || (s.kind != SymbolKind::array && s.kind != SymbolKind::int_ && s.kind != SymbolKind::scalar))
      continue;
    const auto [known, added] = data.emplace(s.name, &s);
    if (added || known->second->module == s.module) continue;
    Diagnostic& d = emitter.report(
        Code::W_NAME_COLLISION, s.span, fmt::format("another module of this program declares `{}` too", s.text),
        "predefined values and tables are found by plain name at run time: rename one of them");
    d.notes.push_back({known->second->span, fmt::format("`{}` is also declared here", known->second->text)});
  }

  const ast::Module& module = *program.compilation->modules.back();
  const bool has_code = !module.statements.empty() ||
                        std::any_of(routines.begin(), routines.end(),
                                    [&](const Routine& r) { return r.module == main && r.proc != no_symbol; });
  if (!has_code) return;  // a file of definitions
  std::set<SymbolId> used;
  for (const auto& [name, id] : program.names) {
    const Symbol& s = program.symbol(id);
    // The declaration's own name and the closing name are no uses.
    if (name->span.file == s.span.file && name->span.begin == s.span.begin) continue;
    used.insert(id);
  }
  for (const Routine& routine : routines)  // a procedure calling itself is still unused
    if (routine.proc != no_symbol) used.erase(routine.proc);
  for (const Routine& routine : routines)
    for (const CallSite& call : routine.calls)
      if (call.proc != routine.proc) used.insert(call.proc);

  std::map<SymbolKind, std::vector<SymbolId>> unused;
  for (const Symbol& s : program.symbols)
    if (s.module == main && !s.hidden && s.kind != SymbolKind::program && used.count(s.id) == 0)
      unused[s.kind == SymbolKind::subindex ? SymbolKind::index : s.kind].push_back(s.id);
  warn(program, emitter, Code::W_UNUSED_ARRAY, "array", "arrays", "used", "", unused[SymbolKind::array]);
  warn(program, emitter, Code::W_UNUSED_PROC, "procedure", "procedures", "called", "no code is made for it",
       unused[SymbolKind::proc]);
  warn(program, emitter, Code::W_UNUSED_SPECIAL, "special", "specials", "executed", "", unused[SymbolKind::special]);
  warn(program, emitter, Code::W_UNUSED_INDEX, "index", "indices", "used", "", unused[SymbolKind::index]);
  warn(program, emitter, Code::W_UNUSED_SCALAR, "scalar", "scalars", "used", "", unused[SymbolKind::scalar]);
  warn(program, emitter, Code::W_UNUSED_INT, "int", "ints", "used", "", unused[SymbolKind::int_]);
}

}  // namespace sial::sema
