#pragma once
// The comparison of the index lists of two block references.

#include <vector>

#include "compiler/sema/text.h"

namespace sial::sema {

bool contains(const std::vector<Label>& labels, const Label& label);
/// Whether an index is named twice.
bool has_repeat(const std::vector<Label>& labels);
/// The same labels in any order, each once.
bool same_set(const std::vector<Label>& a, const std::vector<Label>& b);
/// Whether extra labels at the end of the longer list are all simple and the rest agrees in order.
bool trailing_simple(const std::vector<Label>& a, const std::vector<Label>& b, const std::vector<Symbol>& symbols);

}  // namespace sial::sema
