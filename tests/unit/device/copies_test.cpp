// Validity of copies and the transfers that follow, by the intents of operations.
#include <catch2/catch.hpp>

#include <cmath>
#include <vector>

#include "runtime/device/copies.h"

using namespace sial;

namespace {

/// A block of the host and what happens to it. `stride` 2: every other element of a larger array.
struct Block {
  explicit Block(std::int64_t n, std::int64_t stride = 1) : memory(static_cast<std::size_t>(n * stride), 1.0) {
    host.data = memory.data();
    host.rank = 1;
    host.extent[0] = n;
    host.stride[0] = stride;
  }
  std::vector<double> memory;
  HostBlock host;
};

struct Fixture {
  std::unique_ptr<Device> device = make_simulated_device();
  DeviceCopies copies{*device, 2};
  double* on_device(Block& b, Intent intent, std::uint64_t version = 1) { return copies.on_device(0, 5, b.host, intent, version); }
  void on_host(Intent intent, std::uint64_t version = 1) { copies.on_host(0, 5, intent, version); }
  /// Transfers made, in and out; and the least.
  std::vector<std::int64_t> made() const {
    const DeviceStats& s = copies.stats();
    return {s.in_by_intent.transfers, s.out_by_intent.transfers, s.in_least.transfers, s.out_least.transfers};
  }
};

using Counts = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("a block that is read is copied in once") {
  Fixture f;
  Block b(4);
  double* d = f.on_device(b, Intent::read);
  CHECK(d[3] == 1.0);
  CHECK(f.on_device(b, Intent::read) == d);
  f.on_host(Intent::read);
  CHECK(f.made() == Counts{1, 0, 1, 0});
  CHECK(f.copies.stats().in_as_written.transfers == 2);
  CHECK(f.copies.stats().out_as_written.transfers == 2);
  CHECK(f.copies.stats().in_as_written.bytes == 64);
}

TEST_CASE("a block that is replaced is not copied in, and copied out only when the host wants it") {
  Fixture f;
  Block b(4);
  double* d = f.on_device(b, Intent::write);
  CHECK(std::isnan(d[0]));  // nothing was copied
  d[0] = d[1] = d[2] = d[3] = 2.0;
  CHECK(std::isnan(b.memory[0]));  // the host's copy is stale
  CHECK(f.made() == Counts{0, 0, 0, 0});
  f.on_device(b, Intent::read);
  CHECK(f.made() == Counts{0, 0, 0, 0});
  f.on_host(Intent::read);
  CHECK(b.memory == std::vector<double>{2, 2, 2, 2});
  f.on_host(Intent::read);
  CHECK(f.made() == Counts{0, 1, 0, 1});
  f.on_device(b, Intent::read);  // still valid there
  CHECK(f.made() == Counts{0, 1, 0, 1});
}

TEST_CASE("a block that is updated is copied in, and either side's write makes the other's copy stale") {
  Fixture f;
  Block b(2);
  double* d = f.on_device(b, Intent::update);
  d[0] += 1.0;
  d[1] += 2.0;
  f.on_host(Intent::update);
  CHECK(b.memory == std::vector<double>{2, 3});
  CHECK(std::isnan(d[0]));
  b.memory[0] = 9.0;
  CHECK(f.on_device(b, Intent::read)[0] == 9.0);
  CHECK(f.made() == Counts{2, 1, 2, 1});
  f.on_host(Intent::write);  // the host replaces it: nothing to copy out
  b.memory = {7, 7};
  f.on_device(b, Intent::write);
  f.on_host(Intent::write);
  b.memory = {4, 4};
  CHECK(f.on_device(b, Intent::read)[1] == 4.0);
  CHECK(f.made() == Counts{3, 1, 3, 1});
}

TEST_CASE("a block in a larger array travels without its surroundings") {
  Fixture f;
  Block b(3, 2);
  b.memory = {1, -1, 2, -2, 3, -3};
  double* d = f.on_device(b, Intent::update);
  CHECK(std::vector<double>(d, d + 3) == std::vector<double>{1, 2, 3});
  CHECK(std::isnan(b.memory[2]));
  CHECK(b.memory[3] == -2);
  d[1] = 20;
  f.copies.array_on_host(0, Intent::read);
  CHECK(b.memory == std::vector<double>{1, -1, 20, -2, 3, -3});
  CHECK(f.copies.stats().out_by_intent.bytes == 24);
}

TEST_CASE("another version is another block, even at the same address") {
  Fixture f;
  Block b(2);
  f.on_device(b, Intent::update)[0] = 5.0;
  b.memory = {8, 8};  // dead: what the device wrote is wanted by nobody
  CHECK(f.on_device(b, Intent::read, 2)[0] == 8.0);
  f.on_device(b, Intent::update, 2)[0] = 6.0;
  b.memory = {3, 3};
  f.on_host(Intent::read, 3);
  CHECK(b.memory[0] == 3.0);
  CHECK(f.made() == Counts{2, 0, 2, 0});
}

TEST_CASE("a block that ends is not copied out") {
  Fixture f;
  Block b(2);
  f.on_device(b, Intent::write)[0] = 5.0;
  f.copies.forget(0, 5);
  f.copies.all_on_host();
  CHECK(f.made() == Counts{0, 0, 0, 0});
}

TEST_CASE("the least counts each version once, however often it is fetched anew") {
  Fixture f;
  Block b(2);
  for (std::uint64_t version = 1; version <= 3; ++version) f.on_device(b, Intent::read, version);
  CHECK(f.made() == Counts{3, 0, 1, 0});
  f.on_host(Intent::update, 3);
  b.memory[0] = 2.0;
  f.on_device(b, Intent::read, 3);
  CHECK(f.made() == Counts{4, 0, 2, 0});
  f.on_host(Intent::update, 3);
  b.memory[0] = 1.0;  // what it was: a device that forgets nothing has it
  f.on_device(b, Intent::read, 3);
  CHECK(f.made() == Counts{5, 0, 2, 0});
}
