#pragma once
// The command line of a program: options are declared with the variables that take their values, then words are read.
// Help, manual page and completions follow from what is declared. The variables outlive the reading.

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/program/manual/manual.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace sial {

class CommandLine {
 public:
  /// What is wrong with the words.
  struct Error : std::runtime_error {
    using runtime_error::runtime_error;
  };
  /// Nothing is: they ask for help.
  struct HelpAsked final : Error {
    using Error::Error;
  };

  /// Says more of an option that was declared.
  class Option {
   public:
    explicit Option(CLI::Option* option) : option_(option) {}
    Option& group(const std::string& heading);
    /// The value in help.
    Option& type_name(const std::string& name);
    Option& choices(const std::vector<std::string>& texts);
    Option& range(int least, int most);
    /// `problem`: what is wrong with a value, empty where nothing is.
    Option& check(std::function<std::string(const std::string&)> problem);
    /// Of a list: so many values in all.
    Option& values(int count);
    /// The value may be left out.
    Option& value_optional();
    /// In one text, for a list.
    Option& delimiter(char c);

   private:
    CLI::Option* option_;
  };

  explicit CommandLine(std::string summary = {}, std::string program = {});
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  /// `flags`: "-o,--output", or a name without dashes, of a positional. A list takes a value each time that its option
  /// is given, or all positionals that are left.
  template <class T>
  Option add_option(const std::string& flags, T& variable, const std::string& help = {});
  Option add_flag(const std::string& flags, bool& variable, const std::string& help);
  /// With a value, where there is one, joined to it.
  Option add_flag(const std::string& flags, std::string& variable, const std::string& help);
  void footer(const std::string& text);

  /// Error, or HelpAsked.
  void parse(std::vector<std::string> words);
  /// Splits one text into words, as a shell does.
  void parse_text(const std::string& text);
  bool is_given(const std::string& flag) const;
  /// Prints the help. Returns the exit code.
  int show_help() const;
  ProgramText text() const;

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace sial
