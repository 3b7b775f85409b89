#include "runtime/program/manual/manual.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sial {
namespace {

/// The value as people write it: the type name without what the checks add, choices separated by |.
std::string value_text(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  if (const std::size_t brace = type.find('{'); brace != std::string::npos && type.find('|') == std::string::npos) {
    std::string choices = type.substr(brace + 1, type.rfind('}') - brace - 1);
    std::replace(choices.begin(), choices.end(), ',', '|');
    return choices;
  }
  return type.substr(0, std::min(type.find(":{"), type.find(":INT")));
}

/// The texts of "a|b|c" with small letters or digits in them: placeholders such as N are none. Empty where there is one
/// text.
std::vector<std::string> choices_of(const CLI::Option& option) {
  const std::string type = value_text(option);
  std::string_view rest = type;
  if (rest.find('|') == std::string_view::npos) return {};
  std::vector<std::string> result;
  while (true) {
    const std::size_t end = rest.find('|');
    const std::string_view text = rest.substr(0, std::min(end, rest.find('[')));
    if (std::any_of(text.begin(), text.end(), [](unsigned char c) { return std::islower(c); }))
      result.emplace_back(text);
    if (end == std::string_view::npos) return result;
    rest.remove_prefix(end + 1);
  }
}

bool takes_value(const CLI::Option& option) { return option.get_expected_max() > 0; }
/// A value that may be left out, as in --restart [FOLDER].
bool needs_value(const CLI::Option& option) { return option.get_expected_min() > 0; }
/// A flag whose value, where there is one, is joined to it: --progress=line.
bool takes_joined_value(const CLI::Option& option) { return !takes_value(option) && !choices_of(option).empty(); }

/// " VALUE", "[=a|b]" or nothing.
std::string value_behind(const CLI::Option& option) {
  if (takes_joined_value(option)) return fmt::format("[={}]", value_text(option));
  return takes_value(option) ? " " + value_text(option) : "";
}

bool is_path(const CLI::Option& option) {
  const std::string type = value_text(option);
  return type.find("FILE") != std::string::npos || type.find("FOLDER") != std::string::npos;
}

/// "-d", "--dat", in this order.
std::vector<std::string> flags_of(const CLI::Option& option) {
  std::vector<std::string> flags;
  for (const std::string& name : option.get_snames()) flags.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) flags.push_back("--" + name);
  return flags;
}

std::vector<const CLI::Option*> options_of(const CLI::App& app) {
  return app.get_options(
      [](const CLI::Option* option) { return !option->get_positional() && option->get_group() != hidden_group; });
}

std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') out += "\\e";
    else if (c == '-') out += "\\-";
    else out += c;
  }
  // A point or an apostrophe that begins a line would be a request.
  return out.starts_with('.') || out.starts_with('\'') ? "\\&" + out : out;
}

std::string upper_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

/// Within single quotes of a shell.
std::string shell_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string bash_completion(const CLI::App& app, const std::string& program) {
  std::vector<std::string> flags;
  std::string cases, joined;
  for (const CLI::Option* option : options_of(app)) {
    const auto own = flags_of(*option);
    flags.insert(flags.end(), own.begin(), own.end());
    const auto choices = choices_of(*option);
    const bool only_joined = takes_joined_value(*option);
    if (!only_joined && (!takes_value(*option) || !needs_value(*option))) continue;
    const std::string reply = !choices.empty()   ? fmt::format("mapfile -t COMPREPLY < <(compgen -W '{}' -- \"$word\")",
                                                               fmt::join(choices, " "))
                              : is_path(*option) ? "mapfile -t COMPREPLY < <(compgen -f -- \"$word\")"
                                                 : "COMPREPLY=()";
    (only_joined ? joined : cases) +=
        fmt::format("    {}) {}; return ;;\n", fmt::join(own, only_joined ? "=|" : "|"), reply);
    if (only_joined) joined.insert(joined.rfind(") mapfile"), "=");
  }
  std::sort(flags.begin(), flags.end());
  // Words are split at `=`, which then is a word.
  return fmt::format(
      "# bash completion of {0}: source this file, or put it into share/bash-completion/completions.\n_{0}() {{\n  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} sign=\n"
      "  if [[ $word == = ]]; then word= sign==\n  elif [[ $before == = ]]; then before=${{COMP_WORDS[COMP_CWORD - 2]}} sign==\n  fi\n"
      "  case $before$sign in\n{3}  esac\n  case $before in\n{1}  esac\n  if [[ $word == -* ]]; then\n    mapfile -t COMPREPLY < <(compgen -W '{2}' -- \"$word\")\n  else\n"
      "    mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n  fi\n}}\ncomplete -o filenames -F _{0} {0}\n",
      program, cases, fmt::join(flags, " "), joined);
}

std::string zsh_completion(const CLI::App& app, const std::string& program) {
  std::string specs;
  for (const CLI::Option* option : options_of(app)) {
    const auto choices = choices_of(*option);
    std::string help = option->get_description(), value;
    // Brackets and colons have a meaning in a specification.
    for (const char c : std::string("[]:"))
      for (std::size_t at = 0; (at = help.find(c, at)) != std::string::npos; at += 2) help.insert(at, 1, '\\');
    if (takes_value(*option)) {
      const std::string action = !choices.empty()   ? fmt::format("({})", fmt::join(choices, " "))
                                 : is_path(*option) ? "_files"
                                                    : " ";
      value = fmt::format("{}value:{}", needs_value(*option) ? ":" : "::", action);
    }
    if (takes_joined_value(*option)) value = fmt::format("::value:({})", fmt::join(choices, " "));
    const char* const sign = takes_joined_value(*option) ? "=-" : "";
    for (const std::string& flag : flags_of(*option))
      specs += fmt::format("  {} \\\n", shell_quoted(fmt::format("*{}{}[{}]{}", flag, sign, help, value)));
  }
  return fmt::format(
      "#compdef {0}\n# zsh completion of {0}: put this file as _{0} into a folder of $fpath.\n_arguments \\\n{1}  '*:file:_files'\n",
      program, specs);
}

std::string fish_completion(const CLI::App& app, const std::string& program) {
  std::string out =
      fmt::format("# fish completion of {}: put this file into share/fish/vendor_completions.d.\n", program);
  for (const CLI::Option* option : options_of(app)) {
    out += "complete -c " + program;
    // A name of one letter after one dash; of several letters after one dash there are none.
    for (const std::string& name : option->get_snames()) out += " -s " + name;
    for (const std::string& name : option->get_lnames()) out += " -l " + name;
    const auto choices = choices_of(*option);
    if (takes_joined_value(*option)) {
      out += fmt::format(" -d {}\n", shell_quoted(option->get_description()));
      for (const std::string& choice : choices)
        out += fmt::format("complete -c {} -n {} -a {}\n", program,
                           shell_quoted(fmt::format("string match -q -- '--*' (commandline -ct)")),
                           shell_quoted(fmt::format("{}={}", flags_of(*option).back(), choice)));
      continue;
    }
    if (!choices.empty()) out += fmt::format(" -x -a {}", shell_quoted(fmt::format("{}", fmt::join(choices, " "))));
    else if (takes_value(*option) && needs_value(*option)) out += is_path(*option) ? " -r" : " -x";
    out += fmt::format(" -d {}\n", shell_quoted(option->get_description()));
  }
  return out;
}

std::string manual_page(const CLI::App& app, const std::string& version) {
  const std::string program = app.get_name();
  std::string summary = app.get_description();
  if (summary.starts_with(program + ": ")) summary.erase(0, program.size() + 2);
  std::string out = fmt::format(".TH {} 1 \"\" \"sialx {}\" \"sialx\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n.B {}\n",
                                upper_case(program), version, program, roff(summary), program);
  for (const CLI::Option* option : app.get_options([](const CLI::Option* o) { return o->get_positional(); }))
    out += fmt::format(".RI [ {} ...]\n", roff(option->get_name()));
  out += "[options]\n";
  std::vector<std::string> groups;
  for (const CLI::Option* option : app.get_options())
    if (const std::string& group = option->get_group();
        group != hidden_group && std::find(groups.begin(), groups.end(), group) == groups.end())
      groups.push_back(group);
  for (const std::string& group : groups) {
    out += fmt::format(".SH {}\n", upper_case(roff(group)));
    for (const CLI::Option* option : app.get_options([&](const CLI::Option* o) { return o->get_group() == group; })) {
      auto names = flags_of(*option);
      if (option->get_positional()) names = {option->get_name()};
      out += fmt::format(".TP\n.B {}{}\n{}\n", roff(fmt::format("{}", fmt::join(names, ", "))),
                         roff(value_behind(*option)), roff(option->get_description()));
    }
  }
  if (!app.get_footer().empty()) out += fmt::format(".SH NOTES\n{}\n", roff(app.get_footer()));
  return out;
}

}  // namespace

std::shared_ptr<CLI::FormatterBase> help_formatter() {
  class Help final : public CLI::Formatter {
    std::string make_group(std::string group, bool positional, std::vector<const CLI::Option*> options) const override {
      return group == hidden_group ? "" : CLI::Formatter::make_group(std::move(group), positional, std::move(options));
    }
    std::string make_option_name(const CLI::Option* option, bool positional) const override {
      if (positional || option->get_positional()) return option->get_name(positional);
      return fmt::format("{}{}", fmt::join(flags_of(*option), ","),
                         takes_joined_value(*option) ? value_behind(*option) : "");
    }
    std::string make_option_opts(const CLI::Option* option) const override {
      return takes_joined_value(*option)
                 ? std::string()
                 : value_behind(*option) + (option->get_positional() && option->get_expected_max() > 1 ? " ..." : "");
    }
  };
  return std::make_shared<Help>();
}

std::string program_manual(const CLI::App& app, const std::string& form, const std::string& version) {
  const std::string program = app.get_name();
  if (form == "man") return manual_page(app, version);
  if (form == "bash") return bash_completion(app, program);
  if (form == "zsh") return zsh_completion(app, program);
  if (form == "fish") return fish_completion(app, program);
  return {};
}

}  // namespace sial
