// The table of diagnostics is complete and consistent; codes are found by name and by resemblance.

#include <catch2/catch.hpp>

#include <algorithm>
#include <set>

#include "compiler/diag/table.h"

using namespace sial;

TEST_CASE("every row explains itself") {
  std::set<std::string_view> names;
  int position = 0;
  for (const DiagnosticRow& row : diagnostic_rows()) {
    INFO(row.name);
    CHECK(static_cast<int>(row.code) == position++);
    CHECK(names.insert(row.name).second);
    CHECK(row.name.substr(0, 2) == (row.severity == Severity::error ? "E-" : "W-"));
    CHECK(row.name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") == std::string_view::npos);
    CHECK(!row.title.empty());
    CHECK(row.title.back() != '.');
    CHECK(row.explanation.size() > 20);
    CHECK(row.explanation.back() == '.');
    CHECK(!row.example.empty());
    CHECK((row.severity == Severity::warning || row.group.empty()));
    const std::string text = explain(row);
    CHECK(text.find(row.name) == 0);
    CHECK(text.find("Example:") != std::string::npos);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      CHECK(end - at <= 120);
      at = end + 1;
    }
  }
}

TEST_CASE("rows are found whatever the case") {
  REQUIRE(find_row("e-dup") != nullptr);
  CHECK(find_row("E-DUP")->code == Code::E_DUP);
  CHECK(find_row("E-NO-SUCH-ROW") == nullptr);
  CHECK(row_of(Code::W_UNUSED_ARRAY).name == "W-UNUSED-ARRAY");
}

TEST_CASE("unknown codes suggest close ones") {
  CHECK(similar_codes("E-DPU").front() == "E-DUP");
  const auto unused = similar_codes("unused-arr");
  CHECK(std::find(unused.begin(), unused.end(), "W-UNUSED-ARRAY") != unused.end());
  CHECK(similar_codes("completely different").empty());
}

TEST_CASE("the list names every row") {
  const std::string list = explain_list();
  for (const DiagnosticRow& row : diagnostic_rows()) CHECK(list.find(std::string(row.name) + " ") != std::string::npos);
}

TEST_CASE("edit distance counts an exchange of neighbours once") {
  CHECK(edit_distance("enddo", "enddo") == 0);
  CHECK(edit_distance("endo", "enddo") == 1);
  CHECK(edit_distance("edndo", "enddo") == 1);
  CHECK(edit_distance("sail", "sial") == 1);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("abc", "xyz") == 3);
}
