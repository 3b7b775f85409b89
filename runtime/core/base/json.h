#pragma once
// JSON whose keys keep their order. Texts are read and written here and nowhere else: that code is compiled once, not in
// each file that has a value.

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace sial {

using Json = nlohmann::ordered_json;

/// Json::parse_error for what is none, or is nested so deeply that writing it would overflow the stack; without `throws`
/// a value of no type.
Json parse_json(std::string_view text, bool throws = true);

/// A line for each value, or with `indent` -1 one line. Bytes that are no UTF-8 become replacement characters.
std::string json_text(const Json& value, int indent = 1,
                      Json::error_handler_t no_utf8 = Json::error_handler_t::replace);

}  // namespace sial
