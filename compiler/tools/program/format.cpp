#include "compiler/tools/program/format.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ast/imports.h"
#include "compiler/diag/render.h"
#include "compiler/tools/format/format.h"
#include "runtime/core/base/error.h"
#include "runtime/core/base/input_file.h"
#include "runtime/core/base/printable.h"
#include "runtime/core/base/rewrite_file.h"
#include "runtime/core/base/standard_output.h"
#include "runtime/program/manual/command_line.h"

namespace sial {
namespace {

struct Options {
  std::vector<std::string> inputs;
  std::string stdin_name = "<stdin>", error_format = "text";
  bool check = false, diff = false;
};

int usage_error(const std::string& message) {
  fmt::print(stderr, "sialc: error: {}\n", printable(message));
  return exit_input_error;
}

void show_diagnostics(const Emitter& emitter, const SourceManager& sources, bool json) {
  std::string out;
  if (json)
    for (const Diagnostic& d : in_source_order(emitter.all())) out += render_json(d, sources);
  else out = render_list(emitter.all(), sources);
  std::fputs(out.c_str(), stderr);
}

/// The text that an editor sends through a pipe, which read_source_file() refuses.
std::optional<std::string> read_standard_input(std::string& error) {
  std::string text;
  std::array<char, 1 << 16> piece{};
  while (const std::size_t size = std::fread(piece.data(), 1, piece.size(), stdin)) {
    text.append(piece.data(), size);
    if (static_cast<std::int64_t>(text.size()) > input_limit::source) {
      error = "it is larger than a source file may be";
      return std::nullopt;
    }
  }
  if (std::ferror(stdin) == 0) return text;
  error = std::strerror(errno);
  return std::nullopt;
}

/// Exit code.
int format_one(const std::string& input, const Options& options) {
  const bool from_stdin = input == "-";
  const std::string name = from_stdin ? options.stdin_name : input;
  std::string error;
  std::optional<std::string> text = from_stdin ? read_standard_input(error) : read_source_file(input, error);
  if (!text) return usage_error(fmt::format("cannot read `{}`: {}", name, error));
  SourceManager sources;
  const FileId file = sources.add(name, name, std::move(*text));
  Emitter emitter;
  const std::optional<format::Formatted> formatted = format::format_source(sources, file, emitter);
  if (!formatted) {
    show_diagnostics(emitter, sources, options.error_format == "json");
    return exit_program_error;
  }
  if (options.diff) {
    const std::string diff = format::unified_diff(sources.text(file), *formatted, printable_name(name));
    print_output(::isatty(STDOUT_FILENO) != 0 ? printable(diff) : diff);  // `patch` needs every byte
  }
  if (options.check && !formatted->edits.empty())
    fmt::print(stderr, "{}:{}: not in the usual style: `sialc format {}` changes it\n", printable_name(name),
               formatted->first_difference, printable_name(input));
  if (options.check) return formatted->edits.empty() ? exit_ok : exit_program_error;
  if (options.diff) return exit_ok;
  if (from_stdin) print_output(formatted->text);
  else if (!formatted->edits.empty()) rewrite_file(input, formatted->text);
  return exit_ok;
}

}  // namespace

int run_format(int argc, char** argv) {
  Options o;
  CommandLine app{
      "sialc format: lays programs out in the usual style, in place. Comments, names and numbers stay as they are, and "
      "so does what the program means. A file with syntax errors is left as it is.",
      "sialc format"};
  app.add_option("program", o.inputs, "source files (.sialx); - for standard input, which goes to standard output")
      .type_name("FILE");
  app.add_flag("--check", o.check, "write nothing; name the files that would change, and exit with 1 if there are any");
  app.add_flag("--diff", o.diff, "write nothing; print what would change");
  app.add_option("--stdin-name", o.stdin_name, "what messages call standard input").type_name("NAME");
  app.add_option("--error-format", o.error_format, "text, or json (one object per line)").choices({"text", "json"});
  app.footer(
      "Exit codes: 0 fine, 1 syntax errors or (--check) changes, 2 wrong usage or unreadable files, 3 an output that "
      "cannot be written.");
  try {
    app.parse({argv + 1, argv + argc});
  } catch (const CommandLine::HelpAsked&) { return app.show_help(); } catch (const CommandLine::Error& error) {
    return usage_error(fmt::format("{}; `sialc format --help` shows the options", error.what()));
  }
  if (o.inputs.empty()) return usage_error("no source file given; `sialc format --help` shows the options");
  if (std::count(o.inputs.begin(), o.inputs.end(), "-") > 0 && o.inputs.size() > 1)
    return usage_error("`-` stands alone: standard input is one program");
  int worst = exit_ok;
  for (const std::string& input : o.inputs) worst = std::max(worst, format_one(input, o));
  return worst;
}

}  // namespace sial
