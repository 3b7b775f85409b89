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
std::string value_text(const OptionText& option) {
  const std::string type = option.type;
  if (const std::size_t brace = type.find('{'); brace != std::string::npos && type.find('|') == std::string::npos) {
    std::string choices = type.substr(brace + 1, type.rfind('}') - brace - 1);
    std::replace(choices.begin(), choices.end(), ',', '|');
    return choices;
  }
  return type.substr(0, std::min(type.find(":{"), type.find(":INT")));
}

/// The texts of "a|b|c" with small letters or digits in them: placeholders such as N are none. Empty where there is one
/// text.
std::vector<std::string> choices_of(const OptionText& option) {
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

bool takes_value(const OptionText& option) { return option.max_values > 0; }
/// Not one that may be left out, as in --restart [FOLDER].
bool needs_value(const OptionText& option) { return option.min_values > 0; }

bool is_path(const OptionText& option) {
  const std::string type = value_text(option);
  return type.find("FILE") != std::string::npos || type.find("FOLDER") != std::string::npos;
}

/// Those that are no positionals.
std::vector<const OptionText*> options_of(const ProgramText& program) {
  std::vector<const OptionText*> result;
  for (const OptionText& option : program.options)
    if (!option.positional) result.push_back(&option);
  return result;
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

std::string bash_completion(const ProgramText& program) {
  std::vector<std::string> flags;
  std::string cases, joined;
  for (const OptionText* option : options_of(program)) {
    flags.insert(flags.end(), option->names.begin(), option->names.end());
    const auto choices = choices_of(*option);
    const bool only_joined = takes_joined_value(*option);
    if (!only_joined && (!takes_value(*option) || !needs_value(*option))) continue;
    const std::string reply = !choices.empty()   ? fmt::format("mapfile -t COMPREPLY < <(compgen -W '{}' -- \"$word\")",
                                                               fmt::join(choices, " "))
                              : is_path(*option) ? "mapfile -t COMPREPLY < <(compgen -f -- \"$word\")"
                                                 : "COMPREPLY=()";
    (only_joined ? joined : cases) +=
        fmt::format("    {}) {}; return ;;\n", fmt::join(option->names, only_joined ? "=|" : "|"), reply);
    if (only_joined) joined.insert(joined.rfind(") mapfile"), "=");
  }
  std::sort(flags.begin(), flags.end());
  // Words are split at `=`, which then is a word.
  return fmt::format(
      "# bash completion of {0}: source this file, or put it into share/bash-completion/completions.\n_{0}() {{\n  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} sign=\n"
      "  if [[ $word == = ]]; then word= sign==\n  elif [[ $before == = ]]; then before=${{COMP_WORDS[COMP_CWORD - 2]}} sign==\n  fi\n"
      "  case $before$sign in\n{3}  esac\n  case $before in\n{1}  esac\n  if [[ $word == -* ]]; then\n    mapfile -t COMPREPLY < <(compgen -W '{2}' -- \"$word\")\n  else\n"
      "    mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n  fi\n}}\ncomplete -o filenames -F _{0} {0}\n",
      program.name, cases, fmt::join(flags, " "), joined);
}

std::string zsh_completion(const ProgramText& program) {
  std::string specs;
  for (const OptionText* option : options_of(program)) {
    const auto choices = choices_of(*option);
    std::string help = option->help, value;
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
    for (const std::string& flag : option->names)
      specs += fmt::format("  {} \\\n", shell_quoted(fmt::format("*{}{}[{}]{}", flag, sign, help, value)));
  }
  return fmt::format(
      "#compdef {0}\n# zsh completion of {0}: put this file as _{0} into a folder of $fpath.\n_arguments \\\n{1}  '*:file:_files'\n",
      program.name, specs);
}

std::string fish_completion(const ProgramText& program) {
  std::string out =
      fmt::format("# fish completion of {}: put this file into share/fish/vendor_completions.d.\n", program.name);
  for (const OptionText* option : options_of(program)) {
    out += "complete -c " + program.name;
    // A name of one letter after one dash; of several letters after one dash there are none.
    for (const std::string& name : option->names)
      out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    const auto choices = choices_of(*option);
    if (takes_joined_value(*option)) {
      out += fmt::format(" -d {}\n", shell_quoted(option->help));
      for (const std::string& choice : choices)
        out += fmt::format("complete -c {} -n {} -a {}\n", program.name,
                           shell_quoted(fmt::format("string match -q -- '--*' (commandline -ct)")),
                           shell_quoted(fmt::format("{}={}", option->names.back(), choice)));
      continue;
    }
    if (!choices.empty()) out += fmt::format(" -x -a {}", shell_quoted(fmt::format("{}", fmt::join(choices, " "))));
    else if (takes_value(*option) && needs_value(*option)) out += is_path(*option) ? " -r" : " -x";
    out += fmt::format(" -d {}\n", shell_quoted(option->help));
  }
  return out;
}

std::string manual_page(const ProgramText& program, const std::string& version) {
  const std::string& name = program.name;
  std::string summary = program.summary;
  if (summary.starts_with(name + ": ")) summary.erase(0, name.size() + 2);
  std::string out = fmt::format(".TH {} 1 \"\" \"sialx {}\" \"sialx\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n.B {}\n",
                                upper_case(name), version, name, roff(summary), name);
  for (const OptionText& option : program.options)
    if (option.positional) out += fmt::format(".RI [ {} ...]\n", roff(option.names.front()));
  out += "[options]\n";
  std::vector<std::string> groups;
  for (const OptionText& option : program.options)
    if (std::find(groups.begin(), groups.end(), option.group) == groups.end()) groups.push_back(option.group);
  for (const std::string& group : groups) {
    out += fmt::format(".SH {}\n", upper_case(roff(group)));
    for (const OptionText& option : program.options)
      if (option.group == group)
        out += fmt::format(".TP\n.B {}{}\n{}\n", roff(fmt::format("{}", fmt::join(option.names, ", "))),
                           roff(value_after(option)), roff(option.help));
  }
  if (!program.footer.empty()) out += fmt::format(".SH NOTES\n{}\n", roff(program.footer));
  return out;
}

}  // namespace

bool takes_joined_value(const OptionText& option) { return !takes_value(option) && !choices_of(option).empty(); }

std::string value_after(const OptionText& option) {
  if (takes_joined_value(option)) return fmt::format("[={}]", value_text(option));
  return takes_value(option) ? " " + value_text(option) : "";
}

std::string program_manual(const ProgramText& program, const std::string& form, const std::string& version) {
  if (form == "man") return manual_page(program, version);
  if (form == "bash") return bash_completion(program);
  if (form == "zsh") return zsh_completion(program);
  if (form == "fish") return fish_completion(program);
  return {};
}

}  // namespace sial
