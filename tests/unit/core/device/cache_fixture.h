#pragma once
// Host memory as a rank has it, a simulated device beside it, and blocks in both.
#include <catch2/catch.hpp>

#include <cstdlib>
#include <memory>
#include <vector>

#include "runtime/core/device/cache/block_cache.h"
#include "runtime/core/memory/arena_pool.h"

namespace sial::cache_fixture {

inline constexpr std::size_t heap_bytes = std::size_t{4} << 20;

/// Host memory as a rank has it.
struct Host {
  Host()
      : memory(std::calloc(NodeHeap::bytes_needed(1, heap_bytes) + 64, 1), std::free),
        heap(aligned(), 0, 1, heap_bytes, {[](std::size_t, std::size_t) {}, [] {}}) {}
  std::byte* aligned() const {
    return reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(memory.get()) + 63) / 64 * 64);
  }
  std::unique_ptr<void, void (*)(void*)> memory;
  NodeHeap heap;
  ArenaPool pool{heap, 0};
};

struct Fixture {
  explicit Fixture(DeviceOptions options = {})
      : device(make_device("simulated", *kernels, options)),
        cache(std::make_unique<DeviceBlockCache>(*device, host.pool, options.direct)) {}

  /// A block of `n` elements; `stride` 2: every other element of its buffer.
  HostBlock block(std::int64_t n, double value, std::int64_t stride = 1) {
    HostBlock b;
    b.buffer_size = n * stride;
    b.data = host.pool.allocate(b.buffer_size);
    b.buffer = b.data;
    b.rank = 1;
    b.extent[0] = n;
    b.stride[0] = stride;
    std::fill_n(b.data, b.buffer_size, value);
    return b;
  }
  void free(const HostBlock& b) {
    cache->invalidate(b.buffer, b.buffer_size);
    host.pool.deallocate(b.data, b.buffer_size);
  }
  static MutableView view(double* data, std::int64_t n) { return dense_view(data, {1, {n}}, {}); }
  static ConstView constant(double* data, std::int64_t n) { return as_const(view(data, n)); }
  void work(ElementOp op, double factor, const HostBlock& b, Intent intent) {
    cache->operations().begin();
    double* d = cache->operations().operand(b, intent, statement);
    cache->operations().run(ElementWork{op, factor, view(d, b.size()), {}, {}});
    cache->operations().end();
  }
  /// to = a + factor * b, all on the device.
  void sum(const HostBlock& to, const HostBlock& a, const HostBlock& b, double factor, Intent intent = Intent::write) {
    cache->operations().begin();
    double* pa = cache->operations().operand(a, Intent::read, statement);
    double* pb = cache->operations().operand(b, Intent::read, statement);
    double* pd = cache->operations().operand(to, intent, statement);
    const std::int64_t n = a.size();
    cache->operations().run(ElementWork{ElementOp::sum, factor, view(pd, n), constant(pa, n), constant(pb, n)});
    cache->operations().end();
  }
  void read(const HostBlock& b) {
    cache->operations().begin();
    cache->operations().operand(b, Intent::read, statement);
    cache->operations().end();
  }
  void on_host(const HostBlock& b, Intent intent) { cache->on_host(b.buffer, b.data, intent, statement); }
  double value(const HostBlock& b, std::int64_t i = 0) {
    on_host(b, Intent::read);
    return b.data[i * b.stride[0]];
  }
  /// Transfers made, in and out; and the least.
  std::vector<std::int64_t> made() const {
    const TransferRow s = cache->stats().total();
    return {s.in.transfers, s.out.transfers, s.in_lower_bound.transfers, s.out_lower_bound.transfers};
  }

  Statement statement{3};
  Host host;
  std::unique_ptr<Kernels> kernels = make_kernels("reference", host.pool);
  std::unique_ptr<Device> device;
  std::unique_ptr<DeviceBlockCache> cache;
};

inline DeviceOptions with_memory(std::int64_t bytes) {
  DeviceOptions options;
  options.memory = bytes;
  return options;
}

using Counts = std::vector<std::int64_t>;

}  // namespace sial::cache_fixture
