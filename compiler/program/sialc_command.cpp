// sialc: the command line of the compiler. Everything it does is in the libraries; this file maps options to calls and
// outcomes to exit codes (0 fine, 1 errors in the program, 2 usage or input, 3 output).

#include "compiler/program/sialc_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/analysis/print.h"
#include "compiler/ast/build.h"
#include "compiler/ast/imports.h"
#include "compiler/ast/print.h"
#include "compiler/diag/render.h"
#include "compiler/diag/table.h"
#include "compiler/diag/warning_words.h"
#include "compiler/pipeline/pipeline.h"
#include "compiler/pipeline/repair.h"
#include "compiler/report/kernels.h"
#include "compiler/sema/super_table.h"
#include "runtime/core/base/error.h"
#include "runtime/core/base/fault_injection.h"
#include "runtime/core/base/output_file.h"
#include "runtime/core/base/printable.h"
#include "runtime/core/base/rewrite_file.h"
#include "runtime/core/base/running_program.h"
#include "runtime/core/base/standard_output.h"
#include "runtime/core/bytecode/read.h"
#include "runtime/core/bytecode/write.h"
#include "runtime/program/manual/command_line.h"
#include "runtime/program/version/version.h"

namespace sial {
namespace {

struct Options {
  std::vector<std::string> values, segments;
  std::vector<std::string> inputs;
  std::string job_file, run_file, output, emit, dump_after, explain_code, error_format = "text", disassemble;
  std::vector<std::string> include_dirs, search_paths, warnings;
  int optimisation = default_optimisation;
  bool no_warnings = false, syntax_only = false, timings = false, explain_kernels = false, list_instructions = false,
       fix = false;
};

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end > 0) out.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

int usage_error(const std::string& message) {
  fmt::print(stderr, "sialc: error: {}\n", printable(message));
  return exit_input_error;
}

int explain_code(const std::string& code) {
  if (code == "list") {
    print_output(explain_list());
    return exit_ok;
  }
  if (const DiagnosticRow* row = find_row(code)) {
    print_output(explain(*row));
    return exit_ok;
  }
  if (const SuperPage* page = find_super_page(code)) {
    print_output(explain_super(*page));
    return exit_ok;
  }
  std::string hint;
  for (const std::string_view near : similar_codes(code))
    hint += (hint.empty() ? "; did you mean " : ", ") + std::string(near);
  for (const std::string& near : similar_super_instructions(code))
    hint += (hint.empty() ? "; did you mean " : ", ") + near;
  return usage_error(
      fmt::format("there is no diagnostic or super instruction `{}`{}{}", code, hint,
                  hint.empty() ? "; `sialc --explain list` and `sialc --list-instructions` show all" : "?"));
}

int show_tokens(const std::string& path) {
  std::string error;
  std::optional<std::string> text = read_source_file(path, error);
  if (!text) return usage_error(fmt::format("cannot read `{}`: {}", path, error));
  SourceManager sources;
  const FileId file = sources.add(path, path, std::move(*text));
  print_output(printable(print_tokens(sources, file)));
  return exit_ok;
}

void show_diagnostics(const Emitter& emitter, const SourceManager& sources, bool json) {
  std::string out;
  if (json)
    for (const Diagnostic& d : in_source_order(emitter.all())) out += render_json(d, sources);
  else out = render_list(emitter.all(), sources);
  if (!json)
    if (const std::string count = count_text(emitter.error_count(), emitter.warning_count()); !count.empty())
      out += count + "\n";
  std::fputs(out.c_str(), stderr);
}

bool main_file_missing(const Emitter& emitter) {
  for (const Diagnostic& d : emitter.all())
    if (d.code == Code::E_FILE && d.span.file < 0) return true;
  return false;
}

std::vector<std::string> include_dirs(const Options& options) {
  std::vector<std::string> directories = options.include_dirs;
  for (const std::string& list : options.search_paths)
    for (std::string& directory : split(list, ':')) directories.push_back(std::move(directory));
  return directories;
}

/// Exit code after parsing or compiling, with everything reported.
int outcome(const Options& options, const Emitter& emitter, const SourceManager& sources) {
  show_diagnostics(emitter, sources, options.error_format == "json");
  if (main_file_missing(emitter)) return exit_input_error;
  return emitter.has_errors() ? exit_program_error : exit_ok;
}

int parse_only(const std::string& input, const Options& options, const WarningOptions& warnings) {
  SourceManager sources;
  Emitter emitter(warnings);
  const auto compilation = load_compilation(sources, input, include_dirs(options), emitter);
  if (const int code = outcome(options, emitter, sources); code != exit_ok || !compilation) return code;
  if (options.emit == "ast") print_output(printable(print_ast(*compilation, sources)));
  if (options.emit == "ast-json") print_output(ast_to_json(*compilation, sources));
  return exit_ok;
}

std::string module_path(const std::string& input, const Options& options) {
  return options.output.empty() ? std::filesystem::path(input).replace_extension(".siox").string() : options.output;
}

/// Whether a compiled program is written, not only printed.
bool writes_modules(const Options& options) {
  return !options.fix && options.emit.empty() && !options.syntax_only &&
         !(options.explain_kernels && options.output.empty());
}

/// Before the first module is written: none of them is a source that is still to be read.
void check_modules(const Options& options) {
  std::vector<NamedFile> modules, sources;
  modules.reserve(options.inputs.size());
  sources.reserve(options.inputs.size());
  for (const std::string& input : options.inputs) {
    modules.push_back({"the module", module_path(input, options)});
    sources.push_back({"the source", input});
  }
  check_distinct(modules, sources);
}

void write_output(const std::string& path, const SourceManager& sources, const Module& module) {
  std::vector<NamedFile> read;
  for (FileId f = 0; f < sources.file_count(); ++f) read.push_back({"the source", sources.canonical_path(f)});
  const NamedFile written{"the module", path};
  check_distinct(std::span(&written, 1), read);
  const std::vector<std::byte> bytes = write_module(module);
  write_file(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

int compile(const std::string& input, const Options& options, const WarningOptions& warnings) {
  CompileOptions to;
  to.include_dirs = include_dirs(options);
  to.optimisation = options.optimisation;
  const bool emits_pass = options.emit == "ir" || options.emit == "plan";
  to.dump_after = emits_pass ? options.emit : options.dump_after;
  if (emits_pass) to.last_pass = options.emit;
  if (std::find(std::begin(analysis::fact_kinds), std::end(analysis::fact_kinds), options.emit) !=
      std::end(analysis::fact_kinds))
    to.facts = options.emit;
  if (!options.values.empty() || !options.segments.empty()) to.job = analysis::job_of(options.values, options.segments);
  const std::vector<std::string_view> passes = pass_names();
  if (!to.dump_after.empty() && std::find(passes.begin(), passes.end(), to.dump_after) == passes.end())
    return usage_error(fmt::format("there is no pass `{}`; the passes are {}", to.dump_after, fmt::join(passes, ", ")));
  SourceManager sources;
  Emitter emitter(warnings);
  const CompileResult result = compile_file(input, to, sources, emitter);
  const int code = outcome(options, emitter, sources);
  print_output(printable(result.dump));
  if (options.timings)
    for (const PassTime& t : result.times) fmt::print(stderr, "{:<8} {:9.3f} s\n", t.pass, t.seconds);
  if (code != exit_ok || !result.module) return code;
  if (options.explain_kernels) {
    print_output(printable(report::explain_kernels(*result.module)));
    if (options.output.empty()) return exit_ok;
  }
  write_output(module_path(input, options), sources, *result.module);
  return exit_ok;
}

int show_hints(const std::string& input, const Options& options, const WarningOptions& warnings, const Tools& tools) {
  HintQuestion question;
  question.path = input;
  question.options.include_dirs = include_dirs(options);
  question.options.optimisation = options.optimisation;
  question.job_file = options.job_file;
  question.run_file = options.run_file;
  if (!options.values.empty() || !options.segments.empty())
    question.numbers = analysis::job_of(options.values, options.segments);
  question.long_texts = options.emit == "hover";
  SourceManager sources;
  Emitter emitter(warnings);
  const std::optional<std::string> hints = tools.hints(question, sources, emitter);
  const int code = outcome(options, emitter, sources);
  if (hints) print_output(printable(*hints));
  return code;
}

/// Becomes sialc-tools, with the same arguments. Returns where it cannot: the exit code.
int become_tools(char** argv, const std::string& command) {
  const std::filesystem::path program = running_program().replace_filename("sialc-tools");
  ::execv(program.c_str(), argv);
  throw InputError(fmt::format("`{}` needs the program `{}`: {}", command, program.string(), std::strerror(errno)),
                   "build it, with `cmake --build BUILD_FOLDER --target sialc-tools`, or install it beside sialc");
}

/// Makes the fixes of a program's diagnostics in its files, and reports what is left.
int fix_files(const std::string& input, const Options& options, const WarningOptions& warnings) {
  CompileOptions to;
  to.include_dirs = include_dirs(options);
  const Repair repaired = repair(input, to, warnings);
  for (const auto& [file, text] : repaired.texts) rewrite_file(file, text);
  std::string out;
  for (const AppliedFix& fix : repaired.applied)
    out += fmt::format("{}:{}: {} [{}]\n", fix.file, fix.line, fix.title, row_of(fix.code).name);
  print_output(printable(out));
  for (const AppliedFix& fix : repaired.elsewhere)
    fmt::print(stderr, "{}",
               printable(fmt::format("sialc: note: `{}` is outside the folder of `{}`; not changed: {}:{}: {}\n",
                                     fix.file, input, fix.file, fix.line, fix.title)));
  SourceManager sources;
  Emitter emitter(warnings);
  to.last_pass = "check";
  compile_file(input, to, sources, emitter);
  return outcome(options, emitter, sources);
}

int disassemble_file(const std::string& path) {
  print_output(printable(disassemble(read_module_file(path))));
  return exit_ok;
}

int run(int argc, char** argv, const Tools* tools) {
  Options o;
  bool version = false;
  std::string manual;
  CommandLine app{"sialc: compiles SIAL programs to modules for sialrun", "sialc"};
  app.add_option("program", o.inputs, "source files (.sialx); several are compiled one by one").type_name("FILE");
  app.add_option("-o", o.output, "module to write, of one program (default: the source's name with .siox)")
      .type_name("FILE");
  app.add_option("-I", o.include_dirs, "directory to search for imported files (repeatable)").type_name("FOLDER");
  app.add_option("--search-path", o.search_paths, "directories to search, separated by colons (also -sp)");
  app.add_option("-O", o.optimisation, "optimisation: 0 as written, 1 safe local rewriting, 2 everything (default)")
      .range(0, 2);
  app.add_option("--emit", o.emit, "print instead of writing a module")
      .choices({"tokens", "ast", "ast-json", "ir", "plan", "intent", "ranges", "access", "cost", "hints", "hover"});
  app.add_option("--set", o.values,
                 "NAME=VALUE: with --emit=ranges|cost|hints|hover, the numbers of a job (repeatable)");
  app.add_option("--segments", o.segments, "KIND=EXTENT,...: its segments (repeatable)");
  app.add_option(
         "--job", o.job_file,
         "with --emit=hints|hover: the job file whose numbers are shown; the newest one beside the program that names it if not given")
      .type_name("FILE");
  app.add_option(
         "--run", o.run_file,
         "with --emit=hints|hover: the run.json of the last run; the one beside the program or where its job writes it if not given")
      .type_name("FILE");
  app.add_option("--dump-after", o.dump_after, "print the IR after this pass")
      .group(hidden_group);  // compiler/README.md
  app.add_option("--explain", o.explain_code,
                 "explain a diagnostic code or a super instruction; `list` lists the codes");
  app.add_flag("--list-instructions", o.list_instructions, "list the super instructions, one line each");
  app.add_option("--error-format", o.error_format, "text, or json (one object per line)").choices({"text", "json"});
  app.add_flag(
      "--fix", o.fix,
      "make the fixes of errors and warnings in the program's files, as far as they need no decision, print them, and report what is left; writes no module");
  app.add_option("-W", o.warnings, "-WGROUP, -Wno-GROUP, -Werror, -Werror=GROUP");
  app.add_flag("-w", o.no_warnings, "no warnings");
  app.add_option("--disassemble", o.disassemble, "print a module (.siox)").type_name("FILE");
  app.add_flag(
      "--explain-kernels", o.explain_kernels,
      "print how the index orders of contractions suit a matrix product, and what to declare otherwise; writes a module with -o only");
  app.add_flag("--timings", o.timings, "print the time each pass took").group(hidden_group);
  app.add_flag("--syntax-only", o.syntax_only, "stop after parsing").group(hidden_group);
  app.add_flag("--version", version, "print the version");
  app.add_option("--manual", manual, "print the manual page, or the completions of a shell")
      .type_name("man|bash|zsh|fish")
      .choices({"man", "bash", "zsh", "fish"});
  app.footer(
      "`sialc format` lays programs out in the usual style; `sialc lsp` serves editors: each has `--help`.\n"
      "Exit codes: 0 fine, 1 errors in the program, 2 wrong usage or unreadable files, 3 an output that cannot be written.");

  std::vector<std::string> arguments;
  for (int i = 1; i < argc; ++i) arguments.emplace_back(std::string(argv[i]) == "-sp" ? "--search-path" : argv[i]);
  try {
    app.parse(std::move(arguments));
  } catch (const CommandLine::HelpAsked&) { return app.show_help(); } catch (const CommandLine::Error& error) {
    return usage_error(fmt::format("{}; `sialc --help` shows the options", error.what()));
  }

  if (version) {
    print_output(version_text("sialc"));
    return exit_ok;
  }
  if (!manual.empty()) {
    print_output(program_manual(app.text(), manual, SIALX_VERSION));
    return exit_ok;
  }
  if (!o.explain_code.empty()) return explain_code(o.explain_code);
  if (o.list_instructions) {
    print_output(list_super_instructions());
    return exit_ok;
  }
  if (!o.disassemble.empty()) return disassemble_file(o.disassemble);
  if (o.inputs.empty()) return usage_error("no source file given; `sialc --help` shows the options");
  if (o.inputs.size() > 1 && !o.output.empty())
    return usage_error("-o names one module, but there are several programs; leave it out");
  if (o.fix && (!o.output.empty() || !o.emit.empty() || o.syntax_only || o.explain_kernels))
    return usage_error("--fix changes sources and writes nothing else; leave out the other outputs");
  WarningOptions warnings;
  warnings.none = o.no_warnings;
  if (const std::string problem = read_warnings(o.warnings, warnings); !problem.empty()) return usage_error(problem);
  const bool hints = o.emit == "hints" || o.emit == "hover";
  if (!hints && !(o.job_file.empty() && o.run_file.empty()))
    return usage_error("--job and --run belong to --emit=hints and --emit=hover");
  if (hints && !tools) return become_tools(argv, "sialc --emit=" + o.emit);
  const bool syntax = o.syntax_only || o.emit == "ast" || o.emit == "ast-json";
  fmt::print(stderr, "{}", printable(fault_warning()));
  if (writes_modules(o)) check_modules(o);
  int worst = exit_ok;
  for (const std::string& input : o.inputs)
    worst = std::max(worst, o.fix                ? fix_files(input, o, warnings)
                            : hints              ? show_hints(input, o, warnings, *tools)
                            : o.emit == "tokens" ? show_tokens(input)
                            : syntax             ? parse_only(input, o, warnings)
                                                 : compile(input, o, warnings));
  return worst;
}

int run_reporting(int argc, char** argv, const Tools* tools) {
  try {
    const std::string_view command = argc > 1 ? argv[1] : "";
    if (!tools && (command == "format" || command == "lsp"))
      return become_tools(argv, fmt::format("sialc {}", command));
    return command == "format" ? tools->format(argc - 1, argv + 1) : run(argc, argv, tools);
  } catch (const SialError& error) {
    fmt::print(stderr, "sialc: error: {}\n", printable_name(error.what()));
    if (!error.hint().empty()) fmt::print(stderr, "    hint: {}\n", printable_name(error.hint()));
    return exit_code_of(error) == exit_environment_error ? exit_environment_error : exit_input_error;
  } catch (const std::exception& error) { return usage_error(error.what()); }
}

}  // namespace

int sialc_main(int argc, char** argv, const Tools* tools) {
  expect_failed_writes();
  if (tools && argc > 1 && std::string_view(argv[1]) == "lsp") return tools->lsp(argc - 1, argv + 1);
  return end_output(run_reporting(argc, argv, tools), exit_environment_error, "sialc");
}

}  // namespace sial
