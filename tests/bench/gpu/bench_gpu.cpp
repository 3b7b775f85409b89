// What the GPU reaches through the runtime's device, against what the driver and cuBLAS reach on it in the same run.
//
//     bench_gpu [--quick] [--only copies,allocation,contractions,permutations,chains,launches,store] [--json FILE]
//
// --quick: small and once, for a look at whether all of it works. Exits 1 when a result was wrong, 3 when there is no
// GPU.

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "runtime/core/base/error.h"
#include "tests/bench/gpu/bench.h"

namespace {

struct Entry {
  const char* name;
  bench::Suite (*run)(bench::Bench&);
};
constexpr Entry entries[] = {{"copies", bench::copies_suite},
                             {"allocation", bench::allocation_suite},
                             {"contractions", bench::contraction_suite},
                             {"permutations", bench::permutation_suite},
                             {"chains", bench::chain_suite},
                             {"launches", bench::launch_suite},
                             {"store", bench::store_suite}};

int usage(const std::string& problem) {
  fmt::print(stderr, "bench_gpu: {}\nusage: bench_gpu [--quick] [--only NAME,...] [--json FILE]\n", problem);
  return 2;
}

int run(bool quick, const std::string& only, const std::string& file) {
  if (const auto no = sial::why_no_cuda()) {
    fmt::print("nothing was measured: {}\n  hint: {}\n", no->trouble, no->remedy);
    return 3;
  }
  const std::string found = sial::describe_cuda();
  fmt::print("{}\n", found);
  bench::Bench bench(quick);
  std::vector<bench::Suite> suites;
  bool right = true;
  for (const Entry& e : entries) {
    if (!only.empty() && ("," + only + ",").find(fmt::format(",{},", e.name)) == std::string::npos) continue;
    suites.push_back(e.run(bench));
    suites.back().print_summary();
    right = right && suites.back().right();
    if (!file.empty()) bench::write_json(file, found, quick, suites);  // whoever ends this early has what there is
  }
  if (!right) fmt::print("\nWRONG results, see above\n");
  return right ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  bool quick = false;
  std::string only, file;
  for (int i = 1; i < argc; ++i) {
    const std::string_view a = argv[i];
    if (a == "--quick") quick = true;
    else if ((a == "--only" || a == "--json") && i + 1 < argc) (a == "--only" ? only : file) = argv[++i];
    else return usage(fmt::format("what is `{}`?", a));
  }
  for (std::size_t at = 0; at < only.size();) {
    const std::size_t end = std::min(only.find(',', at), only.size());
    const std::string name = only.substr(at, end - at);
    if (std::none_of(std::begin(entries), std::end(entries), [&](const Entry& e) { return name == e.name; }))
      return usage(fmt::format("there is no suite `{}`", name));
    at = end + 1;
  }
  try {
    return run(quick, only, file);
  } catch (const sial::DeviceFull& full) {
    fmt::print(stderr, "bench_gpu: the device has no room for {} bytes of workspace\n", full.bytes);
    return 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_gpu: {}\n", error.what());
    return 1;
  }
}
