#include "compiler/sema/labels.h"

#include <algorithm>

namespace sial::sema {

bool contains(const std::vector<Label>& labels, const Label& label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

bool has_repeat(const std::vector<Label>& labels) {
  for (std::size_t i = 0; i < labels.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (labels[i] == labels[j]) return true;
  return false;
}

bool same_set(const std::vector<Label>& a, const std::vector<Label>& b) {
  return a.size() == b.size() && !has_repeat(a) && !has_repeat(b) &&
         std::all_of(a.begin(), a.end(), [&](const Label& label) { return contains(b, label); });
}

bool trailing_simple(const std::vector<Label>& a, const std::vector<Label>& b, const std::vector<Symbol>& symbols) {
  const std::vector<Label>&longer = a.size() > b.size() ? a : b, &shorter = a.size() > b.size() ? b : a;
  if (!std::equal(shorter.begin(), shorter.end(), longer.begin())) return false;
  return std::all_of(longer.begin() + static_cast<std::ptrdiff_t>(shorter.size()), longer.end(),
                     [&](const Label& label) {
                       const Symbol& s = symbols[static_cast<std::size_t>(label.index)];
                       return label.simple || (s.kind == SymbolKind::index && s.index_kind == ast::IndexKind::simple);
                     });
}

}  // namespace sial::sema
