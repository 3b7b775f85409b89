// Streams blocks of several sizes to a folder's disk and back, through each engine, from memory as blocks have it
// (64-byte aligned) and from pages. Beside each figure stands the disk's own speed, measured just before and after it
// in the same run (plain_disk.h): figures are ratios, disks are not steady. The share of a core counts all threads.
//   bench_disk [folder, default .] [MiB per figure, default 512]
//   bench_disk FOLDER MIB plain     only the disk's own speeds, in bytes per second, as JSON
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "plain_disk.h"
#include "runtime/core/base/error.h"
#include "runtime/core/tier/disk_tier.h"

using namespace sial;
using bench::clock_seconds;

namespace {

constexpr int rounds = 3;
constexpr std::size_t page = 4096;
constexpr std::size_t blocks[] = {64 << 10, 256 << 10, 1 << 20, 4 << 20, 32 << 20};
constexpr std::size_t window_bytes = 32 << 20;  // of transfers under way, at least two and at most 64

struct Transfer final : TierTransfer {
  void completed(int error) noexcept override {
    failed |= error != 0;
    busy.store(false, std::memory_order_release);
    busy.notify_one();
  }
  std::vector<std::byte> all;
  std::atomic<bool> busy = false;
  bool failed = false;
};

struct Figure {
  double speed = 0, core = 0;  // bytes per second; share of a core
};

std::vector<std::unique_ptr<Transfer>> window(std::size_t block, std::size_t shift) {
  std::vector<std::unique_ptr<Transfer>> transfers(std::clamp<std::size_t>(window_bytes / block, 2, 64));
  for (auto& t : transfers) {
    t = std::make_unique<Transfer>();
    t->all.assign(block + 2 * page, std::byte{1});
    t->memory = t->all.data() + (page - reinterpret_cast<std::uintptr_t>(t->all.data()) % page) + shift;
    t->bytes = block;
  }
  return transfers;
}

void wait_for(const Transfer& transfer) { transfer.busy.wait(true, std::memory_order_acquire); }

Figure stream(DiskTier& tier, std::uint64_t bytes, std::size_t block, std::size_t shift, bool write) {
  const auto transfers = window(block, shift);
  const double begin = clock_seconds(), processor = bench::processor_seconds();
  std::size_t next = 0;
  for (std::uint64_t at = 0; at < bytes; at += block, ++next) {
    Transfer& t = *transfers[next % transfers.size()];
    wait_for(t);
    t.at = at;
    t.busy = true;
    if (write) tier.write(t);
    else tier.read(t, TierPriority::prefetch);
  }
  for (const auto& t : transfers) wait_for(*t);
  const double seconds = clock_seconds() - begin;
  for (const auto& t : transfers)
    if (t->failed) return {};
  return {static_cast<double>(bytes) / seconds, (bench::processor_seconds() - processor) / seconds};
}

void print_row(DiskTier& tier, std::uint64_t bytes, std::size_t block, std::size_t shift, std::string& json) {
  const int file = tier.file().descriptor();
  for (const bool write : {true, false}) {
    Figure figure;
    double own = 0;
    for (int round = 0; round < rounds; ++round) {
      own = std::max(own, bench::plain_speed(file, bytes, write));
      const Figure other = stream(tier, bytes, block, shift, write);
      if (other.speed > figure.speed) figure = other;
    }
    const double ratio = own > 0 ? figure.speed / own : 0;
    fmt::print("{:<9} {:<6} {:>8} kB  {:<6} {:>7.2f} GB/s  disk {:>6.2f} GB/s  ratio {:.2f}  core {:.2f}\n",
               tier.engine(), shift ? "block" : "page", block >> 10, write ? "write" : "read", figure.speed * 1e-9,
               own * 1e-9, ratio, figure.core);
    json += fmt::format("{}\"{}_{}_{}_{}\": {:.3f}", json.empty() ? "" : ", ", tier.engine(), shift ? "block" : "page",
                        block >> 10, write ? "write" : "read", ratio);
  }
}

/// The first writing of a file with its space reserved, and the best of some rounds after it.
void print_plain(DiskTier& tier, std::uint64_t bytes) {
  const int file = tier.file().descriptor();
  const double first = bench::plain_speed(file, bytes, true);
  double write = 0, read = 0;
  for (int round = 0; round < rounds; ++round) {
    write = std::max(write, bench::plain_speed(file, bytes, true));
    read = std::max(read, bench::plain_speed(file, bytes, false));
  }
  fmt::print("{{\"first_write\": {:.0f}, \"write\": {:.0f}, \"read\": {:.0f}}}\n", first, write, read);
}

}  // namespace

int main(int count, char** arguments) {
  const std::string folder = count > 1 ? arguments[1] : ".";
  const std::uint64_t bytes = (count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 512) << 20;
  try {
    const bool plain = count > 3 && std::string(arguments[3]) == "plain";
    std::vector<EngineKind> engines{EngineKind::threads};
    if (has_uring() && !plain) engines.push_back(EngineKind::uring);
    std::string json;
    for (const EngineKind engine : engines) {
      SpillFileOptions options;
      options.cap = bytes;
      DiskTier tier(SpillFile::create(folder, options), engine);
      tier.reserve(bytes);
      if (plain) return print_plain(tier, bytes), 0;
      fmt::print("{}, {}, memory aligned to {}\n", tier.name(), tier.file().direct() ? "direct" : "buffered",
                 tier.file().memory_alignment());
      bench::plain_speed(tier.file().descriptor(), bytes, true);  // the first writing of a file is slower
      for (const std::size_t shift : {std::size_t{64}, std::size_t{0}})
        for (const std::size_t block : blocks) print_row(tier, bytes, block, shift, json);
    }
    fmt::print("{{{}}}\n", json);
  } catch (const EnvironmentError& error) {
    fmt::print(stderr, "error: {}\n  hint: {}\n", error.what(), error.hint());
    return 1;
  }
}
