#include "compiler/program/sialc_command.h"
#include "compiler/tools/program/format.h"
#include "compiler/tools/program/hints.h"
#include "compiler/tools/program/lsp.h"
#include "compiler/tools/program/providers.h"

namespace {

using namespace sial;

int serve_editor(int argc, char** argv) { return lsp_main(argc, argv, SIALX_VERSION, language_providers()); }

std::optional<std::string> hints(const HintQuestion& question, SourceManager& sources, Emitter& emitter) {
  HintRequest request;
  request.path = question.path;
  request.options = question.options;
  request.job_file = question.job_file;
  request.run_file = question.run_file;
  if (question.numbers) request.job = values_of(*question.numbers);
  const std::optional<facts::Facts> facts = hints_of(request, sources, emitter);
  if (!facts) return {};
  return hints_text(*facts, question.long_texts);
}

constexpr Tools tools{run_format, serve_editor, hints};

}  // namespace

int main(int argc, char** argv) { return sial::sialc_main(argc, argv, &tools); }
