#include "compiler/tools/program/lsp.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "compiler/diag/warning_words.h"
#include "compiler/tools/lsp/stdio.h"
#include "runtime/core/base/error.h"
#include "runtime/core/base/printable.h"
#include "runtime/program/manual/command_line.h"

namespace sial {
namespace {

std::string pages_folder(const std::string& version) {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  if (cache && *cache == '/') return fmt::format("{}/sialx/{}/explain", cache, version);
  return home && *home == '/' ? fmt::format("{}/.cache/sialx/{}/explain", home, version) : std::string();
}

}  // namespace

int lsp_main(int argc, char** argv, const std::string& version, lsp::Providers providers) {
  lsp::Server::Settings settings;
  settings.version = version;
  settings.pages = pages_folder(version);
  std::vector<std::string> search_paths, warnings;
  bool stdio = false;
  CommandLine app{"sialc lsp: a language server for editors, on standard input and output", "sialc lsp"};
  app.add_option("-I", settings.include_dirs, "directory to search for imported files (repeatable)")
      .type_name("FOLDER");
  app.add_option("--search-path", search_paths, "directories to search, separated by colons");
  app.add_option("-W", warnings, "-WGROUP, -Wno-GROUP, -Werror, -Werror=GROUP");
  app.add_flag("-w", settings.warnings.none, "no warnings");
  app.add_flag("--stdio", stdio, "as it is anyway: some editors say so");
  app.footer(
      "Started by an editor, not by hand. The manual has the lines of configuration for some editors: compiler/tools/lsp/README.md.");
  try {
    app.parse({argv + 1, argv + argc});
  } catch (const CommandLine::HelpAsked&) { return app.show_help(); } catch (const CommandLine::Error& error) {
    fmt::print(stderr, "sialc: error: {}; `sialc lsp --help` shows the options\n", printable(error.what()));
    return exit_input_error;
  }
  for (const std::string& list : search_paths)
    for (std::size_t begin = 0; begin < list.size();) {
      const std::size_t end = std::min(list.find(':', begin), list.size());
      if (end > begin) settings.include_dirs.push_back(list.substr(begin, end - begin));
      begin = end + 1;
    }
  if (const std::string problem = read_warnings(warnings, settings.warnings); !problem.empty()) {
    fmt::print(stderr, "sialc: error: {}\n", printable(problem));
    return exit_input_error;
  }
  return lsp::serve(STDIN_FILENO, STDOUT_FILENO, std::move(settings), std::move(providers));
}

}  // namespace sial
