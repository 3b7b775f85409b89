// What an access costs in memory of the processor's own node, in memory interleaved over all nodes and in that of the
// farthest node, for five patterns from cached to chained over all of a large array; beside a published measurement.
// Where there is one node it prints the local times. Fails where a pattern has not read what it should, never on times.
//   bench_numa [--repeat N] [--mib N] [--large-pages] [--smoke] [--machine DESCRIPTION]
//     --repeat N     rounds whose medians count (5)
//     --mib N        bytes of each array (4 x last cache; at most 1/8 of a node's memory, 1024)
//     --large-pages  ask for them
//     --smoke        tiny arrays: what is printed means nothing
//     --machine D    placements of a described machine ("numa:2 core:1 pu:1"), which nobody carries out

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

#include "runtime/core/base/error.h"
#include "tests/bench/numa/report.h"

namespace {

using namespace sial;
using namespace sial::bench;

constexpr std::uint64_t cached_accesses = 1 << 27;
constexpr std::uint64_t cached_accesses_smoke = 1 << 16;
constexpr std::size_t smoke_bytes = 1 << 20;
constexpr int smoke_rounds = 2;

struct Options {
  int rounds = 5;
  std::size_t mib = 0;
  bool large_pages = false, smoke = false;
  std::string_view machine;
};

template <class Number>
Number positive(std::string_view option, std::string_view value, Number most) {
  Number number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc{} || end != value.data() + value.size() || number < 1 || number > most)
    throw InputError(fmt::format("{} {}: a number from 1 to {} is expected", option, value, most));
  return number;
}

Options read_options(int count, char** arguments) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string_view option = arguments[i];
    const std::string_view value = i + 1 < count ? arguments[i + 1] : "";
    if (option == "--smoke") options.smoke = true;
    else if (option == "--large-pages") options.large_pages = true;
    else if (option == "--repeat") options.rounds = positive<int>(option, value, 1000), ++i;
    else if (option == "--mib") options.mib = positive<std::size_t>(option, value, 256 << 10), ++i;  // 2^32 lines
    else if (option == "--machine") options.machine = value, ++i;
    else
      throw InputError(fmt::format("there is no option {}", option),
                       "[--repeat N] [--mib N] [--large-pages] [--smoke] [--machine DESCRIPTION]");
  }
  return options;
}

Extent make_extent(const Options& options, const NumaTopology& machine, const CacheSizes& caches) {
  Extent extent;
  extent.bytes = options.mib > 0 ? options.mib << 20 : array_bytes(machine, caches);
  if (options.smoke) extent.bytes = std::min(extent.bytes, smoke_bytes);
  // A node that arrays are bound to must have room: the system ends a process that it cannot give a page.
  for (const NumaNode& node : machine.nodes)
    if (node.bytes > 0 && extent.bytes > static_cast<std::size_t>(node.bytes) / 2)
      throw InputError(fmt::format("--mib {}: node {} has {} MiB", options.mib, node.number, node.bytes >> 20),
                       "an array takes at most half of a node's memory");
  const std::size_t half = std::min(caches.first / 2, extent.bytes);  // stays there beside what else a thread has
  extent.cached_lines = std::max(half / page_bytes, std::size_t{1}) * lines_per_page;
  const std::uint64_t accesses = options.smoke ? cached_accesses_smoke : cached_accesses;
  extent.cached_passes = std::max<std::uint64_t>(accesses / (extent.cached_lines * words_per_line), 1);
  extent.rounds = options.smoke ? std::min(options.rounds, smoke_rounds) : options.rounds;
  extent.large_pages = options.large_pages;
  return extent;
}

int run(const Options& options) {
  const bool described = !options.machine.empty();
  const NumaTopology machine = described ? described_machine(std::string(options.machine)) : this_machine();
  const std::shared_ptr<PageCalls> calls = described ? std::make_shared<RecordedPageCalls>() : make_system_page_calls();
  const Observer observer = pin_thread(machine);
  const CacheSizes caches = cache_sizes(std::max(observer.cpu, 0));
  const Setting setting{machine, observer, caches, make_extent(options, machine, caches)};
  fmt::print("{}", heading(setting));
  const Measured measured = measure(placements(machine, observer.node), *calls, setting.extent);
  fmt::print("{}{}", table(measured), json_line(setting, measured));
  for (const std::string& wrong : measured.wrong) fmt::print("FAILED: {}\n", wrong);
  return measured.wrong.empty() ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    return run(read_options(count, arguments));
  } catch (const SialError& error) {
    fmt::print(stderr, "bench_numa: {}\n", error.what());
    if (!error.hint().empty()) fmt::print(stderr, "  hint: {}\n", error.hint());
    return exit_code_of(error);
  }
}
