#include "runtime/core/job/options.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "runtime/core/base/error.h"
#include "runtime/core/base/names.h"
#include "runtime/core/base/number.h"
#include "runtime/core/job/duration.h"
#include "runtime/core/job/job.h"
#include "runtime/core/job/numa.h"
#include "runtime/core/job/spill.h"

namespace sial {
namespace {

using namespace option_types;

constexpr OptionRecord unrecorded{};
constexpr OptionRecord always(const char* key) { return {key, OptionRecord::When::always}; }
constexpr OptionRecord given(const char* key) { return {key, OptionRecord::When::given}; }
constexpr OptionRecord elsewhere(const char* key) { return {key, OptionRecord::When::elsewhere}; }

#define SETTING(name, group, flags, type, preset, key, record, help) \
  Option{OptionId::name, OptionGroup::group, flags, type, preset, key, record, help},
#define JOB_OPTION(name, group, flags, type, preset, record, target, help) \
  Option{OptionId::name, OptionGroup::group, flags, type, preset, "", record, help},
#define OPTION(name, group, flags, type, preset, record, target, help) \
  Option{OptionId::name, OptionGroup::group, flags, type, preset, "", record, help},
constexpr Option table[] = {
#include "runtime/core/job/options.def"
};
#undef SETTING
#undef JOB_OPTION
#undef OPTION

constexpr std::array groups{OptionGroup::job,         OptionGroup::programs,   OptionGroup::kernels,
                            OptionGroup::device,      OptionGroup::ranks,      OptionGroup::watch,
                            OptionGroup::checkpoints, OptionGroup::statistics, OptionGroup::runs,
                            OptionGroup::legacy,      OptionGroup::test};

/// "section.key" in two.
std::pair<std::string_view, std::string_view> split_key(std::string_view key) {
  const std::size_t dot = key.find('.');
  if (dot == std::string_view::npos) return {"", key};
  return {key.substr(0, dot), key.substr(dot + 1)};
}

/// The texts that `choices` separates by |.
std::vector<std::string_view> choices_of(std::string_view choices) {
  std::vector<std::string_view> result;
  while (true) {
    const std::size_t bar = choices.find('|');
    result.push_back(choices.substr(0, bar));
    if (bar == std::string_view::npos) return result;
    choices.remove_prefix(bar + 1);
  }
}

bool is_choice(std::string_view choices, std::string_view text) {
  const auto known = choices_of(choices);
  return std::find(known.begin(), known.end(), text) != known.end();
}

/// The choice that was probably meant, empty where there is none.
std::string suggestion(const OptionType& type, std::string_view text) {
  return type.kind == OptionType::Kind::one_of ? did_you_mean(text, choices_of(type.shown)) : std::string();
}

std::string choices_text(std::string_view choices) {
  std::string text;
  for (const char c : choices) text += c == '|' ? std::string(", ") : std::string(1, c);
  const std::size_t last = text.rfind(", ");
  return last == std::string::npos ? text : text.replace(last, 2, " or ");
}

std::string whole_problem(const OptionType& type, std::string_view text) {
  if (read_integer(text, type.least, type.most)) return {};
  if (type.most == OptionType{}.most) return fmt::format("`{}` is not a whole number of {} or more", text, type.least);
  return fmt::format("`{}` is not a whole number from {} to {}", text, type.least, type.most);
}

bool has_flag(const Option& option, std::string_view flag) {
  std::string_view rest = option.flags;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    if (rest.substr(0, comma) == flag) return true;
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
  }
  return false;
}

/// A file name, or `none` in any case for no file.
std::string file_or_none(const std::string& text) { return lower_case(text) == "none" ? "none" : text; }

/// Takes the memory of a rank. A small number without a unit was meant to have one.
std::size_t rank_memory(const std::string& text) {
  constexpr std::size_t min_without_unit = 1'000'000;
  const std::size_t bytes = parse_memory(text);
  if (bytes < min_without_unit && read_real(text))
    throw InputError(fmt::format("`{}` without a unit are bytes, too few to run with", text),
                     fmt::format("with a unit: `{0}GB` or `{0}MB`, per rank", text));
  return bytes;
}

/// Smaller steps drown in what energies are not converged to, and larger ones leave the parabola.
double gradient_step(const std::string& text) {
  const double step = read_real(text).value_or(0);
  if (!(step >= 1e-5 && step <= 0.1))
    throw InputError(fmt::format("a step of {} bohr gives no derivative", text), "from 0.00001 to 0.1; 0.001 is usual");
  return step;
}

/// For a cell of a table.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

/// "-d,--dat" as "`-d FILE`, `--dat FILE`".
std::string flags_markdown(const Option& option) {
  std::string out;
  std::string_view rest = option.flags;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    std::string_view flag = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
    if (flag.starts_with('!')) flag.remove_prefix(1);
    std::string shown = option.type.shown;
    if (option.type.kind == OptionType::Kind::optional) shown = "[" + shown + "]";
    if (option.type.kind == OptionType::Kind::joined) shown = "[=" + shown + "]";
    if (!flag.starts_with('-')) flag = {};
    const bool apart = !flag.empty() && !shown.empty() && option.type.kind != OptionType::Kind::joined;
    out += fmt::format("{}`{}{}{}`", out.empty() ? "" : ", ", flag.substr(0, flag.find('{')), apart ? " " : "",
                       escaped(shown));
  }
  return out;
}

}  // namespace

std::span<const Option> all_options() { return table; }

const Option& option(OptionId id) { return table[static_cast<std::size_t>(id)]; }

const char* heading(OptionGroup group) {
  switch (group) {
    case OptionGroup::job: return "Job";
    case OptionGroup::programs: return "Programs";
    case OptionGroup::kernels: return "Block kernels";
    case OptionGroup::device: return "Devices";
    case OptionGroup::ranks: return "Ranks";
    case OptionGroup::watch: return "Looking after the job";
    case OptionGroup::checkpoints: return "Checkpoints and restarts";
    case OptionGroup::statistics: return "Statistics";
    case OptionGroup::runs: return "Other things than one run";
    case OptionGroup::legacy: return "Jobs of ACES4";
    case OptionGroup::test: return "";
  }
  return "";
}

std::string option_help(const Option& option) {
  return *option.preset ? fmt::format("{} (default: {})", option.help, option.preset) : option.help;
}

std::string option_problem(const OptionType& type, const std::string& text) {
  using Kind = OptionType::Kind;
  switch (type.kind) {
    case Kind::flag:
    case Kind::word:
    case Kind::path:
    case Kind::repeated:
    case Kind::name_list:
    case Kind::optional: return {};
    case Kind::joined:
    case Kind::one_of:
      return is_choice(type.shown, text) ? std::string()
                                         : fmt::format("`{}` is not {}", text, choices_text(type.shown));
    case Kind::whole:
    case Kind::listed: return whole_problem(type, text);
    case Kind::whole_or: {
      const std::string_view texts = std::string_view(type.shown).substr(std::string_view(type.shown).find('|') + 1);
      if (is_choice(texts, text) || whole_problem(type, text).empty()) return {};
      return fmt::format("`{}` is not {}, or a whole number from {} to {}", text, choices_text(texts), type.least,
                         type.most);
    }
    case Kind::above_zero:
      return read_real(text).value_or(0) > 0 ? std::string() : fmt::format("`{}` is not a number above 0", text);
  }
  return {};
}

std::vector<std::string_view> option_keys(std::string_view section) {
  std::vector<std::string_view> keys;
  for (const Option& row : table)
    if (const auto [in, key] = split_key(row.key); !key.empty() && in == section) keys.push_back(key);
  return keys;
}

const Option* option_of_key(std::string_view section, std::string_view key) {
  for (const Option& row : table)
    if (split_key(row.key) == std::pair(section, key) && !key.empty()) return &row;
  return nullptr;
}

std::string place_of_key(std::string_view key, std::span<const KeySection> others) {
  std::string sections;
  const auto add = [&](std::string_view section, const auto& keys) {
    if (std::find(std::begin(keys), std::end(keys), key) != std::end(keys))
      sections += fmt::format("{}[{}]", sections.empty() ? "" : " or ", section);
  };
  for (const KeySection& section : others) add(section.name, section.keys);
  add("segments", segment_keys);
  if (!sections.empty()) return fmt::format("`{}` belongs in {}", key, sections);
  for (const Option& row : table) {
    const auto [section, name] = split_key(row.key);
    if (!name.empty() && name == key)
      return section.empty() ? fmt::format("`{}` stands before the first section", key)
                             : fmt::format("`{}` belongs in [{}]", key, section);
  }
  std::string flag = fmt::format("--{}", key);
  std::replace(flag.begin(), flag.end(), '_', '-');
  for (const Option& row : table)
    if (has_flag(row, flag)) return fmt::format("`{}` is an option of the command line", flag);
  return {};
}

bool is_recorded(const Option& option, bool given, std::string_view value) {
  return option.record.when == OptionRecord::When::always ||
         (option.record.when == OptionRecord::When::given && given && value != option.preset);
}

void set_option(Job& job, OptionId id, const std::string& text) {
  if (const std::string problem = option_problem(option(id).type, text); !problem.empty())
    throw InputError(problem, suggestion(option(id).type, text));
  job.settings[id] = text;
  switch (id) {
    case OptionId::memory: job.memory_per_rank = rank_memory(text); return;
    case OptionId::spill: job.spill = parse_spill(text); return;
    case OptionId::numa: job.numa = parse_numa(text); return;
    case OptionId::look_ahead: job.look_ahead = parse_look_ahead(text); return;
    case OptionId::integrals: job.data.choices["integrals"] = text; return;
    case OptionId::keep_integrals: job.keep_integrals = text == "auto"; return;
    case OptionId::print_format: job.print_format = text; return;
    case OptionId::output_dir: job.output_dir = text; return;
    case OptionId::results: job.results_path = file_or_none(text); return;
    case OptionId::stamp: return;
    case OptionId::save: job.saved_arrays = parse_array_list(text); return;
    case OptionId::run_json: job.run_json_path = file_or_none(text); return;
    case OptionId::molden: job.molden_path = file_or_none(text); return;
    case OptionId::fcidump: job.fcidump_path = file_or_none(text); return;
    case OptionId::trexio: job.trexio_path = file_or_none(text); return;
    case OptionId::checkpoint_every: job.checkpoint_every = parse_checkpoint_every(text); return;
    case OptionId::checkpoint_dir: job.checkpoint_dir = text; return;
    case OptionId::checkpoint_local: job.checkpoint_local = text == "none" ? std::string() : text; return;
    case OptionId::time_limit: job.time_limit = parse_duration(text, 1); return;
    case OptionId::guess: job.guess_path = file_or_none(text); return;
    case OptionId::gradient: job.gradient_scalar = lower_case(text); return;
    case OptionId::gradient_step: job.gradient_step = gradient_step(text); return;
    case OptionId::gradient_symmetry: job.gradient_symmetry = text; return;
    default: throw InputError(fmt::format("`{}` is no setting of a job", option(id).flags));
  }
}

std::string options_markdown(bool for_tests) {
  std::string out =
      for_tests
          ? "# Options for tests and experiments\n\nPrinted by `sialrun --manual tests`. `sialrun` takes these as it takes [the others](../runtime/program/job/OPTIONS.md), and shows them nowhere else.\n\n"
          : "# Options of sialrun\n\nPrinted by `sialrun --manual markdown`. `sialrun --manual man` prints the manual page, `--manual bash`, `zsh` or `fish` the completions of a shell. Options for tests and experiments have [a page](../../../tests/OPTIONS.md) of their own.\n\n";
  out +=
      "- *job.toml*: the key that states the same in a job file; `run.time_limit` is the key `time_limit` under `[run]`. The command line goes before the file.\n"
      "- *run.json*: the key under `options` where a run records it: always, or where the command line or the job file states it and it is not the default.\n\n";
  for (const OptionGroup group : groups) {
    if ((group == OptionGroup::test) != for_tests) continue;
    if (!for_tests) out += fmt::format("## {}\n\n", heading(group));
    out += "| option | does | default | job.toml | run.json |\n|---|---|---|---|---|\n";
    for (const Option& row : table)
      if (row.group == group)
        out += fmt::format("| {} | {} | {} | {} | {} |\n", flags_markdown(row), escaped(row.help), escaped(row.preset),
                           *row.key ? fmt::format("`{}`", row.key) : "",
                           *row.record.key ? fmt::format("`{}`", row.record.key) : "");
    out += '\n';
  }
  out.pop_back();
  return out;
}

}  // namespace sial
