// sialreport: the command line of the report. Prints what a module contains, what the compiler did with it, and what a
// run of it cost.

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/program/sialreport_job.h"
#include "compiler/program/sialreport_memory.h"
#include "compiler/report/advice/advice.h"
#include "compiler/report/formats/compare.h"
#include "compiler/report/model.h"
#include "compiler/report/prediction/predict.h"
#include "runtime/core/base/error.h"
#include "runtime/core/base/output_file.h"
#include "runtime/core/base/printable.h"
#include "runtime/core/base/process_limits.h"
#include "runtime/core/base/standard_output.h"
#include "runtime/core/bytecode/read.h"
#include "runtime/program/manual/command_line.h"
#include "runtime/program/version/version.h"

namespace {

struct Arguments {
  std::string module, statistics, format = "text", lines, output, predict, against, program, manual;
  std::vector<std::string> compare, folders;
  sial::report::Filter filter;
  bool annotate = false, version = false;
};

/// A report does not take the place of what it was made from.
void check_place(const Arguments& a, const std::vector<sial::NamedFile>& inputs) {
  const sial::NamedFile report{"the report", a.output};
  if (!a.output.empty()) sial::check_distinct(std::span(&report, 1), inputs);
}

/// Messages that the user should hear but the output must not contain.
void note(const std::string& text) { fmt::print(stderr, "sialreport: note: {}\n", sial::printable_name(text)); }

std::string compared(const Arguments& a) {
  if (!a.module.empty())
    throw sial::InputError("`--compare` takes two run.json files and no module", "sialreport --compare a.json b.json");
  if (a.annotate || !a.filter.none() || !a.lines.empty())
    throw sial::InputError("a comparison of runs has no remarks to filter or annotate", "leave out the other options");
  if (a.format != "text" && a.format != "json")
    throw sial::InputError(fmt::format("a comparison cannot be written as {}", a.format),
                           "its formats are text and json");
  const auto first = sial::report::read_run(a.compare[0]), second = sial::report::read_run(a.compare[1]);
  const auto before = sial::load_job(a.compare[0], "", a.folders), after = sial::load_job(a.compare[1], "", a.folders);
  const auto reached = sial::report::reached_of(before, sial::advise(before), after, sial::advise(after));
  return a.format == "json" ? sial::report::compare_json(first, second, reached)
                            : sial::report::compare_text(first, second, reached);
}

std::string predicted(const Arguments& a) {
  using namespace sial::report;
  if (a.module.empty() || a.statistics.empty())
    throw sial::InputError("a prediction starts from a module and a run of it",
                           "sialreport prog.siox run.json --predict ranks=64,latency=2us,bandwidth=12GB/s");
  if (!a.compare.empty())
    throw sial::InputError("`--compare` and `--predict` are reports of their own", "ask for one of them");
  if (a.annotate || !a.filter.none() || !a.lines.empty())
    throw sial::InputError("a prediction has no remarks to filter or annotate", "leave out the other options");
  if (a.format != "text" && a.format != "json")
    throw sial::InputError(fmt::format("a prediction cannot be written as {}", a.format),
                           "its formats are text and json");
  const Target target = read_target(a.predict);
  const auto module = std::make_shared<const sial::Module>(sial::read_module_file(a.module));
  const auto run_of = [&](const std::string& path) {
    Run run = read_run(path, module->program);
    check_same_sources(run, module->program, module->source_hash);
    if (run.optimisation != module->optimisation)
      throw sial::SialError(
          fmt::format("`{}` is a run of `{}` compiled with -O{}, and the module was compiled with -O{}", path,
                      module->program, run.optimisation, module->optimisation),
          "run the program again, or give the module that was run");
    return run;
  };
  const Run run = run_of(a.statistics);
  std::optional<Run> real;
  if (!a.against.empty()) real = run_of(a.against);
  Prediction prediction = predict(*module, run, target, real);
  sial::predict_memory(module, run, prediction);
  return a.format == "json" ? predict_json(prediction, run, real) : predict_text(prediction, run, real);
}

/// The program that a report of a run without a module is about: the named one, or the one that took longest.
const sial::report::JobProgram& chosen(const sial::report::Job& job, const std::string& wanted) {
  const sial::report::JobProgram* best = nullptr;
  std::string names;
  for (const sial::report::JobProgram& p : job.programs) {
    names += (names.empty() ? "" : ", ") + p.name;
    if (wanted.empty() ? !best || (p.module && (!best->module || p.seconds > best->seconds)) : p.name == wanted)
      best = &p;
  }
  if (!best)
    throw sial::SialError(fmt::format("`{}` is no run of program `{}`", job.path, wanted),
                          names.empty() ? "it names no programs" : "it ran: " + names);
  if (!best->module)
    throw sial::InputError(best->problem.empty() ? fmt::format("no module of program `{}`", best->name) : best->problem,
                           "give its module: sialreport prog.siox run.json");
  return *best;
}

sial::report::Report report_of_run(const Arguments& a) {
  using namespace sial::report;
  std::optional<Report> report;
  if (!a.module.empty()) {  // first: its own mistakes are said before those of the job
    report = describe(sial::read_module_file(a.module));
    bind(*report, read_run(a.statistics, report->program));
  }
  const Job job = sial::load_job(a.statistics, a.module, a.folders);
  if (!report) {
    const JobProgram& program = chosen(job, a.program);
    report = describe(*program.module);
    bind(*report, program.run);
    report->texts = program.texts;
  }
  report->run->predicted_tiers = sial::predicted_tiers(job);
  set_job(*report, std::make_shared<const JobAdvice>(sial::advise(job)));
  return std::move(*report);
}

/// A single file may be the run's.
void tell_module_from_run(Arguments& a) {
  if (a.module.empty() || !a.statistics.empty() || !a.module.ends_with(".json")) return;
  std::swap(a.module, a.statistics);
}

std::string reported(Arguments& a) {
  using namespace sial::report;
  if (a.module.empty() && a.statistics.empty())
    throw sial::InputError("no module and no run.json given", "`sialreport --help` shows the options");
  if (a.annotate && a.format != "text")
    throw sial::InputError("`--annotate` is a form of text",
                           "leave out `--format`; the JSON form has the facts about every line anyway");
  if (!a.lines.empty()) set_lines(a.filter, a.lines);
  Report report = a.statistics.empty() ? describe(sial::read_module_file(a.module)) : report_of_run(a);
  apply(report, a.filter);
  std::vector<std::string> folders = a.folders;
  for (const std::string& file : {a.module, a.statistics})
    if (const std::string beside = std::filesystem::path(file).parent_path().string(); !beside.empty())
      folders.push_back(beside);
  find_sources(report, folders);
  std::vector<sial::NamedFile> sources;
  for (const SourceFile& source : report.sources)
    if (source.found) sources.push_back({"the source", source.path});
  check_place(a, sources);
  if (a.annotate) return to_annotated(report);
  for (const SourceFile& source : report.sources)
    if (source.changed) {
      note(source.problem);
      break;
    }
  if (a.format == "json") return to_json(report);
  if (a.format == "yaml") return to_yaml(report);
  if (a.format == "html") return to_html(report);
  return to_text(report);
}

int run(int argc, char** argv) {
  Arguments a;
  sial::CommandLine app{
      "sialreport: what a compiled SIAL program contains, what was done to make it fast, and what its run cost",
      "sialreport"};
  app.add_option(
         "module", a.module,
         "compiled program (.siox); left out: the programs of run.json are found, or compiled again from their sources")
      .type_name("FILE");
  app.add_option("statistics", a.statistics,
                 "run.json of a run of it: numbers instead of symbols, and what was measured")
      .type_name("FILE");
  app.add_option("--program", a.program,
                 "with run.json alone: which program of the job; the one that took longest if not given");
  app.add_option("--format", a.format, "text, json, yaml (LLVM's optimisation records) or html (one page)")
      .choices({"text", "json", "yaml", "html"});
  app.add_option("-o,--output", a.output, "write there instead of to the standard output").type_name("FILE");
  app.add_flag("--annotate", a.annotate, "the sources with what is known about each line");
  app.add_option("-I", a.folders, "folder where sources are searched").type_name("FOLDER");
  app.add_option("--only", a.filter.only, "remarks of one kind: passed, missed or analysis")
      .choices({"passed", "missed", "analysis"});
  app.add_option("--line", a.lines, "remarks of line N or lines N-M, also as FILE:N-M");
  app.add_option("--array", a.filter.array, "remarks about one array");
  app.add_option("--pass", a.filter.pass, "remarks of one pass");
  app.add_option("--compare", a.compare, "two run.json files side by side").type_name("FILE").values(2);
  app.add_option(
      "--predict", a.predict,
      "what the run would cost on another machine: ranks=64,latency=2us,bandwidth=12GB/s[,ranks-per-node=N][,servers=K][,look-ahead=auto|off|N]");
  app.add_option("--against", a.against,
                 "with --predict: run.json of a run on such a machine, to be set beside the prediction")
      .type_name("FILE");
  app.add_flag("--version", a.version, "print the version");
  app.add_option("--manual", a.manual, "print the manual page, or the completions of a shell")
      .type_name("man|bash|zsh|fish")
      .choices({"man", "bash", "zsh", "fish"});
  app.footer("Exit codes: 0 fine, 2 wrong usage or an input that cannot be used, 3 an output that cannot be written.");
  try {
    app.parse({argv + 1, argv + argc});
  } catch (const sial::CommandLine::HelpAsked&) {
    return app.show_help();
  } catch (const sial::CommandLine::Error& error) {
    fmt::print(stderr, "sialreport: error: {}; `sialreport --help` shows the options\n", sial::printable(error.what()));
    return sial::exit_input_error;
  }
  if (a.version) {
    sial::print_output(sial::version_text("sialreport"));
    return sial::exit_ok;
  }
  if (!a.manual.empty()) {
    sial::print_output(sial::program_manual(app.text(), a.manual, SIALX_VERSION));
    return sial::exit_ok;
  }
  tell_module_from_run(a);
  if (!a.against.empty() && a.predict.empty())
    throw sial::InputError("`--against` sets a run beside a prediction", "say with `--predict` what is predicted");
  std::vector<sial::NamedFile> inputs{
      {"the module", a.module}, {"the statistics file", a.statistics}, {"the statistics file", a.against}};
  for (const std::string& path : a.compare) inputs.push_back({"the statistics file", path});
  std::erase_if(inputs, [](const sial::NamedFile& input) { return input.path.empty(); });
  check_place(a, inputs);
  const std::string text = !a.predict.empty() ? predicted(a) : !a.compare.empty() ? compared(a) : reported(a);
  if (a.output.empty()) {
    sial::print_output(sial::printable(text));
    return sial::exit_ok;
  }
  sial::write_file(a.output, text, sial::Durability::until_crash, "choose another place with -o");
  return sial::exit_ok;
}

int failed(const sial::SialError& error, int code) {
  fmt::print(stderr, "sialreport: error: {}\n", sial::printable_name(error.what()));
  if (!error.hint().empty()) fmt::print(stderr, "    hint: {}\n", sial::printable_name(error.hint()));
  return code;
}

int run_reporting(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const sial::EnvironmentError& error) {
    return failed(error, sial::exit_environment_error);
  } catch (const sial::SialError& error) { return failed(error, sial::exit_input_error); }
}

}  // namespace

[[gnu::constructor(101)]] static void look_at_stack() { sial::require_stack(true); }

int main(int argc, char** argv) {
  sial::expect_failed_writes();
  return sial::end_output(run_reporting(argc, argv), sial::exit_environment_error, "sialreport");
}
