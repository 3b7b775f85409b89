// Texts that job files and options share: amounts of memory, depths of look-ahead, lists of arrays.

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "runtime/core/base/error.h"
#include "runtime/core/base/names.h"
#include "runtime/core/base/number.h"
#include "runtime/core/job/job.h"

namespace sial {

int parse_look_ahead(std::string_view text) {
  if (text == "auto") return -1;
  if (text == "off") return 0;
  const std::optional<std::int64_t> blocks = read_integer(text, 0, 4096);
  if (!blocks)
    throw InputError(fmt::format("`{}` is no depth of look-ahead", text),
                     "auto, off, or a number of blocks up to 4096");
  return static_cast<int>(*blocks);
}

std::vector<std::string> parse_array_list(std::string_view text) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string name = lower_case(text.substr(begin, end - begin));
    begin = end + 1;
    if (name.empty() || name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") != std::string::npos)
      throw InputError(fmt::format("`{}` is no list of arrays", text), "names of arrays, separated by commas: t1,t2");
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

std::optional<std::size_t> read_memory(std::string_view text) {
  std::string_view rest = text;
  const std::optional<double> amount = take_real(rest);
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  const std::string unit = lower_case(rest);
  double factor = 0.0;
  for (auto [name, f] : {std::pair{"", 1.0},
                         {"b", 1.0},
                         {"kb", 1e3},
                         {"mb", 1e6},
                         {"gb", 1e9},
                         {"tb", 1e12},
                         {"kib", 0x1p10},
                         {"mib", 0x1p20},
                         {"gib", 0x1p30},
                         {"tib", 0x1p40}})
    if (unit == name) factor = f;
  const double bytes = amount.value_or(0) * factor;
  if (factor == 0.0 || !(bytes >= 1.0) || bytes > 0x1p60) return std::nullopt;
  return static_cast<std::size_t>(bytes);
}

std::size_t parse_memory(std::string_view text) {
  const std::optional<std::size_t> bytes = read_memory(text);
  if (!bytes)
    throw InputError(fmt::format("`{}` is not an amount of memory", text), "for example 512 MB or 4 GiB, per rank");
  return *bytes;
}

void check_restored_files(const Job& job) {
  for (const std::string& file : job.restore_files)
    if (std::error_code ignored; !std::filesystem::exists(file, ignored))
      throw InputError(fmt::format("there is no results file `{}`", file), {}, job.restore_place);
}

}  // namespace sial
