// The machine that a prediction is for, as `--predict` names it.

#include <fmt/format.h>

#include <optional>
#include <set>
#include <sstream>
#include <string_view>

#include "compiler/report/prediction/predict.h"
#include "runtime/core/base/error.h"
#include "runtime/core/base/number.h"

namespace sial::report {
namespace {

constexpr const char* target_example = "write for example ranks=64,latency=2us,bandwidth=12GB/s";

double quantity(const std::string& key, const std::string& text,
                std::initializer_list<std::pair<const char*, double>> units) {
  std::string_view unit = text;
  const std::optional<double> value = take_real(unit);
  if (!value) throw SialError(fmt::format("`{}={}`: a number is missing", key, text), target_example);
  if (*value < 0) throw SialError(fmt::format("`{}={}` is less than nothing", key, text), target_example);
  std::string known;
  for (const auto& [name, factor] : units) {
    if (unit == name) return *value * factor;
    known += (known.empty() ? "" : ", ") + std::string(name);
  }
  throw SialError(fmt::format("`{}={}` has no unit that is known here", key, text),
                  known.empty() ? target_example : fmt::format("units of {}: {}", key, known));
}

int whole(const std::string& key, const std::string& text, int least) {
  const std::optional<std::int64_t> value = read_integer(text, least, 1'000'000);
  if (!value)
    throw SialError(fmt::format("`{}={}` is not a whole number from {} to 1000000", key, text, least), target_example);
  return static_cast<int>(*value);
}

}  // namespace

Target read_target(const std::string& text) {
  Target t;
  std::set<std::string> given;
  std::istringstream in(text);
  for (std::string item; std::getline(in, item, ',');) {
    const std::size_t eq = item.find('=');
    const std::string key = item.substr(0, eq), value = eq == std::string::npos ? "" : item.substr(eq + 1);
    if (key == "ranks") t.ranks = whole(key, value, 1);
    else if (key == "ranks-per-node") t.ranks_per_node = whole(key, value, 0);
    else if (key == "servers") t.servers = whole(key, value, 0);
    else if (key == "latency") t.latency = quantity(key, value, {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}});
    else if (key == "bandwidth")
      t.bandwidth = quantity(key, value, {{"B/s", 1}, {"kB/s", 1e3}, {"MB/s", 1e6}, {"GB/s", 1e9}});
    else if (key == "look-ahead")
      t.look_ahead = value == "auto" ? Target::automatic : value == "off" ? 0 : whole(key, value, 0);
    else
      throw SialError(
          fmt::format("unknown key `{}` in `{}`", key, text),
          "known: ranks, ranks-per-node (0: all on one node), servers, latency, bandwidth, look-ahead (auto, off or a number of blocks)");
    if (!given.insert(key).second)
      throw SialError(fmt::format("`{}` is given twice in `{}`", key, text), target_example);
  }
  if (t.ranks < 1) throw SialError(fmt::format("`{}` does not say how many ranks there are", text), target_example);
  if (t.bandwidth <= 0) throw SialError("nothing travels over a bandwidth of 0", target_example);
  return t;
}

}  // namespace sial::report
