// The whole store on one rank: what needs no other.
#include <catch2/catch.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "runtime/core/base/error.h"
#include "runtime/core/store/store.h"
#include "runtime/core/transport/loopback.h"

using namespace sial;

namespace {

using Values = std::vector<double>;

struct OneRank {
  explicit OneRank(StoreOptions options = {}) : transport(make_loopback()) {
    options.memory_per_rank = 8 << 20;
    store = make_block_store(*transport, nullptr, options);
    begin(0);
  }
  void begin(int program) {
    store->synchronization().begin_program(program, {{ArrayId(0), "g"}, {ArrayId(1), "h"}},
                                           [](Place p) { return "prog.sialx:" + std::to_string(p.pc); });
  }
  Values read(int array, const BlockIndex& b, int pc = 99) {
    const double* p = store->fetch().read(ArrayId(array), b, 4, {0, pc});
    return {p, p + 4};
  }
  std::unique_ptr<Transport> transport;
  std::unique_ptr<BlockStore> store;
};

const BlockIndex b{2, {2, 3}};
const Values v{1, 2, 3, 4}, w{10, 20, 30, 40};

}  // namespace

TEST_CASE("reading needs a get in the same phase") {
  OneRank r;
  r.store->update().put(ArrayId(0), b, 4, v.data(), {0, 1});
  CHECK_FALSE(r.store->fetch().held(ArrayId(0), b));
  CHECK_THROWS_WITH(r.read(0, b), Catch::Contains("g[2,3]") && Catch::Contains("not fetched"));
  r.store->fetch().get(ArrayId(0), b, 4, {0, 2});
  CHECK(r.store->fetch().held(ArrayId(0), b));
  CHECK(r.read(0, b) == v);
  r.store->synchronization().barrier({0, 3});
  CHECK_FALSE(r.store->fetch().held(ArrayId(0), b));
  CHECK_THROWS_AS(r.read(0, b), SialError);
}

TEST_CASE("absence is reported at the first use, with the place of the get") {
  OneRank r;
  r.store->fetch().get(ArrayId(0), b, 4, {0, 12});
  try {
    r.read(0, b);
    FAIL("no error");
  } catch (const SialError& e) {
    CHECK_THAT(e.what(), Catch::Contains("g[2,3]") && Catch::Contains("prog.sialx:12") &&
                             Catch::Contains("never written before the last barrier"));
    CHECK_THAT(e.hint(), Catch::Contains("put g[2,3]") && Catch::Contains("sip_barrier"));
  }
}

TEST_CASE("a get leases the block where it lies; with --store=copy it copies") {
  StoreOptions options;
  options.copy = GENERATE(false, true);
  OneRank r(options);
  r.store->update().put(ArrayId(0), b, 4, v.data(), {0, 1});
  r.store->synchronization().barrier({});
  const auto before = r.store->monitor().stats();
  r.store->fetch().get(ArrayId(0), b, 4, {0, 2});
  CHECK(r.store->monitor().stats().bytes_copied - before.bytes_copied == (options.copy ? 32 : 0));
  CHECK(r.store->monitor().stats().bytes_leased - before.bytes_leased == (options.copy ? 0 : 32));
  CHECK(r.read(0, b) == v);
}

TEST_CASE("a held block is copied when it is changed, once, and only while it is held") {
  OneRank r;
  const BlockIndex c{2, {1, 1}};
  for (const BlockIndex& block : {b, c}) r.store->update().put(ArrayId(0), block, 4, v.data(), {0, 1});
  r.store->synchronization().barrier({});
  const auto copied = [&, before = r.store->monitor().stats().bytes_copied] {
    return r.store->monitor().stats().bytes_copied - before;
  };
  std::optional<LeasedValues> held = r.store->snapshots().hold_array_block(ArrayId(0), b);
  std::optional<LeasedValues> other = r.store->snapshots().hold_array_block(ArrayId(0), c);
  REQUIRE(held);
  CHECK_FALSE(held->copied);
  r.store->fetch().get(ArrayId(0), b, 4, {0, 2});
  CHECK(r.store->fetch().read(ArrayId(0), b, 4, {0, 2}) == held->values.data());
  r.store->synchronization().barrier({});
  CHECK(copied() == 0);
  for (int i = 0; i < 3; ++i) r.store->update().accumulate(ArrayId(0), b, 4, w.data(), {0, 3});
  CHECK(copied() == 32);
  CHECK(Values(held->values.begin(), held->values.end()) == v);
  other.reset();
  r.store->update().accumulate(ArrayId(0), c, 4, w.data(), {0, 4});
  CHECK(copied() == 32);
  held.reset();
  r.store->synchronization().barrier({});
  r.store->fetch().get(ArrayId(0), b, 4, {0, 5});
  CHECK(r.read(0, b) == Values{31, 62, 93, 124});
}

TEST_CASE("where there is no memory for a new value, who holds the old one is waited for") {
  OneRank r;  // of 8 MiB
  const std::int64_t size = 600000;
  const Values ones(size, 1.0), twos(size, 2.0);
  r.store->update().put(ArrayId(0), b, size, ones.data(), {0, 1});
  for (const int change : {0, 1, 2}) {
    r.store->synchronization().barrier({});
    std::optional<LeasedValues> held = r.store->snapshots().hold_array_block(ArrayId(0), b);
    double first = 0, last = 0;
    const double before = held->values.front();
    std::jthread writer([&] {
      first = held->values.front();
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      last = held->values.back();
      held.reset();
    });
    if (change == 0) r.store->update().put(ArrayId(0), b, size, twos.data(), {0, 2});
    if (change == 1) r.store->update().accumulate(ArrayId(0), b, size, ones.data(), {0, 3});
    if (change == 2) r.store->update().fill(ArrayId(0), b, size, 7, {0, 4});
    writer.join();
    CHECK(first == before);
    CHECK(last == before);
    r.store->synchronization().barrier({});
    r.store->fetch().get(ArrayId(0), b, size, {0, 5});
    CHECK(r.store->fetch().read(ArrayId(0), b, size, {0, 6})[size - 1] == (change == 2 ? 7 : change + 2));
  }
  // Another block's.
  r.store->synchronization().barrier({});
  std::optional<LeasedValues> held = r.store->snapshots().hold_array_block(ArrayId(0), b);
  r.store->synchronization().erase(ArrayId(0), {0, 7});
  r.store->synchronization().barrier({});
  std::jthread writer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    held.reset();
  });
  CHECK_NOTHROW(r.store->update().put(ArrayId(1), b, size, twos.data(), {0, 8}));
}

TEST_CASE("a fetched value stays what it was through own puts of every kind, until the next get") {
  const int kind = GENERATE(0, 1, 2, 3, 4);
  StoreOptions options;
  options.copy = GENERATE(false, true);
  options.deterministic = GENERATE(false, true);
  OneRank r(options);
  r.store->update().put(ArrayId(0), b, 4, v.data(), {0, 1});
  r.store->synchronization().barrier({});
  r.store->fetch().get(ArrayId(0), b, 4, {0, 2});
  Values expected;
  switch (kind) {
    case 0:
      r.store->update().put(ArrayId(0), b, 4, w.data(), {0, 3});
      expected = w;
      break;
    case 1:
      r.store->update().accumulate(ArrayId(0), b, 4, w.data(), {0, 3});
      expected = {11, 22, 33, 44};
      break;
    case 2:
      r.store->update().fill(ArrayId(0), b, 4, 7, {0, 3});
      expected = {7, 7, 7, 7};
      break;
    case 3:
      r.store->update().increment(ArrayId(0), b, 4, 1, {0, 3});
      expected = {2, 3, 4, 5};
      break;
    case 4:
      r.store->update().scale(ArrayId(0), b, 4, 2, {0, 3});
      expected = {2, 4, 6, 8};
      break;
  }
  const double* p = r.store->fetch().read(ArrayId(0), b, 4, {0, 4});
  CHECK(Values(p, p + 4) == v);
  r.store->fetch().get(ArrayId(0), b, 4, {0, 5});
  CHECK(r.read(0, b) == expected);
  r.store->synchronization().barrier({});
  r.store->fetch().get(ArrayId(0), b, 4, {0, 6});
  CHECK(r.read(0, b) == expected);
}

TEST_CASE("a second get without an own put changes nothing") {
  OneRank r;
  r.store->update().put(ArrayId(0), b, 4, v.data(), {0, 1});
  r.store->synchronization().barrier({});
  r.store->fetch().get(ArrayId(0), b, 4, {0, 2});
  const double* p = r.store->fetch().read(ArrayId(0), b, 4, {0, 3});
  r.store->fetch().get(ArrayId(0), b, 4, {0, 4});
  CHECK(r.store->fetch().read(ArrayId(0), b, 4, {0, 5}) == p);
}

TEST_CASE("private copies are never put and gone after the barrier") {
  OneRank r;
  r.store->update().put(ArrayId(0), b, 4, v.data(), {0, 1});
  r.store->synchronization().barrier({});
  SECTION("with the fetched value") {
    CHECK_THROWS_WITH(r.store->fetch().private_copy(ArrayId(0), b, 4, true, {0, 2}), Catch::Contains("not fetched"));
    r.store->fetch().get(ArrayId(0), b, 4, {0, 2});
    const double* leased = r.store->fetch().read(ArrayId(0), b, 4, {0, 3});
    double* mine = r.store->fetch().private_copy(ArrayId(0), b, 4, true, {0, 3});
    CHECK(mine != leased);
    CHECK(Values(mine, mine + 4) == v);
    mine[0] = -1;
    CHECK(leased[0] == 1);
    CHECK(r.store->fetch().private_copy(ArrayId(0), b, 4, true, {0, 4}) == mine);
    CHECK(r.read(0, b)[0] == -1);
  }
  SECTION("without a get") {
    double* mine = r.store->fetch().private_copy(ArrayId(0), b, 4, false, {0, 2});
    for (int i = 0; i < 4; ++i) mine[i] = 0;
    CHECK(r.store->fetch().held(ArrayId(0), b));
    CHECK(r.read(0, b) == Values(4, 0.0));
    r.store->fetch().get(ArrayId(0), b, 4, {0, 3});  // held already
    CHECK(r.read(0, b) == Values(4, 0.0));
  }
  SECTION("a get after an own put replaces it") {
    double* mine = r.store->fetch().private_copy(ArrayId(0), b, 4, false, {0, 2});
    for (int i = 0; i < 4; ++i) mine[i] = 0;
    r.store->update().put(ArrayId(0), b, 4, w.data(), {0, 3});
    CHECK(r.read(0, b) == Values(4, 0.0));
    r.store->fetch().get(ArrayId(0), b, 4, {0, 4});
    CHECK(r.read(0, b) == w);
    r.store->update().put(ArrayId(0), b, 4, v.data(), {0, 5});
  }
  r.store->synchronization().barrier({});
  CHECK_FALSE(r.store->fetch().held(ArrayId(0), b));
  r.store->fetch().get(ArrayId(0), b, 4, {0, 6});
  CHECK(r.read(0, b) == v);
}

TEST_CASE("what creates a block and what does not") {
  OneRank r;
  r.store->update().accumulate(ArrayId(0), {1, {1}}, 4, v.data(), {0, 1});
  r.store->update().fill(ArrayId(0), {1, {2}}, 4, 5, {0, 2});
  r.store->update().increment(ArrayId(0), {1, {3}}, 4, 6, {0, 3});
  CHECK_THROWS_WITH(r.store->update().scale(ArrayId(0), {1, {4}}, 4, 2, {0, 4}),
                    Catch::Contains("g[4]") && Catch::Contains("does not exist"));
  r.store->synchronization().barrier({});
  for (int i = 1; i <= 3; ++i) r.store->fetch().get(ArrayId(0), {1, {i}}, 4, {0, 5});
  CHECK(r.read(0, {1, {1}}) == v);
  CHECK(r.read(0, {1, {2}}) == Values(4, 5.0));
  CHECK(r.read(0, {1, {3}}) == Values(4, 6.0));
}

TEST_CASE("deleted blocks are gone and their memory is free") {
  OneRank r;
  for (int i = 0; i < 50; ++i) r.store->update().fill(ArrayId(0), {1, {i}}, 1000, 1, {0, 1});
  r.store->synchronization().barrier({});
  r.store->fetch().get(ArrayId(0), {1, {3}}, 1000, {0, 2});
  r.store->fetch().read(ArrayId(0), {1, {3}}, 1000, {0, 3});
  CHECK(r.store->buffers().stats().bytes_in_use > 50 * 8000);
  r.store->synchronization().erase(ArrayId(0), {0, 4});
  CHECK(r.store->buffers().stats().bytes_in_use == 0);
  CHECK_FALSE(r.store->fetch().held(ArrayId(0), {1, {3}}));
  r.store->fetch().get(ArrayId(0), {1, {3}}, 1000, {0, 5});
  CHECK_THROWS_WITH(r.store->fetch().read(ArrayId(0), {1, {3}}, 1000, {0, 6}), Catch::Contains("does not exist"));
  r.store->synchronization().barrier({});
  r.store->update().accumulate(ArrayId(0), b, 4, v.data(), {0, 7});
  r.store->fetch().get(ArrayId(0), b, 4, {0, 8});
  CHECK(r.read(0, b) == v);
}

TEST_CASE("many deletes do not use up memory") {
  OneRank r;
  for (int i = 0; i < 100; ++i) {
    for (int k = 0; k < 10; ++k) r.store->update().fill(ArrayId(0), {1, {k}}, 50000, 1, {0, 1});
    r.store->synchronization().erase(ArrayId(0), {0, 2});
  }
  CHECK(r.store->buffers().stats().bytes_in_use == 0);
}

TEST_CASE("labels: saved at the end of the program, restored any number of times, never changed by their users") {
  OneRank r;
  r.store->update().put(ArrayId(0), b, 4, v.data(), {0, 1});
  r.store->snapshots().save_at_end(ArrayId(0), "amplitudes", {0, 2});
  r.store->update().put(ArrayId(0), b, 4, w.data(), {0, 3});  // the value at the end counts
  CHECK_FALSE(r.store->snapshots().has_label("amplitudes"));
  const auto copied = r.store->monitor().stats().bytes_copied;
  r.store->synchronization().end_program({0, 4});
  CHECK(r.store->monitor().stats().bytes_copied == copied);
  CHECK(r.store->snapshots().has_label("amplitudes"));
  CHECK(r.store->snapshots().saved_blocks("amplitudes") == std::vector<BlockIndex>{b});
  CHECK(r.store->snapshots().saved_block("amplitudes", b) == w);

  for (int program = 1; program < 4; ++program) {
    r.begin(program);
    CHECK_THROWS_WITH(r.store->snapshots().restore(ArrayId(1), "amplitude", {program, 1}),
                      Catch::Contains("\"amplitude\""));
    r.store->snapshots().restore(ArrayId(1), "amplitudes", {program, 1});
    r.store->synchronization().barrier({});
    r.store->fetch().get(ArrayId(1), b, 4, {program, 2});
    CHECK(r.read(1, b) == w);
    r.store->synchronization().barrier({});
    if (program == 1) r.store->update().accumulate(ArrayId(1), b, 4, v.data(), {program, 3});
    if (program == 2) r.store->update().put(ArrayId(1), b, 4, v.data(), {program, 3});
    r.store->synchronization().end_program({program, 5});
    CHECK(r.store->snapshots().saved_block("amplitudes", b) == w);
  }
  CHECK(r.store->buffers().stats().bytes_in_use > 0);
  r.store->snapshots().drop_labels_except({"amplitudes"});
  CHECK(r.store->snapshots().has_label("amplitudes"));
  r.store->snapshots().drop_labels_except({});
  CHECK_FALSE(r.store->snapshots().has_label("amplitudes"));
  CHECK(r.store->buffers().stats().bytes_in_use == 0);
}

TEST_CASE("labels: setting anew replaces, marking an array twice is an error") {
  OneRank r;
  r.store->update().put(ArrayId(0), b, 4, v.data(), {0, 1});
  r.store->snapshots().save_at_end(ArrayId(0), "x", {0, 2});
  CHECK_THROWS_WITH(r.store->snapshots().save_at_end(ArrayId(0), "y", {0, 3}),
                    Catch::Contains("array g") && Catch::Contains("\"x\""));
  r.store->synchronization().end_program({0, 4});
  r.begin(1);
  r.store->update().put(ArrayId(1), {1, {1}}, 4, w.data(), {1, 1});
  r.store->snapshots().save_at_end(ArrayId(1), "x", {1, 2});
  r.store->synchronization().end_program({1, 3});
  CHECK(r.store->snapshots().saved_blocks("x") == std::vector<BlockIndex>{{1, {1}}});
  CHECK(r.store->snapshots().saved_block("x", {1, {1}}) == w);
}

TEST_CASE("labels: an array that is saved under the label it came from") {
  OneRank r;
  r.store->update().put(ArrayId(0), b, 4, v.data(), {0, 1});
  r.store->snapshots().save_at_end(ArrayId(0), "x", {0, 2});
  r.store->synchronization().end_program({0, 3});
  r.begin(1);
  r.store->snapshots().restore(ArrayId(0), "x", {1, 1});
  r.store->update().accumulate(ArrayId(0), b, 4, v.data(), {1, 2});
  r.store->snapshots().save_at_end(ArrayId(0), "x", {1, 3});
  r.store->synchronization().end_program({1, 4});
  CHECK(r.store->snapshots().saved_block("x", b) == Values{2, 4, 6, 8});
  r.store->snapshots().drop_labels_except({});
  CHECK(r.store->buffers().stats().bytes_in_use == 0);
}

TEST_CASE("labels: loaded from outside, then like any other") {
  OneRank r;
  r.store->snapshots().load_saved_block("file", b, v);
  r.store->snapshots().load_saved_block("file", {2, {1, 1}}, w);
  CHECK_FALSE(r.store->snapshots().has_label("file"));
  r.store->synchronization().barrier({});
  CHECK(r.store->snapshots().has_label("file"));
  r.store->snapshots().restore(ArrayId(0), "file", {0, 1});
  r.store->fetch().get(ArrayId(0), b, 4, {0, 2});
  CHECK(r.read(0, b) == v);
  r.store->snapshots().drop_labels_except({});
  r.store->snapshots().load_saved_block("file", b, w);
  r.store->synchronization().barrier({});
  CHECK(r.store->snapshots().saved_block("file", b) == w);
  CHECK(r.store->snapshots().saved_blocks("file").size() == 1);
}

TEST_CASE("labels: another size is found at the use, naming label and block") {
  OneRank r;
  r.store->update().put(ArrayId(0), {1, {1}}, 5, Values(5, 1.0).data(), {0, 1});
  r.store->update().put(ArrayId(0), {1, {2}}, 4, v.data(), {0, 1});
  r.store->snapshots().save_at_end(ArrayId(0), "five", {0, 2});
  r.store->synchronization().end_program({0, 3});
  r.begin(1);
  r.store->snapshots().restore(ArrayId(0), "five", {1, 1});
  r.store->fetch().get(ArrayId(0), {1, {1}}, 4, {1, 2});
  try {
    r.store->fetch().read(ArrayId(0), {1, {1}}, 4, {1, 3});
    FAIL("no error");
  } catch (const SialError& e) {
    CHECK_THAT(e.what(), Catch::Contains("g[1]") && Catch::Contains("5 elements"));
    CHECK_THAT(e.hint(), Catch::Contains("\"five\""));
  }
}

TEST_CASE("check mode reports what is not a number, with the line") {
  StoreOptions options;
  options.check = true;
  OneRank r(options);
  const Values bad{1, 2, std::numeric_limits<double>::quiet_NaN(), 4};
  CHECK_THROWS_WITH(r.store->update().put(ArrayId(0), b, 4, bad.data(), {0, 17}),
                    Catch::Contains("NaN") && Catch::Contains("g[2,3]") && Catch::Contains("prog.sialx:17"));
  CHECK_THROWS_WITH(r.store->update().accumulate(ArrayId(0), b, 4, bad.data(), {0, 18}),
                    Catch::Contains("prog.sialx:18"));
  CHECK_THROWS_WITH(r.store->update().fill(ArrayId(0), b, 4, std::numeric_limits<double>::infinity(), {0, 19}),
                    Catch::Contains("infinity"));
  r.store->update().put(ArrayId(0), b, 4, v.data(), {0, 20});
}

TEST_CASE("private use of a block by one rank satisfies check mode") {
  StoreOptions options;
  options.check = true;
  OneRank r(options);
  r.store->update().put(ArrayId(0), b, 4, v.data(), {0, 1});
  r.store->fetch().get(ArrayId(0), b, 4, {0, 2});
  r.store->update().accumulate(ArrayId(0), b, 4, v.data(), {0, 3});
  r.store->fetch().get(ArrayId(0), b, 4, {0, 4});
  r.store->update().scale(ArrayId(0), b, 4, 2, {0, 5});
  r.store->update().increment(ArrayId(0), b, 4, 2, {0, 6});
  r.store->fetch().get(ArrayId(0), b, 4, {0, 7});
  CHECK(r.read(0, b) == Values{6, 10, 14, 18});
}

TEST_CASE("the first of many additions starts from zero, also of nothing and of minus zero") {
  OneRank r;
  const Values minus_zero(4, -0.0);
  r.store->update().accumulate(ArrayId(0), b, 4, minus_zero.data(), {0, 1});
  r.store->update().accumulate(ArrayId(0), {1, {1}}, 0, nullptr, {0, 2});
  r.store->update().put(ArrayId(0), {1, {2}}, 0, nullptr, {0, 3});
  r.store->synchronization().barrier({});
  r.store->fetch().get(ArrayId(0), b, 4, {0, 4});
  CHECK_FALSE(std::signbit(r.read(0, b)[0]));
  r.store->fetch().get(ArrayId(0), {1, {1}}, 0, {0, 5});
  CHECK(r.store->fetch().read(ArrayId(0), {1, {1}}, 0, {0, 6}) != nullptr);
  r.store->fetch().get(ArrayId(0), {1, {2}}, 0, {0, 5});
  CHECK(r.store->fetch().read(ArrayId(0), {1, {2}}, 0, {0, 6}) != nullptr);
}

TEST_CASE("out of memory names the block and the remedy") {
  OneRank r;
  try {
    for (int i = 0; i < 100; ++i) r.store->update().fill(ArrayId(0), {1, {i}}, 100000, 1, {0, 1});
    FAIL("no error");
  } catch (const EnvironmentError& e) {
    CHECK_THAT(e.what(), Catch::Contains("block g[") && Catch::Contains("8.39 MB"));
    CHECK_THAT(e.hint(), Catch::Contains("--memory") && Catch::Contains("--spill DIR"));
  }
}

TEST_CASE("statistics count accesses per statement and array") {
  OneRank r;
  r.store->update().put(ArrayId(0), b, 4, v.data(), {0, 1});
  r.store->fetch().get(ArrayId(0), b, 4, {0, 2});
  for (int i = 0; i < 3; ++i) r.read(0, b, 30);
  r.read(0, b, 31);
  const auto s = r.store->monitor().stats();
  CHECK(s.accesses == 4);
  CHECK(s.blocked_accesses == 0);
  CHECK(s.gets == 1);
  CHECK(s.puts == 1);
  const auto rows = r.store->monitor().access_stats();
  const auto row = std::find_if(rows.begin(), rows.end(), [](const AccessStats& a) { return a.place == Place{0, 30}; });
  REQUIRE(row != rows.end());
  CHECK(row->accesses == 3);
  CHECK(row->bytes == 96);
  CHECK(std::count_if(rows.begin(), rows.end(), [](const AccessStats& a) { return a.accesses > 0; }) == 2);
}
