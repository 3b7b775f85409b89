// One measurement of one allocator under one workload, as a line of JSON; heap.sh runs them all.
//   bench_heap --list                                  the allocators
//   bench_heap WORKLOAD --allocator NAME --pass memory|check [--samples N]
//   bench_heap --allocator NAME --pass threads [--threads N] [--rounds N]
// WORKLOAD: --mix REQUESTS [--load X] [--seed N] [--ranks N] [--capacity BYTES], or --phase CAPACITY.
// Exit code 77: the allocator cannot be had here.
#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <iostream>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>

#include "replay.h"

using namespace heapbench;

namespace {

constexpr int exit_unavailable = 77;

using Options = std::map<std::string, std::string>;

Options parse(int count, char** words) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (!word.starts_with("--")) throw std::runtime_error("`" + word + "` is no option");
    const bool alone = word == "--list";
    if (!alone && i + 1 == count) throw std::runtime_error(word + " has no value");
    options[word.substr(2)] = alone ? "" : words[++i];
  }
  return options;
}

template <class Number>
Number number(const Options& options, const std::string& name, Number otherwise) {
  const auto at = options.find(name);
  if (at == options.end()) return otherwise;
  Number value{};
  const char* end = at->second.data() + at->second.size();
  const auto [stop, problem] = std::from_chars(at->second.data(), end, value);
  if (problem != std::errc() || stop != end)
    throw std::runtime_error("--" + name + ": `" + at->second + "` is no number");
  return value;
}

Workload workload_of(const Options& options) {
  Workload w;
  if (options.contains("mix")) {
    w = random_mix(number(options, "mix", 0), number(options, "capacity", std::size_t{512} << 20),
                   number(options, "load", 0.9), number(options, "seed", std::uint64_t{1}),
                   number(options, "ranks", 1));
  } else if (options.contains("phase")) {
    w = large_phase(number(options, "phase", std::size_t{0}));
  } else {
    throw std::runtime_error("--mix or --phase says what to replay");
  }
  return w;
}

std::string json(const Memory& m) {
  std::string samples;
  for (const Sample& s : m.samples)
    samples += fmt::format("{}[{}, {}, {}, {}, {}]", samples.empty() ? "" : ", ", s.operation, s.live, s.taken,
                           s.committed, s.largest);
  return fmt::format(
      R"({{"requests": {}, "satisfied": {}, "first_refused": {}, "peak_live": {}, "peak_committed": {}, "last_satisfied": {}, "largest_at_first": {}, "largest_at_end": {}, )"
      R"("largest_when_empty": {}, "samples": [{}]}})",
      m.requests, m.satisfied, m.first_refused, m.peak_live, m.peak_committed, m.last_satisfied, m.largest_at_first,
      m.largest_at_end, m.largest_when_empty, samples);
}

int run(const Options& options) {
  if (options.contains("list")) {
    for (const Kind& k : kinds())
      fmt::print(R"({{"name": "{}", "about": "{}", "policy": {}, "threads": {}, "real": {}}})"
                 "\n",
                 k.name, k.about, k.policy, k.threads, k.real);
    return 0;
  }
  const std::string pass = options.contains("pass") ? options.at("pass") : "";
  Workload w;
  if (pass == "threads") {
    w.ranks = number(options, "threads", 2);
    w.capacity = number(options, "capacity", std::size_t{1} << 30);
  } else {
    w = workload_of(options);
  }
  const Kind* k = options.contains("allocator") ? kind(options.at("allocator")) : nullptr;
  if (!k) throw std::runtime_error("--allocator is one of those that --list names");
  const auto allocator = k->make({w.capacity, w.ranks});
  if (pass == "threads") {
    if (!k->threads) throw std::runtime_error(k->name + " serves one thread only");
    fmt::print(R"({{"mean": {:.2f}}})"
               "\n",
               time_threads(*allocator, w.ranks, number(options, "rounds", 30)));
  } else if (pass == "memory") {
    fmt::print("{}\n", json(measure_memory(*allocator, w, number(options, "samples", 0))));
  } else if (pass == "check") {
    const std::string problem = check_blocks(*allocator, w);
    if (!problem.empty()) throw std::runtime_error(k->name + ": " + problem);
    fmt::print("{{\"intact\": true}}\n");
  } else {
    throw std::runtime_error("--pass is memory, check or threads");
  }
  return 0;
}

/// Libraries that are loaded later need storage per thread that a process sets aside when it starts.
void set_aside_thread_storage(char** words) {
  if (getenv("GLIBC_TUNABLES")) return;
  setenv("GLIBC_TUNABLES", "glibc.rtld.optional_static_tls=65536", 1);
  execv("/proc/self/exe", words);  // where that fails some allocators cannot be loaded, and are said to be missing
}

}  // namespace

int main(int count, char** words) {
  set_aside_thread_storage(words);
  try {
    return run(parse(count, words));
  } catch (const Unavailable& u) {
    std::cerr << u.reason << std::endl;
    return exit_unavailable;
  } catch (const std::exception& e) {
    std::cerr << "bench_heap: " << e.what() << std::endl;
    return 1;
  }
}
