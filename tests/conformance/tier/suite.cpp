#include "suite.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <random>
#include <thread>

#include "runtime/core/base/error.h"

namespace sial::suite {
namespace {

using Random = std::mt19937_64;

constexpr std::size_t page = 4096;
constexpr std::byte rim_value{0xA5};

std::uint64_t round_up(std::uint64_t n, std::uint64_t unit) { return (n + unit - 1) / unit * unit; }

std::uint64_t mixed(std::uint64_t n) {
  n = (n ^ (n >> 31)) * 0x7FB5D329728EA185u;
  return n ^ (n >> 29);
}

void write_and_wait(Tier& tier, const Subject& subject, TestTransfer& transfer) {
  transfer.again();
  tier.write(transfer);
  wait(tier, subject, transfer);
  CHECK(transfer.error() == 0);
}

void read_and_wait(Tier& tier, const Subject& subject, TestTransfer& transfer) {
  transfer.clear();
  transfer.again();
  tier.read(transfer, TierPriority::demand);
  wait(tier, subject, transfer);
  CHECK(transfer.error() == 0);
}

void properties(const Subject& subject) {
  const auto tier = subject.make();
  CHECK_FALSE(tier->name().empty());
  CHECK_FALSE(tier->kind().empty());
  REQUIRE(tier->alignment() > 0);
  CHECK(tier->alignment() % 64 == 0);
  CHECK(tier->capacity() >= (64 << 20));
  CHECK(tier->capacity() % tier->alignment() == 0);
  tier->reserve(0);
  tier->reserve(1);
  tier->reserve(std::uint64_t{64} << 20);
  tier->reserve(1);
  CHECK_THROWS_AS(tier->reserve(tier->capacity() + 1), EnvironmentError);
}

/// Sizes around the bounds at which transfers are cut and padded, from memory that is aligned more or less.
void sizes(const Subject& subject) {
  const auto tier = subject.make();
  tier->reserve(std::uint64_t{64} << 20);
  std::uint64_t seed = 0;
  for (const std::size_t shift : {std::size_t{0}, std::size_t{64}, std::size_t{512}})
    for (const std::size_t around : {std::size_t{8}, page, 2 * page, std::size_t{64} << 10, std::size_t{1} << 20,
                                     std::size_t{2} << 20, std::size_t{5} << 20})
      for (const int more : {-8, 0, 8}) {
        const std::size_t bytes = around + static_cast<std::size_t>(more);
        if (bytes == 0) continue;
        INFO(bytes << " bytes, " << shift << " beyond a page");
        TestTransfer transfer(3 * tier->alignment(), bytes, shift);
        transfer.fill(++seed);
        write_and_wait(*tier, subject, transfer);
        CHECK(transfer.holds(seed));
        read_and_wait(*tier, subject, transfer);
        CHECK(transfer.holds(seed));
        CHECK(transfer.rim_intact());
      }
}

/// A space of blocks of random sizes, one after another.
std::vector<std::unique_ptr<TestTransfer>> random_blocks(const Tier& tier, Random& random, std::size_t count) {
  std::vector<std::unique_ptr<TestTransfer>> blocks;
  std::uint64_t at = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t bytes = 8 * (1 + random() % (random() % 8 == 0 ? 100'000 : 4'000));
    blocks.push_back(std::make_unique<TestTransfer>(at, bytes, 64 * (random() % 64)));
    at = round_up(at + bytes, tier.alignment());
  }
  return blocks;
}

/// Every block has the content of its latest write, whatever was written and read beside it at the same time.
void histories(const Subject& subject, std::uint64_t seed) {
  Random random(seed);
  const auto tier = subject.make();
  auto blocks = random_blocks(*tier, random, 60);
  tier->reserve(blocks.back()->at + round_up(blocks.back()->bytes, tier->alignment()));
  std::vector<std::uint64_t> content(blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    blocks[i]->fill(content[i] = random());
    tier->write(*blocks[i]);
  }
  for (const auto& block : blocks) wait(*tier, subject, *block);
  for (int round = 0; round < 6; ++round) {
    std::vector<bool> writes(blocks.size());
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      TestTransfer& block = *blocks[i];
      block.again();
      writes[i] = random() % 3 == 0;
      if (writes[i]) {
        block.fill(content[i] = random());
        tier->write(block);
      } else {
        block.clear();
        tier->read(block, random() % 2 ? TierPriority::demand : TierPriority::prefetch);
        if (random() % 4 == 0) tier->raise(*blocks[random() % (i + 1)]);
      }
    }
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      wait(*tier, subject, *blocks[i]);
      CHECK(blocks[i]->error() == 0);
      CHECK(blocks[i]->holds(content[i]));
      CHECK(blocks[i]->rim_intact());
    }
  }
}

/// The end of a tier waits for what is under way.
void ends_with_transfers(const Subject& subject) {
  auto tier = subject.make();
  tier->reserve(std::uint64_t{32} << 20);
  std::vector<std::unique_ptr<TestTransfer>> blocks;
  for (std::size_t i = 0; i < 100; ++i) {
    blocks.push_back(std::make_unique<TestTransfer>(round_up(i * 262'144, tier->alignment()), 200'008, 64));
    blocks.back()->fill(i);
    tier->write(*blocks.back());
  }
  tier.reset();
  for (const auto& block : blocks) {
    CHECK(block->calls() == 1);
    CHECK(block->error() == 0);
  }
}

void threads(const Subject& subject, std::uint64_t seed) {
  if (!subject.many_threads) return;
  const auto tier = subject.make();
  tier->reserve(std::uint64_t{64} << 20);
  std::atomic<int> wrong = 0;
  const auto work = [&](std::uint64_t part) {
    Random random(seed + part);
    for (int i = 0; i < 60; ++i) {
      const std::uint64_t offset = round_up((part << 23) + random() % (4 << 20), tier->alignment());
      TestTransfer transfer(offset, 8 * (1 + random() % 20'000), 64);
      const std::uint64_t content = random();
      transfer.fill(content);
      tier->write(transfer);
      while (transfer.calls() == 0) tier->progress(), std::this_thread::yield();
      transfer.clear();
      transfer.again();
      tier->read(transfer, i % 2 ? TierPriority::prefetch : TierPriority::demand);
      if (i % 3 == 0) tier->raise(transfer);
      while (transfer.calls() == 0) tier->progress(), std::this_thread::yield();
      if (transfer.error() != 0 || !transfer.holds(content)) ++wrong;
    }
  };
  std::vector<std::thread> running;
  for (std::uint64_t part = 0; part < 4; ++part) running.emplace_back(work, part);
  for (std::thread& thread : running) thread.join();
  CHECK(wrong == 0);
}

void measures(const Subject& subject) {
  const auto tier = subject.make();
  tier->reserve(std::uint64_t{32} << 20);
  CHECK(tier->speed().read_bandwidth >= 0);
  TestTransfer large(0, 16 << 20, 64), small(std::uint64_t{16} << 20, 800, 64);
  for (TestTransfer* transfer : {&large, &small}) {
    transfer->fill(1);
    write_and_wait(*tier, subject, *transfer);
    read_and_wait(*tier, subject, *transfer);
  }
  CHECK(tier->speed().latency > 0);
  CHECK(tier->speed().read_bandwidth > 0);
  CHECK(tier->speed().write_bandwidth > 0);
}

}  // namespace

TestTransfer::TestTransfer(std::uint64_t offset, std::size_t size, std::size_t shift)
    : all_(size + 2 * rim + 2 * page + shift, rim_value) {
  const auto begin = reinterpret_cast<std::uintptr_t>(all_.data()) + rim;
  at = offset;
  bytes = size;
  memory = all_.data() + rim + (round_up(begin, page) - begin) + shift;
}

void TestTransfer::completed(int error) noexcept {
  error_ = error;
  ++calls_;
}

void TestTransfer::fill(std::uint64_t seed) {
  for (std::size_t i = 0; i < bytes; i += 8) {
    const std::uint64_t word = mixed(seed + i);
    std::memcpy(memory + i, &word, 8);
  }
}

void TestTransfer::clear() { std::memset(memory, 0, bytes); }

bool TestTransfer::holds(std::uint64_t seed) const {
  for (std::size_t i = 0; i < bytes; i += 8) {
    const std::uint64_t word = mixed(seed + i);
    if (std::memcmp(memory + i, &word, 8) != 0) return false;
  }
  return true;
}

bool TestTransfer::rim_intact() const {
  const auto untouched = [](std::byte b) { return b == rim_value; };
  const std::byte* const end = all_.data() + all_.size();
  return std::all_of(all_.data(), static_cast<const std::byte*>(memory), untouched) &&
         std::all_of(static_cast<const std::byte*>(memory) + bytes, end, untouched);
}

void wait(Tier& tier, const Subject& subject, const TestTransfer& transfer) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (transfer.calls() == 0) {
    tier.progress();
    subject.pause();
    if (std::chrono::steady_clock::now() > limit) FAIL("a transfer does not end");
  }
  CHECK(transfer.calls() == 1);
}

void run_all(const Subject& subject, std::uint64_t seed) {
  properties(subject);
  sizes(subject);
  histories(subject, seed);
  ends_with_transfers(subject);
  threads(subject, seed);
  measures(subject);
}

}  // namespace sial::suite
