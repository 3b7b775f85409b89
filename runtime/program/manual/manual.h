#pragma once
// What users of a program install beside it: its manual page and what shells need to complete its options. Both are
// made from the options that the program has declared, so that they cannot differ from what it accepts. Values are
// completed by their type names: texts separated by `|` are choices, FILE and FOLDER are names of files.

#include <memory>
#include <string>

#include <CLI/CLI.hpp>

namespace sial {

/// Of options that help, manual page and completions leave out. Without a group messages would not name them.
inline constexpr const char* hidden_group = "hidden";

/// For `--help`: values as in the manual page.
std::shared_ptr<CLI::FormatterBase> help_formatter();

/// `form`: man (the manual page, in roff), or bash, zsh or fish (completions for that shell).
std::string program_manual(const CLI::App& app, const std::string& form, const std::string& version);

}  // namespace sial
