// sialreport: the command line of the report. Prints what a module contains, and what a run of it cost.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "compiler/report/model.h"
#include "runtime/base/error.h"
#include "runtime/bytecode/read.h"

namespace {

int run(int argc, char** argv) {
  std::string module, statistics, format = "text";
  bool version = false;
  CLI::App app{"sialreport: what a compiled SIAL program contains, and what its run cost"};
  app.add_option("module", module, "compiled program (.siox)");
  app.add_option("statistics", statistics, "run.json of a run of it");
  app.add_option("--format", format, "text or json")->check(CLI::IsMember({"text", "json"}));
  app.add_flag("--version", version, "print the version");
  app.footer("Exit codes: 0 fine, 1 not a module or statistics file, 2 wrong usage or unreadable files.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "sialreport: error: {}; `sialreport --help` shows the options\n", error.what());
    return sial::exit_usage_or_io;
  }
  if (version) {
    fmt::print("sialreport {}\n", SIALX_VERSION);
    return sial::exit_ok;
  }
  if (module.empty()) {
    fmt::print(stderr, "sialreport: error: no module given; `sialreport --help` shows the options\n");
    return sial::exit_usage_or_io;
  }
  sial::report::Report report = sial::report::describe(sial::read_module_file(module));
  if (!statistics.empty()) report.run = sial::report::read_run(statistics, report.program);
  fmt::print("{}", format == "json" ? sial::report::to_json(report) : sial::report::to_text(report));
  return sial::exit_ok;
}

int failed(const sial::SialError& error, int code) {
  fmt::print(stderr, "sialreport: error: {}\n", error.what());
  if (!error.hint().empty()) fmt::print(stderr, "    hint: {}\n", error.hint());
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const sial::WorldError& error) {
    return failed(error, sial::exit_usage_or_io);
  } catch (const sial::SialError& error) {
    return failed(error, sial::exit_program_error);
  }
}
