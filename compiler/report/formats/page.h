#pragma once
// page.html as text; the build makes the definition from the file.

#include <string_view>

namespace sial::report {

extern const std::string_view page_html;

}  // namespace sial::report
