// `--set` and `--segments` of the command line.

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/core/base/error.h"
#include "runtime/core/base/names.h"
#include "runtime/core/base/number.h"
#include "runtime/core/job/segments.h"

namespace sial {

std::int32_t segment_size(std::int64_t value, std::string_view key) {
  if (value < 1 || value > std::numeric_limits<std::int32_t>::max())
    throw InputError(fmt::format("{} is not a segment size of `{}`", value, key), "segments hold at least one element");
  return static_cast<std::int32_t>(value);
}

void apply_set(Job& job, std::string_view text) {
  std::size_t equals = text.find('=');
  std::string name = lower_case(text.substr(0, equals));
  if (equals == std::string_view::npos || !is_value_name(name))
    throw InputError(fmt::format("`--set {}` is not name=value", text), "for example --set norb=4 or --set conv=1e-8");
  std::string value(text.substr(equals + 1));
  const std::optional<double> real = read_real(value);
  if (!real)
    throw InputError(fmt::format("`{}` in `--set {}` is not a number", value, text),
                     "an integer sets a `predefined int`, a real such as 1.0 a `predefined scalar`");
  const std::optional<std::int64_t> integer =
      read_integer(value, std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max());
  if (!integer && value.find_first_of(".eEdD") == std::string::npos)
    throw InputError(fmt::format("`{}` in `--set {}` does not fit a 32-bit integer", value, text));
  // A name the job already knows as a real keeps its type: --set conv=1 is meant as 1.0.
  if (integer && !job.data.scalars.count(name)) job.data.ints[name] = static_cast<std::int32_t>(*integer);
  else job.data.scalars[name] = *real, job.data.ints.erase(name);
  job.stated_values.insert(name);
  job.value_places.erase(name);
  derive_job_data(job);
}

namespace {

/// One `kind=sizes` of `--segments text`.
void request_segments(Job& job, std::string_view one, std::string_view text) {
  std::size_t equals = one.find('=');
  std::string key = lower_case(one.substr(0, equals));
  std::vector<std::string_view> known(std::begin(segment_keys), std::end(segment_keys));
  constexpr std::string_view target_suffix = "_target";
  const bool is_target = key.ends_with(target_suffix);
  if (is_target) key.resize(key.size() - target_suffix.size());
  if (equals == std::string_view::npos)
    throw InputError(fmt::format("`--segments {}` is not kind=sizes", text), "for example --segments ao=8,8,4");
  if (std::find(known.begin(), known.end(), key) == known.end()) {
    const std::string written = lower_case(one.substr(0, equals));
    std::vector<std::string> targets;
    for (std::string_view k : segment_keys) targets.push_back(fmt::format("{}{}", k, target_suffix));
    if (written.find('_') != std::string::npos) known.insert(known.end(), targets.begin(), targets.end());
    throw InputError(fmt::format("unknown index kind `{}` in `--segments {}`", written, text),
                     did_you_mean(written, known, fmt::format("known here: {}", fmt::join(known, ", "))));
  }
  SegmentRequest r;
  std::string_view rest = one.substr(equals + 1);
  while (rest != "auto") {
    std::size_t comma = rest.find(',');
    std::string_view part = rest.substr(0, comma);
    const std::optional<std::int64_t> value = read_integer(part);
    if (!value)
      throw InputError(fmt::format("`{}` in `--segments {}` is not a segment size", part, text),
                       is_target ? fmt::format("for example --segments {}{}=4", key, target_suffix)
                                 : "for example --segments ao=8,8,4");
    r.sizes.push_back(segment_size(*value, key));
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  if (is_target) {
    if (r.sizes.size() != 1)
      throw InputError(fmt::format("`--segments {}` needs one size", text), "for example --segments ao_target=8");
    r.target = r.sizes.front();
    r.sizes.clear();
  }
  job.segment_requests[key] = r;
}

}  // namespace

void apply_segments(Job& job, std::string_view text) {
  if (lower_case(text) == "auto") job.segment_requests.clear();
  else
    // A name after a comma begins another kind: occ_target=3,virt_target=7.
    for (std::size_t begin = 0; begin < text.size() || begin == 0;) {
      const std::size_t equals = text.find('=', begin),
                        next = equals == std::string_view::npos ? equals : text.find('=', equals + 1);
      std::size_t end = next == std::string_view::npos ? text.size() : text.rfind(',', next);
      if (end == std::string_view::npos || end <= equals) end = text.size();
      request_segments(job, text.substr(begin, end - begin), text);
      begin = end + 1;
    }
  derive_job_data(job);
}

}  // namespace sial
