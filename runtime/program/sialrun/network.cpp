#include "runtime/program/sialrun/network.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "runtime/core/base/error.h"
#include "runtime/core/base/number.h"

namespace sial {
namespace {

/// "50us", "1.5 ms", "7GB/s", "100": a number with an optional unit, in seconds or bytes per second.
double quantity(const std::string& text) {
  std::string_view unit = text;
  const std::optional<double> value = take_real(unit);
  if (!value)
    throw InputError(fmt::format("`{}` is not a number with a unit", text),
                     "write for example latency=50us,bandwidth=7GB/s");
  if (*value < 0)
    throw InputError(fmt::format("`{}` is no quantity", text), "write for example latency=50us,bandwidth=7GB/s");
  for (const auto& [name, factor] : std::initializer_list<std::pair<const char*, double>>{{"", 1},
                                                                                          {"s", 1},
                                                                                          {"ms", 1e-3},
                                                                                          {"us", 1e-6},
                                                                                          {"ns", 1e-9},
                                                                                          {"B/s", 1},
                                                                                          {"kB/s", 1e3},
                                                                                          {"MB/s", 1e6},
                                                                                          {"GB/s", 1e9}})
    if (unit == name) return *value * factor;
  throw InputError(fmt::format("unknown unit `{}` in `{}`", unit, text), "known: s, ms, us, ns, B/s, kB/s, MB/s, GB/s");
}

int count(const std::string& text) {
  const std::optional<std::int64_t> value = read_integer(text, 0, 1'000'000'000);
  if (!value) throw InputError(fmt::format("`{}` is no count", text), "a whole number, as in ranks=3,seed=7");
  return static_cast<int>(*value);
}

/// Of `kernels=...`.
bool runs_kernels(const std::string& text) {
  if (text == "run") return true;
  if (text == "model") return false;
  throw InputError(fmt::format("there are no kernels `{}`", text),
                   "kernels=run executes them, kernels=model charges their time only");
}

/// "a=1,b=2" to (key, value) pairs.
std::vector<std::pair<std::string, std::string>> key_values(const std::string& text) {
  std::vector<std::pair<std::string, std::string>> result;
  std::istringstream in(text);
  for (std::string item; std::getline(in, item, ',');) {
    const std::size_t eq = item.find('=');
    if (eq == std::string::npos) throw InputError(fmt::format("`{}` is not of the form key=value", item));
    result.emplace_back(item.substr(0, eq), item.substr(eq + 1));
  }
  return result;
}

}  // namespace

NetworkModel network_model(const std::string& text) {
  NetworkModel network;
  for (const auto& [key, value] : key_values(text)) {
    if (key == "latency") network.latency = quantity(value);
    else if (key == "bandwidth") network.bandwidth = quantity(value);
    else throw InputError(fmt::format("unknown key `{}` in `{}`", key, text), "known: latency, bandwidth");
  }
  return network;
}

SimulationOptions simulation_options(const std::string& simulate, const std::string& network, int ranks_per_node,
                                     int servers) {
  SimulationOptions options;
  options.ranks_per_node = ranks_per_node;
  options.servers = servers;
  for (const std::string& text : {simulate, network}) {
    for (const auto& [key, value] : key_values(text)) {
      if (key == "ranks") options.ranks = count(value);
      else if (key == "seed") options.seed = static_cast<std::uint64_t>(count(value));
      else if (key == "ranks-per-node") options.ranks_per_node = count(value);
      else if (key == "servers") options.servers = count(value);
      else if (key == "latency") options.latency = quantity(value);
      else if (key == "bandwidth") options.bandwidth = quantity(value);
      else if (key == "disorder") options.disorder = count(value) != 0;
      else if (key == "kernels") options.moves_data = runs_kernels(value);
      else if (key == "iterations") options.iterations = std::max(1, count(value));
      else
        throw InputError(
            fmt::format("unknown key `{}` in `{}`", key, text),
            "known: ranks, seed, ranks-per-node, servers, latency, bandwidth, disorder, kernels, iterations");
    }
  }
  if (options.iterations > 0 && options.moves_data)
    throw InputError("`iterations` is for `kernels=model`: what kernels compute ends the loops of a program",
                     "--simulate ranks=64,kernels=model,iterations=2");
  // Each rank of a simulation has a stack of its own, and its helper another.
  constexpr int max_ranks = 1024;
  if (options.ranks < 1 || options.ranks > max_ranks)
    throw InputError(fmt::format("a simulation has from 1 to {} ranks", max_ranks), "--simulate ranks=3,seed=7");
  return options;
}

}  // namespace sial
