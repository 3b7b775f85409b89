#include "compiler/sema/text.h"

namespace sial::sema {

const char* index_word(ast::IndexKind kind) {
  switch (kind) {
    case ast::IndexKind::ao: return "aoindex";
    case ast::IndexKind::mo: return "moindex";
    case ast::IndexKind::moa: return "moaindex";
    case ast::IndexKind::mob: return "mobindex";
    case ast::IndexKind::la: return "laindex";
    case ast::IndexKind::simple: return "index";
  }
  return "index";
}

std::string an_index_word(ast::IndexKind kind) {
  const std::string word = index_word(kind);
  return (word.front() == 'a' || word.front() == 'i' ? "an " : "a ") + word;
}

std::string array_word(const Symbol& array) {
  const std::string prefix = array.contiguous && array.array_kind == ast::ArrayKind::local ? "contiguous " : "";
  switch (array.array_kind) {
    case ast::ArrayKind::static_: return "static";
    case ast::ArrayKind::temp: return "temp";
    case ast::ArrayKind::local: return prefix + "local";
    case ast::ArrayKind::distributed: return "distributed";
    case ast::ArrayKind::served: return "served";
  }
  return "temp";
}

std::string describe(const Symbol& symbol) {
  switch (symbol.kind) {
    case SymbolKind::program: return "the program's name";
    case SymbolKind::scalar: return "a scalar";
    case SymbolKind::int_: return symbol.predefined ? "a predefined int" : "an int";
    case SymbolKind::index: return an_index_word(symbol.index_kind);
    case SymbolKind::subindex: return "a subindex";
    case SymbolKind::array: return "a " + array_word(symbol) + " array";
    case SymbolKind::special: return "a special";
    case SymbolKind::proc: return "a procedure";
  }
  return "a name";
}

const char* op_word(ast::AssignOp op) {
  switch (op) {
    case ast::AssignOp::set: return "=";
    case ast::AssignOp::add: return "+=";
    case ast::AssignOp::subtract: return "-=";
    case ast::AssignOp::multiply: return "*=";
  }
  return "=";
}

std::string list_text(const std::vector<Label>& labels, const std::vector<Symbol>& symbols) {
  std::string text = "[";
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (i > 0) text += ',';
    if (labels[i].simple) text += "(index)";
    text += symbols[static_cast<std::size_t>(labels[i].index)].text;
  }
  return text + "]";
}

}  // namespace sial::sema
