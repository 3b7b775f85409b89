#include "runtime/program/session/schema_run.h"

#include <iostream>
#include <iterator>

#include <fmt/format.h>

#include "runtime/chemistry/schema/atomic_result.h"
#include "runtime/core/base/error.h"
#include "runtime/core/base/error_text.h"
#include "runtime/core/base/input_file.h"
#include "runtime/core/base/output_file.h"

namespace sial {
namespace {

bool is_standard(const std::string& path) { return path.empty() || path == "-"; }

std::string without_trailing_blanks(std::string text) {
  text.erase(text.find_last_not_of(" \n") + 1);
  return text;
}

/// What was said beside the output, without notes on segments.
std::string without_notes(const std::string& messages) {
  std::string text;
  std::istringstream lines(messages);
  for (std::string line; std::getline(lines, line);)
    if (!line.starts_with("segments ")) text += line + "\n";
  return text;
}

/// What is to be known of a failure: the last line that a program printed (why it stopped), the messages, and all that
/// was printed.
std::string failure_text(const std::string& messages, const std::string& printed) {
  std::string text = without_notes(messages);
  const std::string all = without_trailing_blanks(printed);
  if (!all.empty()) text = all.substr(all.rfind('\n') + 1) + "\n" + text + "printed before:\n" + all;
  return without_trailing_blanks(text);
}

}  // namespace

Captured::Captured() : old_out_(std::cout.rdbuf(out_.rdbuf())), old_err_(std::cerr.rdbuf(err_.rdbuf())) {}

Captured::~Captured() {
  std::cout.rdbuf(old_out_);
  std::cerr.rdbuf(old_err_);
}

SchemaRun::SchemaRun(const std::string& in, std::string out, std::string version, int ranks)
    : out_(std::move(out)), version_(std::move(version)), ranks_(ranks), input_(std::make_unique<AtomicInput>()) {
  std::string text, problem;
  if (ranks_ > 1 && (is_standard(in) || is_standard(out_)))
    throw InputError("several ranks have no common standard input and output",
                     "name both files: sialrun --qcschema in.json out.json");
  if (is_standard(in)) {
    text.assign(std::istreambuf_iterator<char>(std::cin), {});
  } else {
    text = read_file(in, input_limit::job_file, problem);
    if (!problem.empty()) throw InputError(fmt::format("cannot read the input `{}`: {}", in, problem));
    if (!is_standard(out_) && same_file(in, out_))
      throw InputError(fmt::format("the result would replace the input `{}`", in), "give the result another name");
  }
  try {
    read_atomic_input(text, is_standard(in) ? "standard input" : in, *input_);
  } catch (const InputError& error) { problem_ = error; } catch (const SialError& error) {
    problem_ = InputError(error.what(), error.hint(), error.where());
  }
  captured_.emplace();
}

SchemaRun::~SchemaRun() = default;

const Job& SchemaRun::job() const { return input_->job; }

int SchemaRun::finish(int code) {
  const std::string printed = captured_->output(), messages = captured_->messages();
  captured_.reset();
  std::cerr << messages << std::flush;
  if (code == exit_ok) {
    try {
      write(atomic_result(*input_, scalars, gradient ? &*gradient : nullptr, printed, without_notes(messages),
                          {version_, ranks_}));
      return exit_ok;
    } catch (const EnvironmentError&) { throw; } catch (const SialError& error) {
      std::cerr << error_text(error, 0, 1) << std::endl;
      write(failed_operation(*input_, exit_program_error, error_text(error, 0, 1), {version_, ranks_}));
      return exit_program_error;
    }
  }
  write(failed_operation(*input_, code, failure_text(messages, printed), {version_, ranks_}));
  return code;
}

void SchemaRun::fail(const std::string& message, int code) noexcept {
  try {
    const std::string printed = captured_ ? captured_->output() : std::string();
    captured_.reset();
    write(failed_operation(*input_, code, failure_text(message, printed), {version_, ranks_}));
  } catch (const std::exception& error) {
    std::cerr << "error: the result cannot be written: " << error.what() << std::endl;
  }
}

void SchemaRun::write(const std::string& text) {
  if (is_standard(out_)) std::cout << text << std::flush;
  else write_file(out_, text);
}

}  // namespace sial
