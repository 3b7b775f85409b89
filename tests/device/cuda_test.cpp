// The CUDA device on the fake driver: what the conformance suite of all devices does not see.
#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "runtime/core/base/error.h"
#include "runtime/core/device/device.h"
#include "runtime/core/memory/host_pool.h"
#include "tests/device/on_fake_driver.h"

using namespace fake_driver;

TEST_CASE("copies of all sizes, from memory of all kinds, in any order of streams") {
  for (const int staged_from : {-1, 0, 1 << 30})
    for (const char* settings : {"seed=1", "seed=2", "seed=3", "seed=4,host=1", "seed=5,pin=1"}) {
      CAPTURE(staged_from, settings);
      DeviceOptions options;
      options.staged_from = staged_from;
      const auto d = make(settings, options);
      const std::int64_t n =
          std::string(settings) == "seed=1" ? 3'000'000 : 300'000;  // more than all pinned buffers together, or less
      double* p = d->reserve(n);
      REQUIRE(p != nullptr);
      std::vector<double> host = ramp(static_cast<std::size_t>(n), 1.0);
      // The middle third is pinned: copies lie in it, beside it, and across its edges.
      const bool pinned = d->pin(host.data() + n / 3, static_cast<std::size_t>(n / 3 * 8));
      CHECK(pinned == !contains(settings, "pin=1"));
      CHECK(d->pinned().regions == (pinned ? 1 : 0));
      CHECK(d->pinned().bytes == (pinned ? n / 3 * 8 : 0));
      CHECK(d->pinned().refused == (pinned ? 0 : 1));
      d->copy_in(p, host.data(), n);
      for (const std::int64_t at : {n / 3 - 5, n / 3, n / 2, 2 * n / 3 - 3, 2 * n / 3})
        d->copy_in(p + at, host.data() + at, 10);
      finish(*d, copy_in_stream);
      std::vector<double> back(static_cast<std::size_t>(n), 0.0);
      CHECK(d->pin(back.data() + 100, 80) == pinned);
      d->copy_out(back.data(), p, n);
      finish(*d, copy_out_stream);
      CHECK(back == host);
      for (const std::int64_t m : {std::int64_t{1}, std::int64_t{100}, std::int64_t{10'000}, n / 4}) {
        std::fill(back.begin(), back.end(), 0.0);
        d->copy_out(back.data() + 50, p + n / 3 - 7, m);
        finish(*d, copy_out_stream);
        CHECK(std::equal(back.begin() + 50, back.begin() + 50 + m, host.begin() + n / 3 - 7));
        CHECK(back[49] == 0.0);
        CHECK(back[static_cast<std::size_t>(50 + m)] == 0.0);
      }
      d->unpin(host.data() + n / 3);
      d->unpin(back.data() + 100);
      d->unpin(back.data());
      CHECK(d->pinned().regions == 0);
      CHECK(d->pinned().bytes == 0);
      d->give_back(p, n);
    }
}

TEST_CASE("a copy out is there after any event behind it, and a copy in of the same memory reads what it brought") {
  for (int seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    const auto d = make("seed=" + std::to_string(seed));
    constexpr std::int64_t n = 2000;
    double* p = d->reserve(2 * n);
    std::vector<Device::Event> events;
    std::vector<double> host = ramp(n, 0.0), other(n, 0.0);
    d->copy_in(p, host.data(), n);
    after(*d, first_compute_stream, copy_in_stream, events);
    d->run(first_compute_stream, ElementWork{ElementOp::add_scalar, 5.0, vector_view(p, n), {}, {}});
    after(*d, copy_out_stream, first_compute_stream, events);
    d->copy_out(other.data(), p, n);
    // In again, ordered by streams alone, and changed there.
    after(*d, copy_in_stream, copy_out_stream, events);
    d->copy_in(p + n, other.data(), n);
    after(*d, first_compute_stream + 1, copy_in_stream, events);
    d->run(first_compute_stream + 1, ElementWork{ElementOp::scale, 2.0, vector_view(p + n, n), {}, {}});
    finish(*d, first_compute_stream + 1);  // behind the copy out, by way of other streams
    CHECK(other == ramp(n, 5.0));
    d->copy_out(host.data(), p + n, n);
    const Device::Event last = d->record(copy_out_stream);
    while (!d->done(last)) {}
    d->release(last);
    std::vector<double> expected = ramp(n, 5.0);
    for (double& x : expected) x *= 2.0;
    CHECK(host == expected);
    for (const Device::Event e : events) d->release(e);
    d->give_back(p, 2 * n);
  }
}

TEST_CASE("contractions of many forms, with old values that nobody may read") {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  const auto pool = make_host_pool();
  const auto reference = make_kernels("reference", *pool);
  const auto d = make("seed=9");
  constexpr std::int64_t room = 4000;
  double* p = d->reserve(3 * room);
  const std::array<std::vector<std::int32_t>, 3> forms[] = {{{{0, 1}, {0, 2}, {2, 1}}},
                                                            {{{1, 0}, {0, 2}, {2, 1}}},
                                                            {{{0, 1, 2}, {0, 3}, {3, 2, 1}}},
                                                            {{{0, 1, 2, 3}, {0, 4, 2, 5}, {5, 1, 4, 3}}},
                                                            {{{1, 0}, {0}, {1}}},
                                                            {{{}, {0, 1}, {1, 0}}},
                                                            {{{0}, {1, 0}, {1}}},
                                                            {{{0, 1, 2}, {2, 0}, {1}}},
                                                            {{{3, 0, 2, 1}, {0, 1}, {3, 2}}},
                                                            {{{}, {}, {}}}};
  for (int round = 0; round < 120; ++round)
    for (const auto& form : forms) {
      std::array<std::int64_t, 6> extents{};
      for (auto& e : extents) e = random() % 30 == 0 ? 0 : 1 + static_cast<std::int64_t>(random() % 4);
      std::array<std::vector<double>, 3> values;
      for (auto& v : values) {
        v.resize(room);
        for (double& x : v) x = uniform(random);
      }
      BlockOp op;
      op.has_b = true;
      op.alpha = std::array{1.0, -2.0, 0.0}[random() % 3];
      op.beta = std::array{0.0, 1.0, 0.5}[random() % 3];
      if (op.beta == 0.0) std::fill(values[0].begin(), values[0].end(), std::nan(""));
      if (random() % 20 == 0) values[1][0] = std::nan("");
      const auto set = [&](auto& view, const std::vector<std::int32_t>& labels, auto* data) {
        view.data = data;
        view.rank = static_cast<std::int32_t>(labels.size());
        std::int64_t stride = 1;
        for (std::size_t i = 0; i < labels.size(); ++i) {
          view.label[i] = labels[i];
          view.extent[i] = extents[static_cast<std::size_t>(labels[i])];
          view.stride[i] = stride;
          stride *= view.extent[i] + (round % 3 == 0 ? 1 : 0);
        }
      };
      set(op.d, form[0], p);
      set(op.a, form[1], static_cast<const double*>(p + room));
      set(op.b, form[2], static_cast<const double*>(p + 2 * room));
      for (std::size_t i = 0; i < 3; ++i) d->copy_in(p + static_cast<std::int64_t>(i) * room, values[i].data(), room);
      finish(*d, copy_in_stream);
      const int stream = first_compute_stream + round % d->compute_streams();
      d->run(stream, op);
      finish(*d, stream);
      std::vector<double> result(room);
      d->copy_out(result.data(), p, room);
      finish(*d, copy_out_stream);
      op.d.data = values[0].data();
      op.a.data = values[1].data();
      op.b.data = values[2].data();
      reference->run(op);
      std::int64_t wrong = 0;
      for (std::size_t i = 0; i < room; ++i)
        if (!(std::abs(result[i] - values[0][i]) < 1e-12) && !(std::isnan(result[i]) && std::isnan(values[0][i])))
          ++wrong;
      CAPTURE(round, op.alpha, op.beta, form[0], form[1], form[2], extents);
      CHECK(wrong == 0);
    }
  d->give_back(p, 3 * room);
}

TEST_CASE("ranks take GPUs in turn and share their memory") {
  const auto made = [](std::vector<int> gpus, int rank, int ranks) {
    DeviceOptions options;
    options.gpus = std::move(gpus);
    options.rank_here = rank;
    options.ranks_here = ranks;
    return make("memory=100000000", options);
  };
  const std::int64_t alone = made({}, 0, 1)->memory();
  CHECK(alone > 70'000'000);
  CHECK(alone < 100'000'000);
  CHECK(made({}, 2, 3)->memory() == alone);
  CHECK(made({}, 1, 4)->memory() == alone);
  CHECK(made({}, 3, 4)->memory() < alone / 2 + 1'000'000);
  CHECK(made({0, 2}, 1, 6)->memory() < alone / 3 + 1'000'000);
  CHECK(contains(message_of([&] { made({0, 3}, 1, 2); }), "there is no GPU 3: the driver sees 3"));
  // The rank says which one fails.
  DeviceOptions options;
  options.gpus = {2};
  CHECK(contains(message_of([&] { make("context=1", options); }),
                 "GPU 2 (Fake GPU): making a context failed: CUDA_ERROR_OUT_OF_MEMORY"));
}

TEST_CASE("where the GPU has no room left, reserving says so and workspace sends the operation to the host") {
  CHECK(make("alloc=1")->reserve(1000) == nullptr);
  const auto d = make("memory=20000000");  // smaller than asked for
  CHECK(d->reserve(d->memory() / 8 + 64) == nullptr);
  double* p = d->reserve(3000);
  REQUIRE(p != nullptr);
  BlockOp op;  // its operands stand in different orders and do not fit into the workspace that is left
  op.has_b = true;
  const auto set = [](auto& view, auto* data, std::array<std::int32_t, 3> labels, std::array<std::int64_t, 3> extents,
                      std::array<std::int64_t, 3> strides) {
    view.data = data;
    view.rank = 3;
    std::copy(labels.begin(), labels.end(), view.label.begin());
    std::copy(extents.begin(), extents.end(), view.extent.begin());
    std::copy(strides.begin(), strides.end(), view.stride.begin());
  };
  set(op.d, p, {0, 1, 2}, {2, 2, 2}, {1, 2, 4});
  constexpr std::int64_t large = 500'000;  // the views reach far beyond p: nothing may be started
  set(op.a, static_cast<const double*>(p), {0, 3, 4}, {2, large, 2}, {1, 4, 2});
  set(op.b, static_cast<const double*>(p), {3, 4, 1}, {large, 2, 2}, {1, large, 2 * large});
  op.b.rank = 4;
  op.b.label[3] = 2;
  op.b.extent[3] = 2;
  op.b.stride[3] = 4 * large;
  CHECK_THROWS_AS(d->run(first_compute_stream, op), DeviceFull);
  d->give_back(p, 3000);
}

TEST_CASE("a product that cuBLAS has no room for is left to the host, and its target as it was") {
  const auto d = make("product=1");
  double* p = d->reserve(300);
  const std::vector<double> values = ramp(300, 1.0);
  d->copy_in(p, values.data(), 300);
  finish(*d, copy_in_stream);
  BlockOp op;
  op.has_b = true;
  op.beta = 2.0;
  op.d = vector_view(p, 5);
  op.a.data = p + 100;
  op.a.rank = 2;
  op.a.extent = {5, 4};
  op.a.stride = {1, 5};
  op.a.label = {0, 1};
  op.b.data = p + 200;
  op.b.rank = 1;
  op.b.extent = {4};
  op.b.stride = {1};
  op.b.label = {1};
  CHECK_THROWS_AS(d->run(first_compute_stream, op), DeviceFull);
  finish(*d, first_compute_stream);
  std::vector<double> back(300);
  d->copy_out(back.data(), p, 300);
  finish(*d, copy_out_stream);
  CHECK(back == values);
  d->give_back(p, 300);
}

TEST_CASE("times are those of the driver's events, asked for in batches") {
  for (int seed = 1; seed <= 5; ++seed) {
    CAPTURE(seed);
    const auto d = make("seed=" + std::to_string(seed));
    constexpr std::int64_t n = 100;
    double* p = d->reserve(4 * n);
    std::vector<double> host = ramp(2 * n, 0.0);
    REQUIRE(d->pin(host.data(), 2 * n * 8));
    d->copy_in(p, host.data(), n);
    finish(*d, copy_in_stream);
    d->take_times(true);
    // The fake driver takes 8 microseconds for a piece of work. 3000 kernels without a gap, of which the events are not
    // asked for one by one.
    for (int i = 0; i < 3000; ++i)
      d->run(first_compute_stream, ElementWork{ElementOp::scale, 1.0, vector_view(p, n), {}, {}});
    finish(*d, first_compute_stream);
    DeviceTimes t = *d->times();
    CHECK(t.pieces == 3000);
    CHECK(t.kernels == Approx(3000 * 8e-6).epsilon(1e-3));
    CHECK(t.copies == 0.0);
    // Both ways beside each other, each with the two microseconds between its event and itself; then a copy that begins
    // behind a kernel, and one that does not.
    d->copy_in(p + n, host.data(), n);
    d->copy_out(host.data() + n, p + 2 * n, n);
    finish(*d, copy_in_stream);
    finish(*d, copy_out_stream);
    t = d->times()->since(t);
    CHECK(t.in == Approx(10e-6).epsilon(1e-2));
    CHECK(t.out == Approx(10e-6).epsilon(1e-2));
    CHECK(t.copies < 17e-6);
    CHECK(t.copies > 11e-6);
    CHECK(t.overlapped == 0.0);
    DeviceTimes before = *d->times();
    std::vector<Device::Event> events;
    d->run(first_compute_stream, ElementWork{ElementOp::scale, 1.0, vector_view(p, n), {}, {}});
    after(*d, copy_out_stream, first_compute_stream, events);
    d->copy_out(host.data(), p, n);
    finish(*d, copy_out_stream);
    CHECK(d->times()->overlapped == before.overlapped);
    before = *d->times();
    d->run(first_compute_stream, ElementWork{ElementOp::scale, 1.0, vector_view(p, n), {}, {}});
    d->copy_in(p + n, host.data(), n);
    finish(*d, copy_in_stream);
    finish(*d, first_compute_stream);
    const DeviceTimes beside = d->times()->since(before);
    CHECK(beside.overlapped > 0.0);
    CHECK(beside.overlapped < 10e-6);
    for (const Device::Event e : events) d->release(e);
    d->unpin(host.data());
    d->give_back(p, 4 * n);
  }
  // A device that is lost meanwhile says so, and its events are put away.
  const auto lost = make("seed=3,lose=700");
  double* p = lost->reserve(100);
  lost->take_times(true);
  CHECK(contains(message_of([&] {
                   for (int i = 0; i < 5000; ++i)
                     lost->run(first_compute_stream, ElementWork{ElementOp::fill, 1.0, vector_view(p, 100), {}, {}});
                 }),
                 "CUDA_ERROR_LAUNCH_FAILED"));
}

TEST_CASE("a device that is lost says so at the next call, and is put away without a word") {
  for (const int when : {1, 2, 3, 4, 5, 6, 8, 12}) {
    CAPTURE(when);
    DeviceOptions options;
    options.staged_from = 0;  // nothing is measured
    const auto d = make("seed=" + std::to_string(when) + ",lose=" + std::to_string(when), options);
    const std::string message = message_of([&] {
      double* p = d->reserve(100);
      std::vector<double> host(100, 1.0);
      for (;;) {
        d->copy_in(p, host.data(), 100);
        finish(*d, copy_in_stream);
        d->run(first_compute_stream, ElementWork{ElementOp::scale, 2.0, vector_view(p, 100), {}, {}});
        finish(*d, first_compute_stream);
        d->copy_out(host.data(), p, 100);
        finish(*d, copy_out_stream);
      }
    });
    CAPTURE(message);
    CHECK(contains(message, "GPU 0 (Fake GPU) failed: CUDA_ERROR_LAUNCH_FAILED"));
    CHECK(contains(message, "--restart"));
    CHECK_THROWS_AS(d->record(first_compute_stream), EnvironmentError);
  }
  CHECK_THROWS_AS(make("lose=1"), EnvironmentError);  // while copies are measured
  CHECK_THROWS_AS(make("blas=1"), EnvironmentError);
}

TEST_CASE("a driver that does not take the generated code says why") {
  const auto d = make("module=1");
  double* p = d->reserve(100);
  const std::string message =
      message_of([&] { d->run(first_compute_stream, ElementWork{ElementOp::fill, 2.0, vector_view(p, 100), {}, {}}); });
  CHECK(contains(message, "this code is refused, as a test wishes"));
  CHECK(contains(message, "sm_90"));
  CHECK(contains(message, "--device host"));
  d->give_back(p, 100);
}

TEST_CASE(
    "products of one shape are one start where they lie at equal distances, else beside copies, and not where that saves none") {
  const auto d = make("seed=3");
  constexpr std::int64_t room = 20'000;
  double* p = d->reserve(room);
  std::mt19937 random(5);
  std::vector<double> first(room);
  for (double& x : first) x = std::uniform_real_distribution<double>(-1.0, 1.0)(random);
  const int s = first_compute_stream;
  const auto starts_of = [&](const std::vector<BlockOp>& ops) {
    std::vector<double> results[2];
    std::int64_t starts = 0;
    for (const bool together : {false, true}) {
      d->copy_in(p, first.data(), room);
      finish(*d, copy_in_stream);
      const std::int64_t before = d->starts();
      if (together) {
        CHECK(d->run_batch(s, ops) == ops.size());
      } else {
        for (const BlockOp& op : ops) d->run(s, op);
      }
      starts = d->starts() - before;
      finish(*d, s);
      results[together] = contents(*d, p, room);
    }
    CHECK(results[0] == results[1]);
    return starts;
  };
  std::vector<BlockOp> even, one_factor, uneven, uneven_target, few, backwards;
  for (std::int64_t i = 0; i < 12; ++i) {
    const std::int64_t off = 40 * i + 2 * (i * i % 5);
    even.push_back(matrix_product(p + 40 * i, p + 2000 + 50 * i, p + 4000 + 60 * i, 6, -2.0, 0.5, i < 0));
    one_factor.push_back(matrix_product(p + 40 * i, p + 2000, p + 4000 + 60 * i, 6, 1.0, 1.0, true));
    uneven.push_back(matrix_product(p + 40 * i, p + 2000 + off, p + 4000 + off, 6, -1.0, 0.0, true));
    uneven_target.push_back(matrix_product(p + 50 * i + (i % 3), p + 2000 + off, p + 4000, 6, 1.0, 1.0, false));
    backwards.push_back(matrix_product(p + 40 * (12 - i), p + 2000 + 50 * i, p + 4000, 6, 1.0, 1.0, false));
  }
  CHECK(starts_of(even) == 1);
  CHECK(starts_of(one_factor) == 1);
  CHECK(starts_of(uneven) == 3);
  CHECK(starts_of(uneven_target) == 3);  // one factor for all stays where it is
  CHECK(starts_of(backwards) == 2);
  few = {uneven.begin(), uneven.begin() + 3};
  CHECK(starts_of(few) == 3);               // each by itself
  for (BlockOp& op : even) op.alpha = 0.0;  // a NaN must show
  CHECK(starts_of(even) == 2);
  std::vector<BlockOp> orders;
  for (std::int64_t i = 0; i < 10; ++i)
    orders.push_back(four_index(p + 90 * i, p + 2000 + 81 * (i * i % 7), p + 4000, 3, 1.5, i < 0 ? 0.0 : -1.0));
  const std::int64_t alone = static_cast<std::int64_t>(orders.size()) * [&] {
    const std::int64_t before = d->starts();
    d->run(s, orders.front());
    return d->starts() - before;
  }();
  const std::int64_t together = starts_of(orders);
  CAPTURE(alone, together);
  CHECK(together <= 12);
  CHECK(together < alone);
  d->give_back(p, room);
}

TEST_CASE("more products than there is workspace for go in parts; without any each is tried by itself") {
  DeviceOptions options;
  options.memory = 4 << 20;
  auto d = make("seed=4,memory=100000000", options);
  const std::int64_t room = 400'000, n = 40;
  double* p = d->reserve(room);
  std::vector<double> first(room);
  std::iota(first.begin(), first.end(), -1000.0);
  std::vector<BlockOp> ops;
  for (std::int64_t i = 0; i < 60; ++i)
    ops.push_back(matrix_product(p + 1602 * i + i % 2, p + 100'000 + 1600 * (i * i % 60),
                                 p + 200'000 + 1600 * (i * i * i % 61), n, 1.0, 1.0, false));
  std::vector<double> results[2];
  for (const bool together : {false, true}) {
    d->copy_in(p, first.data(), room);
    finish(*d, copy_in_stream);
    const std::int64_t before = d->starts();
    if (together) {
      CHECK(d->run_batch(first_compute_stream, ops) == ops.size());
      CHECK(d->starts() - before < 20);
    } else {
      for (const BlockOp& op : ops) d->run(first_compute_stream, op);
      CHECK(d->starts() - before == 60);
    }
    finish(*d, first_compute_stream);
    results[together] = contents(*d, p, room);
  }
  CHECK(results[0] == results[1]);
  d->give_back(p, room);
  d.reset();  // settings are read when the first device is made
  for (const char* settings : {"seed=5,alloc=2", "seed=5,product=1"}) {  // no workspace; no products
    CAPTURE(settings);
    DeviceOptions plain;
    plain.staged_from = 0;  // measuring needs memory, too
    const auto bare = make(settings, plain);
    double* q = bare->reserve(400'000);
    REQUIRE(q != nullptr);
    for (BlockOp& op : ops) {
      op.d.data += q - p;
      op.a.data += q - p;
      op.b.data += q - p;
    }
    CHECK(bare->run_batch(first_compute_stream, ops) == 0);
    finish(*bare, first_compute_stream);
    bare->give_back(q, 400'000);
    p = q;
  }
}

TEST_CASE("random small work on the fake driver gives the same bits, started at once or not") {
  std::int64_t alone = 0, together = 0;
  for (int seed = 1; seed <= 30; ++seed) {
    CAPTURE(seed);
    std::vector<double> results[2];
    for (const bool batching : {false, true}) {
      auto d = make("seed=" + std::to_string(seed));
      if (batching) d = make_batching_device(std::move(d), 1000);
      constexpr std::int64_t room = 8192;
      double* p = d->reserve(room);
      std::vector<double> first(room);
      for (std::size_t i = 0; i < first.size(); ++i) first[i] = 1.0 / static_cast<double>(i + 1);
      d->copy_in(p, first.data(), room);
      finish(*d, copy_in_stream);
      std::mt19937_64 random(static_cast<std::uint64_t>(seed));
      const auto draw = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
      for (int i = 0; i < 300; ++i) {
        double *x = p + 32 * draw(64), *y = p + 4096 + 32 * draw(64), *z = p + 4096 + 2048 + 32 * draw(64);
        switch (draw(6)) {
          case 0: d->run(first_compute_stream, matrix_product(x, y, z, 4, 1.0, 1.0, false)); break;
          case 1: d->run(first_compute_stream, matrix_product(y, x, z, 4, -0.5, 0.0, true)); break;
          case 2: d->run(first_compute_stream, four_index(x, y, z, 2, 1.0, 1.0)); break;
          case 3: d->run(first_compute_stream, ElementWork{ElementOp::scale, 0.5, vector_view(x, 20), {}, {}}); break;
          case 4: {
            BlockOp copy = matrix_product(z, x, x, 5, 2.0, draw(2) == 0 ? 0.0 : 1.0, false);
            copy.has_b = false;
            std::swap(copy.d.label[0], copy.d.label[1]);
            copy.a.label = {0, 1};
            d->run(first_compute_stream, copy);
            break;
          }
          default:
            if (draw(8) == 0) finish(*d, first_compute_stream);
            break;
        }
      }
      finish(*d, first_compute_stream);
      results[batching] = contents(*d, p, room);
      (batching ? together : alone) += d->starts();
      d->give_back(p, room);
    }
    CHECK(results[0] == results[1]);
  }
  CAPTURE(alone, together);
  CHECK(together * 10 < alone * 8);
}
