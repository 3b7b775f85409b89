// What the store costs on one node: nanoseconds per get and read, puts and additions against memcpy and a plain
// addition loop of the same run. One rank alone, then two real threads that read and add to each other's blocks. Prints
// a table and a JSON line.
//   bench_store [seconds per figure, default 0.2]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/core/store/store.h"
#include "runtime/core/transport/loopback.h"
#include "runtime/core/transport/threads.h"

using namespace sial;

namespace {

double clock_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Seconds per call: the best of several rounds, each long enough to measure.
template <class F>
double cost(double budget, F&& f) {
  f();
  long calls = 1;
  double best = 1e9;
  for (double spent = 0; spent < budget;) {
    const double start = clock_seconds();
    for (long i = 0; i < calls; ++i) f();
    const double t = clock_seconds() - start;
    spent += t;
    best = std::min(best, t / static_cast<double>(calls));
    if (t < budget / 10) calls *= 2;
  }
  return best;
}

std::string json;
void figure(const std::string& name, double value, const char* unit, const std::string& note = {}) {
  fmt::print("{:<44} {:>10.1f} {:<3} {}\n", name, value, unit, note);
  json += fmt::format("{}\"{}_{}\": {:.4g}", json.empty() ? "" : ", ", name, unit, value);
}

void begin(BlockStore& store) {
  store.synchronization().begin_program(0, {{ArrayId(0), "a"}, {ArrayId(1), "b"}},
                                        [](Place) { return std::string("bench"); });
}

void small_calls(double budget) {
  const auto transport = make_loopback();
  StoreOptions options;
  options.memory_per_rank = std::size_t{64} << 20;
  const auto store = make_block_store(*transport, nullptr, options);
  begin(*store);
  constexpr int n = 1000;
  std::vector<double> data(16, 1.0);
  std::vector<BlockIndex> blocks;
  for (int i = 0; i < n; ++i) blocks.push_back({4, {1 + i % 10, 1 + i / 10 % 10, 1 + i / 100, 3}});
  for (const BlockIndex& b : blocks) store->update().put(ArrayId(0), b, 16, data.data(), {0, 1});

  const double barrier = cost(budget, [&] { store->synchronization().barrier({0, 2}); });
  const double get = cost(budget, [&] {
    for (const BlockIndex& b : blocks) store->fetch().get(ArrayId(0), b, 16, {0, 3});
    store->synchronization().barrier({0, 2});
  });
  figure("get, first of the phase, with its release", (get - barrier) / n * 1e9, "ns");
  for (const BlockIndex& b : blocks) store->fetch().get(ArrayId(0), b, 16, {0, 3});
  figure("get of a block that is held",
         cost(budget,
              [&] {
                for (const BlockIndex& b : blocks) store->fetch().get(ArrayId(0), b, 16, {0, 3});
              }) /
             n * 1e9,
         "ns");
  double sum = 0;
  figure("read",
         cost(budget,
              [&] {
                for (const BlockIndex& b : blocks) sum += store->fetch().read(ArrayId(0), b, 16, {0, 4})[0];
              }) /
             n * 1e9,
         "ns");
  store->synchronization().barrier({0, 2});
  figure("put of 16 elements",
         cost(budget,
              [&] {
                for (const BlockIndex& b : blocks) store->update().put(ArrayId(0), b, 16, data.data(), {0, 5});
              }) /
             n * 1e9,
         "ns");
  figure("put += of 16 elements",
         cost(budget,
              [&] {
                for (const BlockIndex& b : blocks) store->update().accumulate(ArrayId(0), b, 16, data.data(), {0, 6});
              }) /
             n * 1e9,
         "ns");
  figure("temporary of 1000 elements, taken and given back",
         cost(budget,
              [&] {
                double* p = store->buffers().allocate(1000);
                sum += p[0] * 0;
                store->buffers().deallocate(p, 1000);
              }) *
             1e9,
         "ns");
  figure("barrier, one rank", barrier * 1e9, "ns", sum == 0.5 ? "!" : "");
  store->synchronization().end_program({0, 9});
}

/// Blocks go round so that they do not stay in the cache; memcpy and the plain loop do the same.
void large_blocks(double budget) {
  for (const std::size_t kb : {64, 512, 5120}) {
    const auto n = static_cast<std::int64_t>(kb * 1024 / 8);
    const int count = static_cast<int>(std::max<std::size_t>(2, 40960 / kb));
    const auto transport = make_loopback();
    StoreOptions options;
    options.memory_per_rank = std::size_t{256} << 20;
    const auto store = make_block_store(*transport, nullptr, options);
    begin(*store);
    std::vector<double> from(static_cast<std::size_t>(n), 1.0),
        plain(static_cast<std::size_t>(n) * static_cast<std::size_t>(count), 0.0);
    for (int i = 0; i < count; ++i) store->update().put(ArrayId(0), {1, {i}}, n, from.data(), {0, 1});
    int i = 0;
    const auto next = [&] { return i = (i + 1) % count; };
    const double copy =
        cost(budget, [&] { std::memcpy(plain.data() + next() * n, from.data(), static_cast<std::size_t>(n) * 8); });
    const double add = cost(budget, [&] {
      double* to = plain.data() + next() * n;
      for (std::int64_t k = 0; k < n; ++k) to[k] += from[k];
    });
    const double put = cost(budget, [&] { store->update().put(ArrayId(0), {1, {next()}}, n, from.data(), {0, 2}); });
    const double accumulate =
        cost(budget, [&] { store->update().accumulate(ArrayId(0), {1, {next()}}, n, from.data(), {0, 3}); });
    const double lease = cost(budget, [&] {
      store->fetch().get(ArrayId(0), {1, {next()}}, n, {0, 4});
      store->fetch().read(ArrayId(0), {1, {i}}, n, {0, 5});
    });
    figure(fmt::format("memcpy {} kB", kb), copy * 1e6, "us");
    figure(fmt::format("put {} kB", kb), put * 1e6, "us", fmt::format("{:.2f} x memcpy", put / copy));
    figure(fmt::format("plain addition {} kB", kb), add * 1e6, "us");
    figure(fmt::format("put += {} kB", kb), accumulate * 1e6, "us",
           fmt::format("{:.2f} x plain addition", accumulate / add));
    figure(fmt::format("get and read {} kB", kb), lease * 1e6, "us", fmt::format("{:.4f} x memcpy", lease / copy));
    store->synchronization().end_program({0, 9});
  }
}

void two_threads(double budget) {
  run_threads({2, 0, 0}, [&](Transport& t) {
    StoreOptions options;
    options.memory_per_rank = std::size_t{64} << 20;
    const auto store = make_block_store(t, nullptr, options);
    begin(*store);
    constexpr int n = 1000;
    std::vector<double> data(8192, 1.0);
    for (int i = 0; i < n; ++i) store->update().put(ArrayId(0), {2, {i, t.rank()}}, 16, data.data(), {0, 1});
    store->synchronization().barrier({0, 2});
    double spent = 0;
    long gets = 0;
    while (gets < 100000) {
      const double start = clock_seconds();
      for (int i = 0; i < n; ++i) store->fetch().get(ArrayId(0), {2, {i, 1 - t.rank()}}, 16, {0, 3});
      spent += clock_seconds() - start;
      gets += n;
      store->synchronization().barrier({0, 2});
    }
    const double start = clock_seconds();
    const int additions = static_cast<int>(budget * 10000);
    for (int i = 0; i < additions; ++i) store->update().accumulate(ArrayId(1), {1, {7}}, 8192, data.data(), {0, 4});
    store->synchronization().barrier({0, 2});
    const double added = clock_seconds() - start;
    if (t.rank() == 0) {
      figure("two ranks: get of the other's block", spent / static_cast<double>(gets) * 1e9, "ns");
      figure("two ranks: put += 64 kB to one and the same block", added / additions / 2 * 1e6, "us");
    }
    store->synchronization().end_program({0, 9});
  });
}

}  // namespace

int main(int argc, char** argv) {
  const double budget = argc > 1 ? std::atof(argv[1]) : 0.2;
  small_calls(budget);
  large_blocks(budget);
  two_threads(budget);
  fmt::print("{{{}}}\n", json);
  return 0;
}
