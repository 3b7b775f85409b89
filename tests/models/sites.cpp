#include "tests/models/sites.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "tests/unit/main/source_path.h"

namespace sial::models {

namespace {

struct Named {
  std::string_view word;
  std::memory_order order;
};
constexpr std::array<Named, 5> orders{{{"relaxed", std::memory_order_relaxed},
                                       {"acquire", std::memory_order_acquire},
                                       {"release", std::memory_order_release},
                                       {"acq_rel", std::memory_order_acq_rel},
                                       {"seq_cst", std::memory_order_seq_cst}}};

std::string text_of(const std::string& file) {
  std::ifstream in(source_path(file));
  if (!in) throw std::runtime_error("cannot read " + file);
  return {std::istreambuf_iterator<char>(in), {}};
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// `memory_order_X`, or one of the names that files give to the relaxed one.
std::vector<std::memory_order> named_in(std::string_view text) {
  std::vector<std::memory_order> found;
  for (std::size_t at = 0; at < text.size();) {
    if (!is_word(text[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && is_word(text[end])) ++end;
    const std::string_view word = text.substr(at, end - at);
    at = end;
    if (word == "relaxed" || word == "relaxed_order") found.push_back(std::memory_order_relaxed);
    for (const Named& n : orders)
      if (word == "memory_order_" + std::string(n.word)) found.push_back(n.order);
  }
  return found;
}

}  // namespace

std::string_view order_name(std::memory_order order) {
  for (const Named& n : orders)
    if (n.order == order) return n.word;
  return "?";
}

Orders orders_in(std::string_view text) {
  const std::vector<std::memory_order> found = named_in(text);
  if (found.empty()) throw std::logic_error("no order in: " + std::string(text));
  if (text.find("compare_exchange") == std::string_view::npos) return {found.back()};
  if (found.size() == 2) return {found[0], found[1]};
  // One order: that of a failure follows from it.
  const std::memory_order one = found.back();
  return {one, one == std::memory_order_acq_rel   ? std::memory_order_acquire
               : one == std::memory_order_release ? std::memory_order_relaxed
                                                  : one};
}

std::vector<std::memory_order> weaker_orders(const Site& site) {
  switch (site.orders.order) {
    case std::memory_order_acquire:
    case std::memory_order_release: return {std::memory_order_relaxed};
    case std::memory_order_acq_rel:
      return {std::memory_order_acquire, std::memory_order_release, std::memory_order_relaxed};
    default: return {};
  }
}

std::string on_one_line(std::string_view text) {
  std::string line;
  for (const char c : text) {
    const bool space = c == ' ' || c == '\n' || c == '\t';
    if (!space) line.push_back(c);
    else if (!line.empty() && line.back() != ' ') line.push_back(' ');
  }
  return line;
}

bool stands_in_source(const Site& site) {
  return on_one_line(text_of(site.file)).find(on_one_line(site.text)) != std::string::npos;
}

std::vector<std::string> ordered_statements(std::string_view source) {
  std::vector<std::string> found;
  const std::string text = on_one_line(source);
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find(';', from), text.size());
    const std::string statement = text.substr(from, end - from);
    from = std::min(text.find_first_not_of(' ', end + 1), text.size());
    for (const std::memory_order o : named_in(statement))
      if (o != std::memory_order_relaxed) {
        found.push_back(statement);
        break;
      }
  }
  return found;
}

std::vector<std::string> ordered_statements_in(const std::string& file) { return ordered_statements(text_of(file)); }

}  // namespace sial::models
