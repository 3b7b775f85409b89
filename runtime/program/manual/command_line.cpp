#include "runtime/program/manual/command_line.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

namespace sial {
namespace {

OptionText text_of(const CLI::Option& option) {
  OptionText text{{},
                  option.get_type_name(),
                  option.get_description(),
                  option.get_group(),
                  option.get_expected_min(),
                  option.get_expected_max(),
                  option.get_positional()};
  if (text.positional) text.names = {option.get_name()};
  for (const std::string& name : option.get_snames()) text.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) text.names.push_back("--" + name);
  return text;
}

/// Values as in the manual page.
class Help final : public CLI::Formatter {
  std::string make_group(std::string group, bool positional, std::vector<const CLI::Option*> options) const override {
    return group == hidden_group ? "" : CLI::Formatter::make_group(std::move(group), positional, std::move(options));
  }
  std::string make_option_name(const CLI::Option* option, bool) const override {
    const OptionText text = text_of(*option);
    return fmt::format("{}{}", fmt::join(text.names, ","), takes_joined_value(text) ? value_after(text) : "");
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    const OptionText text = text_of(*option);
    if (takes_joined_value(text)) return {};
    return value_after(text) + (text.positional && text.max_values > 1 ? " ..." : "");
  }
};

}  // namespace

CommandLine::CommandLine(std::string summary, std::string program)
    : app_(std::make_unique<CLI::App>(std::move(summary), std::move(program))) {
  app_->formatter(std::make_shared<Help>());
}

CommandLine::~CommandLine() = default;

CommandLine::Option& CommandLine::Option::group(const std::string& heading) {
  option_->group(heading);
  return *this;
}

CommandLine::Option& CommandLine::Option::type_name(const std::string& name) {
  option_->type_name(name);
  return *this;
}

CommandLine::Option& CommandLine::Option::choices(const std::vector<std::string>& texts) {
  option_->check(CLI::IsMember(texts));
  return *this;
}

CommandLine::Option& CommandLine::Option::range(int least, int most) {
  option_->check(CLI::Range(least, most));
  return *this;
}

CommandLine::Option& CommandLine::Option::check(std::function<std::string(const std::string&)> problem) {
  option_->check(std::move(problem));
  return *this;
}

CommandLine::Option& CommandLine::Option::values(int count) {
  option_->multi_option_policy(CLI::MultiOptionPolicy::Throw)->expected(count)->allow_extra_args();
  return *this;
}

CommandLine::Option& CommandLine::Option::value_optional() {
  option_->expected(0, 1);
  return *this;
}

CommandLine::Option& CommandLine::Option::delimiter(char c) {
  option_->delimiter(c);
  return *this;
}

template <class T>
CommandLine::Option CommandLine::add_option(const std::string& flags, T& variable, const std::string& help) {
  CLI::Option* const option = app_->add_option(flags, variable, help);
  if (option->get_items_expected_max() > 1 && !option->get_positional())
    option->take_all()->expected(1)->allow_extra_args(false);
  return Option(option);
}

#define VALUE(...) \
  template CommandLine::Option CommandLine::add_option(const std::string&, __VA_ARGS__&, const std::string&)
VALUE(int);
VALUE(std::int64_t);
VALUE(std::size_t);
VALUE(std::string);
VALUE(std::vector<int>);
VALUE(std::vector<double>);
VALUE(std::vector<std::string>);
#undef VALUE

CommandLine::Option CommandLine::add_flag(const std::string& flags, bool& variable, const std::string& help) {
  return Option(app_->add_flag(flags, variable, help));
}

CommandLine::Option CommandLine::add_flag(const std::string& flags, std::string& variable, const std::string& help) {
  return Option(app_->add_flag(flags, variable, help));
}

void CommandLine::footer(const std::string& text) { app_->footer(text); }

void CommandLine::parse(std::vector<std::string> words) {
  std::reverse(words.begin(), words.end());  // CLI11 takes them from the end
  try {
    app_->parse(std::move(words));
  } catch (const CLI::CallForHelp& asked) { throw HelpAsked(asked.what()); } catch (const CLI::ParseError& error) {
    throw Error(error.what());
  }
}

void CommandLine::parse_text(const std::string& text) {
  try {
    app_->parse(text, false);
  } catch (const CLI::ParseError& error) { throw Error(error.what()); }
}

bool CommandLine::is_given(const std::string& flag) const { return app_->count(flag) > 0; }

int CommandLine::show_help() const { return app_->exit(CLI::CallForHelp()); }

ProgramText CommandLine::text() const {
  ProgramText text{app_->get_name(), app_->get_description(), app_->get_footer(), {}};
  for (const CLI::Option* option : std::as_const(*app_).get_options())
    if (option->get_group() != hidden_group) text.options.push_back(text_of(*option));
  return text;
}

}  // namespace sial
