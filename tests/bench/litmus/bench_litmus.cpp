// How often the machine at hand shows an outcome of a litmus test. Fails where a forbidden one is seen, and where the
// reordering of a store and a load is not seen on two cores, since the test would show nothing then.
// Usage: bench_litmus [--trials N] [--shape NAME]

#include <algorithm>
#include <charconv>
#include <chrono>
#include <iostream>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "tests/bench/litmus/crew.h"
#include "tests/bench/litmus/shapes.h"

namespace {

using namespace sial::litmus;

std::string percent(std::uint64_t seen, std::uint64_t trials) {
  return seen == 0 ? "never" : fmt::format("{:.3g} %", 100.0 * static_cast<double>(seen) / static_cast<double>(trials));
}

void print_beside_published(std::optional<double> without, std::optional<double> with) {
  const auto ours = [](std::optional<double> share) {
    return !share ? std::string("-") : *share == 0 ? "never" : fmt::format("{:.3g} %", *share);
  };
  std::cout << fmt::format(
      "\nA store and a later load of another word change places, in so many trials:\n"
      "{:<44} {:>14} {:>12}\n"
      "{:<44} {:>14} {:>12}\n"
      "{:<44} {:>14} {:>12}\n"
      "{:<44} {:>14} {:>12}\n",
      "", "without fence", "with fence", "published two-socket machine, one socket", "98 %", "never",
      "the same, two sockets", "42 %", "never", "this machine", ours(without), ours(with));
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t trials = 100'000'000;
  std::string_view only;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view option = argv[i], value = argv[i + 1];
    if (option == "--shape") only = value;
    else if (option != "--trials" ||
             std::from_chars(value.data(), value.data() + value.size(), trials).ec != std::errc{}) {
      std::cerr << "usage: bench_litmus [--trials N] [--shape NAME]\n";
      return 2;
    }
  }
  const int cores = Crew::cores();
  std::cout << fmt::format("{} trials of each shape, {} cores\n\n{:<26} {:<48} {:<34} {:>12} {:>12} {:>9} {:>8}  {}\n",
                           trials, cores, "shape", "operations", "outcome looked for", "trials", "seen", "share",
                           "seconds", "C++");
  bool failed = false;
  std::optional<double> without, with;
  for (const Shape& s : shapes()) {
    if (!only.empty() && s.name != only) continue;
    const auto start = std::chrono::steady_clock::now();
    const std::uint64_t seen = s.run(trials);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::cout << fmt::format("{:<26} {:<48} {:<34} {:>12} {:>12} {:>9} {:>8.1f}  {}\n", s.name, s.operations, s.outcome,
                             trials, seen, percent(seen, trials), seconds, s.forbidden ? "forbids it" : "allows it")
              << std::flush;
    failed = failed || (s.forbidden && seen > 0);
    const double share = 100.0 * static_cast<double>(seen) / static_cast<double>(trials);
    if (s.name == reordering) without = share;
    if (s.name == no_reordering) with = share;
  }
  print_beside_published(without, with);
  if (without && *without == 0) {
    std::cout << (cores < 2 ? "The reordering is not seen: one core.\n"
                            : "The reordering is not seen: the machine keeps the order, or the test shows nothing.\n");
    failed = failed || cores >= 2;
  }
  if (failed) std::cout << "FAILED\n";
  return failed ? 1 : 0;
}
