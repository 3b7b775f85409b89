// The sources of a run's programs, kept in run.json: a report can then compile them again, whatever becomes of the
// files.

#include <utility>

#include "runtime/core/base/input_file.h"
#include "runtime/core/base/sha256.h"
#include "runtime/core/stats/stats.h"

namespace sial {

void add_sources(ProgramFacts& program) {
  std::vector<std::string> texts;
  Sha256 hash;
  for (const std::string& file : program.files) {
    std::string problem, text = read_file(file, input_limit::source, problem);
    if (!problem.empty()) return;
    hash.update(text);
    texts.push_back(std::move(text));
  }
  if (hash.hex() == program.source_hash) program.sources = std::move(texts);
}

}  // namespace sial
