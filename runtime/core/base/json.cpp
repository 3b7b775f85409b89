#include "runtime/core/base/json.h"

#include <cstddef>

namespace sial {
namespace {

constexpr int max_nested = 256;  // as in job files

/// The place at which values lie deeper within each other; the end of the text: nowhere.
std::size_t too_deep(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  std::size_t at = 0;
  for (; at < text.size() && depth <= max_nested; ++at) {
    const char c = text[at];
    if (c == '"') quoted = !quoted;
    else if (quoted) at += c == '\\';
    else if (c == '[' || c == '{') ++depth;
    else if (c == ']' || c == '}') --depth;
  }
  return depth > max_nested ? at : text.size();
}

}  // namespace

Json parse_json(std::string_view text, bool throws) {
  if (const std::size_t at = too_deep(text); at < text.size()) {
    if (throws) throw Json::parse_error::create(101, at, "values lie more than 256 deep within each other", nullptr);
    return Json::value_t::discarded;
  }
  return Json::parse(text, nullptr, throws);
}

std::string json_text(const Json& value, int indent, Json::error_handler_t no_utf8) {
  return value.dump(indent, ' ', false, no_utf8);
}

}  // namespace sial
