// Copies between host and device of one block, each with the wait for it, and memory taken and given back.

#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <span>

#include <fmt/format.h>

#include "runtime/core/device/cache/device_pool.h"
#include "runtime/core/store/store.h"
#include "runtime/core/transport/loopback.h"
#include "tests/bench/gpu/bench.h"
#include "tests/bench/kernels/problem.h"

namespace bench {
namespace {

/// Doubles of blocks with equal extents, from two indices to four; up to 13 million. Those of published.py are among
/// them.
std::vector<std::int64_t> block_sizes(bool quick) {
  if (quick) return {225, 3375, 50'625};
  return {225,     900,     1600,      2500,      3600,      10'000,    50'625,    160'000,
          390'625, 810'000, 1'500'625, 2'560'000, 4'100'625, 6'250'000, 9'150'625, 12'960'000};
}

/// Untouched.
std::function<void()> from_malloc(std::int64_t n) {
  return [bytes = static_cast<std::size_t>(n) * 8] {
    void* volatile p = std::malloc(bytes);
    std::free(p);
  };
}

/// Of this process, from now on: nothing is mapped, or given back to the system.
void keep_memory_of_malloc() {
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
}

double rate(std::int64_t n, double seconds) { return 8e-9 * static_cast<double>(n) / seconds; }

}  // namespace

Suite copies_suite(Bench& bench) {
  Suite suite{
      "copies",
      "GB/s of one block, the wait for it included: pinned; not pinned, through our rings of pinned memory (staged) and as the driver does it",
      "",
      0,
      false,
      {},
      {}};
  suite.print_title();
  sial::DeviceOptions options;
  options.memory = std::int64_t{256} << 20;
  options.staged_from = 0;
  const auto device = sial::make_cuda_device(options);
  const auto finish = [&](int stream) {
    const sial::Device::Event e = device->record(stream);
    device->finish(e);
    device->release(e);
  };
  std::int64_t in_from = 0, out_from = 0;  // where staging begins to pay, for good
  for (const std::int64_t n : block_sizes(bench.quick)) {
    const OnDevice block(*device, n);
    std::vector<double> values(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = 1.0 + static_cast<double>(i);
    Buffer pinned_memory, plain_memory;  // with pages of their own, for the driver pins whole ones
    double *const pinned = pinned_memory.need(n), *const plain = plain_memory.need(n);
    Row row{fmt::format("{} doubles", n), {}, {}, true, true, {}};
    const bool has_pinned = device->pin(pinned, values.size() * 8);
    if (!has_pinned) suite.skipped.push_back(row.name + ", pinned: the driver does not register the memory");
    // There and back, by each way; what comes back must be what went.
    const auto there_and_back = [&](double* host, auto&& in, auto&& out) {
      std::copy(values.begin(), values.end(), host);
      in(host);
      std::fill_n(host, n, 0.0);
      out(host);
      row.right = row.right && std::equal(values.begin(), values.end(), host);
    };
    const auto in = [&](const double* host) {
      device->copy_in(block.get(), host, n);
      finish(sial::copy_in_stream);
    };
    const auto out = [&](double* host) {
      device->copy_out(host, block.get(), n);
      finish(sial::copy_out_stream);
    };
    const auto raw_in = [&](const double* host) {
      bench.raw->copy_in(block.get(), host, n);
      bench.raw->finish();
    };
    const auto raw_out = [&](double* host) {
      bench.raw->copy_out(host, block.get(), n);
      bench.raw->finish();
    };
    if (has_pinned) there_and_back(pinned, in, out);
    there_and_back(plain, in, out);
    there_and_back(plain, raw_in, raw_out);
    const auto nothing = [] {};
    std::vector<Streamed> ways{
        {"staged in", [&] { in(plain); }, nothing, 1},   {"driver in", [&] { raw_in(plain); }, nothing, 1},
        {"staged out", [&] { out(plain); }, nothing, 1}, {"driver out", [&] { raw_out(plain); }, nothing, 1},
        {"pinned in", [&] { in(pinned); }, nothing, 1},  {"pinned out", [&] { out(pinned); }, nothing, 1}};
    if (!has_pinned) ways.resize(4);
    const std::vector<double> s = streamed_seconds(ways, bench.quick);
    for (std::size_t i = 0; i < ways.size(); ++i) row.numbers.emplace_back(ways[i].name, rate(n, s[i]));
    if (s[0] > s[1]) in_from = 0;
    else if (in_from == 0) in_from = n;
    if (s[2] > s[3]) out_from = 0;
    else if (out_from == 0) out_from = n;
    device->unpin(pinned);
    suite.rows.push_back(std::move(row));
    suite.print_last();
  }
  const auto crossover = [](std::int64_t n) {
    return n > 0 ? fmt::format("from {} bytes", 8 * n) : std::string("never here");
  };
  fmt::print("  staging pays on the way in {}, on the way out {}\n", crossover(in_from), crossover(out_from));
  return suite;
}

Suite allocation_suite(Bench& bench) {
  Suite suite{
      "allocation",
      "nanoseconds to take memory and give it back: malloc as it is (which maps large blocks), and told to keep what it has (kept); pinned memory and device memory of the driver; registration of host memory; ours, in steady state",
      "the time of the faster malloc, our pinned memory (the node heap)",
      1.0,
      true,
      {},
      {}};
  suite.print_title();
  const auto transport = sial::make_loopback();
  sial::StoreOptions options;
  options.memory_per_rank = std::size_t{bench.quick ? 64u : 512u} << 20;
  const auto store = sial::make_block_store(*transport, nullptr, options);
  sial::BufferResource& heap = store->buffers();
  sial::DevicePool pool(*bench.device);
  // All memory of the heap that is used below, as the driver is told of it.
  const std::vector<std::int64_t> sizes = block_sizes(bench.quick);
  double* largest = heap.allocate(sizes.back());
  const std::span<const std::byte> memory = heap.lasting(largest);
  heap.deallocate(largest, sizes.back());
  if (memory.empty() || !bench.device->pin(memory.data(), memory.size()))
    suite.skipped.push_back("our heap in pinned memory: the driver does not register it");
  Buffer plain;
  std::vector<Row> rows;
  for (const std::int64_t n : sizes) {
    Row row{fmt::format("{} doubles", n), {}, {}, true, true, {}};
    std::fill_n(plain.need(n), n, 1.0);
    const std::vector<double> s =
        plain_seconds({from_malloc(n), [&] { bench.raw->pinned_memory(n * 8); },
                       [&] { bench.raw->device_memory(n * 8); }, [&] { bench.raw->registration(plain.data(), n * 8); }},
                      bench.quick);
    const char* columns[] = {"malloc", "driver pinned", "driver device", "register"};
    for (std::size_t i = 0; i < s.size(); ++i) row.numbers.emplace_back(columns[i], 1e9 * s[i]);
    rows.push_back(std::move(row));
  }
  keep_memory_of_malloc();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::int64_t n = sizes[i];
    Row& row = rows[i];
    const auto from_pool = [&] {
      sial::Frontier free_after;
      double* p = pool.allocate(n, free_after);
      if (p) pool.release(p, free_after);
      else row.right = false;
    };
    from_pool();
    const auto before = pool.stats();
    const std::vector<double> s =
        plain_seconds({from_malloc(n), [&] { heap.deallocate(heap.allocate(n), n); }, from_pool}, bench.quick);
    const auto after = pool.stats();
    const char* columns[] = {"kept", "our pinned", "our device"};
    for (std::size_t k = 0; k < s.size(); ++k) row.numbers.emplace_back(columns[k], 1e9 * s[k]);
    row.numbers.emplace_back("hits", static_cast<double>(after.cache_hits - before.cache_hits) /
                                         static_cast<double>(after.requests - before.requests));
    const double faster = std::min(s[0], 1e-9 * row.numbers.front().second);
    row.share = s[1] / faster;
    row.note = fmt::format("our device memory: {:.2f} of it", s[2] / faster);
    suite.rows.push_back(std::move(row));
    suite.print_last();
  }
  if (!memory.empty()) bench.device->unpin(memory.data());
  return suite;
}

}  // namespace bench
