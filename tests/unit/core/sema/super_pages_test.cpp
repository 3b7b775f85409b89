// Every super instruction has a page that fits its signatures; names are found by resemblance.
#include <catch2/catch.hpp>

#include <algorithm>
#include <set>
#include <sstream>

#include "compiler/sema/super_table.h"

using namespace sial;

TEST_CASE("every super instruction explains itself") {
  for (const SuperPage& page : super_pages()) {
    INFO(page.name);
    std::istringstream signatures{std::string(page.signatures)};
    std::size_t longest = 0;
    for (std::string one; signatures >> one;) longest = std::max(longest, one == "-" ? 0 : one.size());
    CHECK(page.arguments.size() == longest);
    CHECK(!page.meaning.empty());
    std::set<std::string> names;
    for (const ArgumentRule& argument : page.arguments) {
      INFO(argument.name);
      CHECK((names.insert(argument.name).second || argument.name == "any"));
      CHECK(!argument.name.empty());
      CHECK(argument.name.find_first_of("[]: ") == std::string::npos);
      CHECK(!argument.text.empty());
      CHECK((argument.scalar + argument.any_shape + !argument.same_as.empty() + !argument.shapes.empty()) == 1);
      if (!argument.same_as.empty())
        CHECK(std::any_of(page.arguments.begin(), page.arguments.end(), [&](const ArgumentRule& other) {
          return other.name == argument.same_as && &other < &argument;
        }));
    }
    const std::string text = explain_super(page);
    CHECK(text.find(std::string(page.name) + " (super instruction)") == 0);
    CHECK(text.find(std::string("special ") + std::string(page.name)) != std::string::npos);
    CHECK(list_super_instructions().find(std::string(page.name) + " ") != std::string::npos);
  }
}

#ifdef SIALX_CHEMISTRY
TEST_CASE("the page of a denominator names what every dimension holds") {
  const SuperPage* page = find_super_page("Energy_Denominator_RHF");
  REQUIRE(page != nullptr);
  const std::string text = explain_super(*page);
  for (const char* part : {"special energy_denominator_rhf ur", "1  t[virt!,occ!..]: read and written",
                           "dimensions 1, 3, 5, 7: virtual orbitals; pairs of one sort are an error from rank 4 on",
                           "dimensions 2, 4, 6, 8: occupied orbitals", "2  fock[mo:p,mo:p|mo:p]: read",
                           "e_i + e_j + .. - e_a - e_b", "Moller"})
    CHECK(text.find(part) != std::string::npos);
}
#endif

TEST_CASE("shapes of the table") {
  const std::vector<ArgumentRule> rules =
      argument_rules("t[virt!:a,occ!..]: amplitudes\nx[p,p|p]: energies\ny[*]: any\nz[=y]: such\nomega: a number");
  REQUIRE(rules.size() == 5);
  CHECK(rules[0].of_rank(2).size() == 2);
  CHECK(rules[0].of_rank(6)[4].range == OrbitalRange::virtual_);
  CHECK(rules[0].of_rank(6)[4].label == "a");
  CHECK(rules[0].of_rank(6)[5].strict);
  CHECK_FALSE(rules[0].accepts_rank(3));
  CHECK_FALSE(rules[0].accepts_rank(10));
  CHECK(rules[1].accepts_rank(1));
  CHECK_FALSE(rules[1].accepts_rank(3));
  CHECK(rules[1].of_rank(2)[1].label == "p");
  CHECK(rules[2].any_shape);
  CHECK(rules[2].accepts_rank(4));
  CHECK(rules[3].same_as == "y");
  CHECK(rules[4].scalar);
  CHECK(rules[4].text == "a number");
  CHECK(argument_rules("").empty());
}

TEST_CASE("misspelt super instructions are found") {
#ifdef SIALX_CHEMISTRY
  CHECK(similar_super_instructions("energy_denominator_rfh").front() == "energy_denominator_rhf");
#endif
  CHECK(similar_super_instructions("eigencalc").front() == "eigen_calc");
  CHECK(similar_super_instructions("diis").front() == "compute_diis");
  CHECK(similar_super_instructions("qqqqqqqqqqqq").empty());
}
