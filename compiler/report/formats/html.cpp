// The report as one page that needs nothing else: page.html with the report's JSON in it.

#include "compiler/report/formats/page.h"
#include "compiler/report/model.h"

namespace sial::report {
namespace {

/// JSON inside a script element: `<` may begin its end.
std::string for_script(const std::string& json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    if (c == '<') out += "\\u003c";
    else out += c;
  }
  return out;
}

}  // namespace

std::string to_html(const Report& report) {
  constexpr std::string_view mark = "@REPORT@";
  const std::string_view page = page_html;
  const std::size_t at = page.find(mark);
  return std::string(page.substr(0, at)) + for_script(to_json(report)) + std::string(page.substr(at + mark.size()));
}

}  // namespace sial::report
