// GET and PUT of blocks that lie with another rank, from and to three kinds of memory: the host's own, pinned, and the
// device's.

#include <algorithm>
#include <cmath>
#include <span>

#include <fmt/format.h>

#include "runtime/core/store/store.h"
#include "runtime/core/transport/threads.h"
#include "tests/bench/gpu/bench.h"

namespace bench {
namespace {

using namespace sial;

constexpr ArrayId array;

enum class Side { host, pinned, device };
struct Spent {
  double put = 0, get = 0;  // seconds a block
  bool right = true;
};

/// The first rank of two, which alone works; the other answers and takes part in barriers.
class Rounds {
 public:
  Rounds(Bench& bench, Transport& transport, std::int64_t n, int blocks, int rounds)
      : bench_(bench), transport_(transport), n_(n), blocks_(blocks), rounds_(rounds) {
    StoreOptions options;
    options.memory_per_rank = static_cast<std::size_t>(8 * n * (3 * blocks + 4)) + (std::size_t{64} << 20);
    store_ = make_block_store(transport, nullptr, options);
    store_->synchronization().begin_program(0, {{array, "a"}}, [](Place) { return std::string("bench"); });
  }
  Spent run(Side side) {
    const bool active = transport_.rank() == 0;
    Spent best{1e9, 1e9, true};
    double* buffer = store_->buffers().allocate(n_);
    std::span<const std::byte> slab;
    std::unique_ptr<OnDevice> block;
    if (active && side != Side::host) {
      slab = store_->buffers().lasting(buffer);
      if (!slab.empty()) bench_.device->pin(slab.data(), slab.size());
    }
    if (active && side == Side::device) block = std::make_unique<OnDevice>(*bench_.device, n_);
    for (int round = 0; round < rounds_; ++round) {
      store_->synchronization().barrier({0, 1});
      if (active) {
        for (std::int64_t i = 0; i < n_; ++i) buffer[i] = static_cast<double>(i + round);
        if (block) bench_.upload(block->get(), buffer, n_);
        const double begin = now();
        for (int i = 0; i < blocks_; ++i) {
          if (block) bench_.download(buffer, block->get(), n_);
          store_->update().put(array, {1, {i}}, n_, buffer, {0, 2});
        }
        store_->synchronization().barrier({0, 3});
        const double middle = now();
        for (int i = 0; i < blocks_; ++i) store_->fetch().get(array, {1, {i}}, n_, {0, 4});
        const double* last = nullptr;
        for (int i = 0; i < blocks_; ++i) {
          last = store_->fetch().read(array, {1, {i}}, n_, {0, 5});
          if (block) bench_.device->copy_in(block->get(), last, n_);
        }
        if (block) bench_.finish(copy_in_stream);
        const double end = now();
        best.put = std::min(best.put, (middle - begin) / blocks_);
        best.get = std::min(best.get, (end - middle) / blocks_);
        std::vector<double> got(last, last + n_);
        if (block) bench_.download(got.data(), block->get(), n_);
        for (std::int64_t i = 0; i < n_; ++i)
          best.right = best.right && got[static_cast<std::size_t>(i)] == static_cast<double>(i + round);
      } else {
        store_->synchronization().barrier({0, 3});
      }
    }
    store_->synchronization().barrier({0, 6});
    if (active && !slab.empty()) bench_.device->unpin(slab.data());
    store_->buffers().deallocate(buffer, n_);
    return best;
  }
  void end() { store_->synchronization().end_program({0, 9}); }

 private:
  static double now() { return Clock{true}.now(); }

  Bench& bench_;
  Transport& transport_;
  std::int64_t n_;
  int blocks_, rounds_;
  std::unique_ptr<BlockStore> store_;
};

}  // namespace

Suite store_suite(Bench& bench) {
  Suite suite{
      "store",
      "GB/s of PUT, GET and both, of blocks of two ranks on two pretend nodes of this process, half of them on the rank itself; from and to the host's memory, pinned memory, the device (staged)",
      "GET and PUT of the host's memory",
      0,
      false,
      {},
      {}};
  suite.print_title();
  const std::vector<std::int64_t> sizes =
      bench.quick ? std::vector<std::int64_t>{225, 10'000}
                  : std::vector<std::int64_t>{225, 3375, 50'625, 390'625, 2'560'000, 12'960'000};
  for (const std::int64_t n : sizes) {
    const int blocks = static_cast<int>(std::clamp<std::int64_t>(20'000'000 / n, 2, 64));
    run_threads({2, 1, 0}, [&](Transport& transport) {
      Rounds rounds(bench, transport, n, bench.quick ? 4 : blocks, bench.quick ? 2 : 5);
      const bool reports = transport.rank() == 0;
      double host = 0;
      for (const auto& [side, name] :
           {std::pair(Side::host, "host"), {Side::pinned, "pinned"}, {Side::device, "device"}}) {
        const Spent s = rounds.run(side);
        if (!reports) continue;
        const double gb = 8e-9 * static_cast<double>(n), both = s.put + s.get;
        if (side == Side::host) host = both;
        suite.rows.push_back({fmt::format("{} doubles, {}", n, name),
                              {{"PUT", gb / s.put}, {"GET", gb / s.get}, {"total", 2 * gb / both}},
                              host / both,
                              false,
                              s.right,
                              {}});
        suite.print_last();
      }
      rounds.end();
    });
  }
  suite.skipped.push_back(
      "direct transfers between devices and a network: the transport here is memory of one process, and none of ours is aware of CUDA; device rows go through pinned buffers");
  return suite;
}

}  // namespace bench
