#pragma once
// What users of a program install beside it: its manual page and what shells need to complete its options. Both are
// made from the options that the program has declared, so that they cannot differ from what it accepts. Values are
// completed by their type names: texts separated by `|` are choices, FILE and FOLDER are names of files.

#include <string>
#include <vector>

namespace sial {

/// Of options that help, manual page and completions leave out. Without a group messages would not name them.
inline constexpr const char* hidden_group = "hidden";

/// An option as it was declared.
struct OptionText {
  std::vector<std::string> names;  // with their dashes
  std::string type, help, group;
  int min_values = 0, max_values = 0;
  bool positional = false;
};

/// A command line as it was declared.
struct ProgramText {
  std::string name, summary, footer;
  std::vector<OptionText> options;
};

/// A flag whose value, where there is one, is joined to it: --progress=line.
bool takes_joined_value(const OptionText& option);
/// " VALUE", "[=a|b]" or nothing.
std::string value_after(const OptionText& option);

/// `form`: man (the manual page, in roff), or bash, zsh or fish (completions for that shell).
std::string program_manual(const ProgramText& program, const std::string& form, const std::string& version);

}  // namespace sial
