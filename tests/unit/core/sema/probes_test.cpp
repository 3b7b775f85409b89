// The conformance probes of probes.txt: "== name: verdict" and a program, or a fragment that is the main body of the
// program begun by the prologue. The verdict is `accept` or the error codes, then any warnings that must appear.

#include <catch2/catch.hpp>

#include <algorithm>
#include <sstream>

#include "tests/unit/core/sema/check_program.h"
#include "tests/unit/main/source_path.h"

using namespace sial;

namespace {

const char* const prologue = R"(sial p
predefined int norb
aoindex i = 1:norb
aoindex j = 1:norb
aoindex l = 1:norb
moindex m = 1:norb
index k = 1:5
index k2 = 1:5
subindex ii of i
temp a[i,j]
temp b[i,j]
temp c[j,l]
temp d[i,l]
temp v[k]
temp w[k2]
temp am[i,m]
temp a3[i,j,k]
local lo[i,j]
contiguous local cl[i,j]
static s[i,j]
distributed g[i,j]
served h[i,j]
distributed gs[ii,j]
scalar x
scalar y
int n
special f1 r
special f2 rw
)";

struct Probe {
  std::string name, text;
  std::vector<std::string> verdict;
};

std::vector<Probe> read_probes() {
  std::ifstream file(source_path("tests/unit/core/sema/probes.txt"));
  std::vector<Probe> probes;
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind("## ", 0) == 0) continue;
    if (line.rfind("== ", 0) != 0) {
      if (!probes.empty()) probes.back().text += line + "\n";
      continue;
    }
    const std::size_t colon = line.find(':');
    Probe probe{line.substr(3, colon - 3), "", {}};
    std::istringstream words(line.substr(colon + 1));
    for (std::string word; words >> word;) probe.verdict.push_back(word);
    probes.push_back(std::move(probe));
  }
  return probes;
}

bool whole_file(const std::string& text) {
  std::istringstream words(text);
  std::string word;
  words >> word;
  std::transform(word.begin(), word.end(), word.begin(),
                 [](unsigned char ch) { return static_cast<char>(std::tolower(ch)); });
  return word == "sial" || word == "import" || word[0] == '#';
}

}  // namespace

TEST_CASE("the conformance probes get their verdicts") {
  const std::vector<Probe> probes = read_probes();
  REQUIRE(probes.size() == 303);
  const test::TemporaryFolder folder;
  for (const Probe& probe : probes)
    folder.write(probe.name + ".sialx", whole_file(probe.text) ? probe.text : prologue + probe.text + "endsial p\n");
  for (const Probe& probe : probes) {
    std::vector<std::string> errors, warnings;
    for (const std::string& word : probe.verdict)
      if (word != "accept") (word[0] == 'E' ? errors : warnings).push_back(word);
    const test::Checked checked(folder.write(
        probe.name + ".sialx", whole_file(probe.text) ? probe.text : prologue + probe.text + "endsial p\n"));
    std::string messages;
    for (const Diagnostic& d : checked.emitter.all())
      messages += std::string(row_of(d.code).name) + ": " + d.message + "\n";
    INFO(probe.name << "\n" << probe.text << "\n" << messages);
    CHECK(checked.codes(Severity::error) == errors);
    const std::vector<std::string> found = checked.codes(Severity::warning);
    for (const std::string& warning : warnings) CHECK(std::count(found.begin(), found.end(), warning) > 0);
    CHECK((checked.program != nullptr) == errors.empty());
  }
}
