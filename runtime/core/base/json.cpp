#include "runtime/core/base/json.h"

namespace sial {

Json parse_json(std::string_view text, bool throws) { return Json::parse(text, nullptr, throws); }

std::string json_text(const Json& value, int indent, Json::error_handler_t no_utf8) {
  return value.dump(indent, ' ', false, no_utf8);
}

}  // namespace sial
