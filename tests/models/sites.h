#pragma once
// Atomic accesses of the program, as its models know them: a site is a file and the text of an access in it, and the
// orders of the model's access are read from that text. A test sees that the file has it, so that a model cannot be of
// other orders than the program. Orders are weakened by the site's name.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tests/models/program.h"

namespace sial::models {

struct Site {
  std::string name, file, text;
  Orders orders{std::memory_order_relaxed};
};

/// Orders that stand in `text`: the last one; of a compare_exchange both.
Orders orders_in(std::string_view text);
/// Those weaker than the site's: tried in turn.
std::vector<std::memory_order> weaker_orders(const Site& site);
std::string_view order_name(std::memory_order order);

/// Without line ends, and with single spaces.
std::string on_one_line(std::string_view text);
bool stands_in_source(const Site& site);
/// Statements of a text that name an order which is not relaxed, each on one line.
std::vector<std::string> ordered_statements(std::string_view text);
/// Those of a file of the program.
std::vector<std::string> ordered_statements_in(const std::string& file);

/// By the site's name: the order that takes the place of its own.
using Weakening = std::map<std::string, std::memory_order>;

}  // namespace sial::models
