#pragma once
// The options of sialrun as a table, made of options.def: what the command line, job files, run.json, the manual and
// shells' completions are generated from. Constants; nothing here depends on a run.

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sial {

struct Job;

/// The type of an option: how its value is written, checked and completed.
struct OptionType {
  enum class Kind {
    flag,        // no value
    word,        // any text
    path,        // a file or folder
    one_of,      // one of the texts that `shown` separates by |
    whole,       // a whole number within bounds
    whole_or,    // the same, or one of the texts that `shown` lists after its first |
    listed,      // whole numbers separated by commas
    name_list,   // names separated by commas; in job files also a list
    above_zero,  // a real number
    repeated,    // a text each time that the option is given
    optional,    // a path that may be left out
    joined,      // as one_of, after `=`; it may be left out
  };
  Kind kind = Kind::word;
  const char* shown = "";  // the value in help
  std::int64_t least = 0, most = std::numeric_limits<std::int32_t>::max();
};

namespace option_types {
constexpr OptionType flag() { return {OptionType::Kind::flag}; }
constexpr OptionType word(const char* shown) { return {OptionType::Kind::word, shown}; }
constexpr OptionType path(const char* shown) { return {OptionType::Kind::path, shown}; }
constexpr OptionType one_of(const char* texts) { return {OptionType::Kind::one_of, texts}; }
constexpr OptionType whole(const char* shown, std::int64_t least, std::int64_t most = OptionType{}.most) {
  return {OptionType::Kind::whole, shown, least, most};
}
constexpr OptionType whole_or(const char* shown, std::int64_t least, std::int64_t most) {
  return {OptionType::Kind::whole_or, shown, least, most};
}
constexpr OptionType listed(const char* shown, std::int64_t least) { return {OptionType::Kind::listed, shown, least}; }
constexpr OptionType name_list(const char* shown) { return {OptionType::Kind::name_list, shown}; }
constexpr OptionType above_zero(const char* shown) { return {OptionType::Kind::above_zero, shown}; }
constexpr OptionType repeated(const char* shown) { return {OptionType::Kind::repeated, shown}; }
constexpr OptionType optional(const char* shown) { return {OptionType::Kind::optional, shown}; }
constexpr OptionType joined(const char* texts) { return {OptionType::Kind::joined, texts}; }
}  // namespace option_types

/// Headings of the help, in this order; what is for tests and experiments has none, and is in neither help nor
/// completions.
enum class OptionGroup { job, programs, kernels, device, ranks, watch, checkpoints, statistics, runs, legacy, test };

/// The record of an option in run.json.
struct OptionRecord {
  enum class When {
    never,
    always,
    given,
    elsewhere
  };  // given: where it is given, and not the default; elsewhere: by who knows what it became
  const char* key = "";
  When when = When::never;
};

enum class OptionId : std::int32_t {
#define SETTING(name, ...) name,
#define JOB_OPTION(name, ...) name,
#define OPTION(name, ...) name,
#include "runtime/core/job/options.def"
#undef SETTING
#undef JOB_OPTION
#undef OPTION
};

struct Option {
  OptionId id;
  OptionGroup group;
  const char* flags;
  OptionType type;
  const char* preset;  // the default, for people
  const char* key;     // of job files, "" where there is none
  OptionRecord record;
  const char* help;
};

/// In the order of OptionId.
std::span<const Option> all_options();
const Option& option(OptionId id);

/// "Job", "Block kernels", ...; of `test` empty.
const char* heading(OptionGroup group);

/// The help with the default after it.
std::string option_help(const Option& option);

/// The error in a value, empty where there is none.
std::string option_problem(const OptionType& type, const std::string& text);

/// Keys of a section of job files that are options; "" is the top level.
std::vector<std::string_view> option_keys(std::string_view section);
/// The option that `section.key` of a job file sets.
const Option* option_of_key(std::string_view section, std::string_view key);
/// A section of job files that holds no options, and its keys.
struct KeySection {
  std::string_view name;
  std::vector<std::string_view> keys;
};
/// The right place of a key that stands in the wrong one: another section, of which `others` hold no options, or the
/// command line. Empty for none that is known.
std::string place_of_key(std::string_view key, std::span<const KeySection> others);

/// Lets a setting of the command line or of a job file act on the job. Throws SialError for what cannot be read.
void set_option(Job& job, OptionId id, const std::string& text);

/// Whether run.json records a given value under the key of the option.
bool is_recorded(const Option& option, bool given, std::string_view value);

/// The table of the manual, in Markdown: a heading and a table for each group; or that of the options for tests.
std::string options_markdown(bool for_tests);

}  // namespace sial
