// Small work that waits for its like: what is started together, what must not be, and that nobody sees a difference in
// the values.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "runtime/core/base/error.h"
#include "runtime/core/device/batch/batch_queue.h"
#include "runtime/core/device/cache/device_pool.h"
#include "runtime/core/memory/host_pool.h"
#include "tests/unit/core/device/altered_device.h"
#include "tests/unit/core/device/cache_fixture.h"

using namespace sial;
using kernels::FusedOp;
using kernels::FusedStep;

namespace {

constexpr int stream = first_compute_stream;

MutableView row(double* p, std::int64_t n, std::int64_t stride = 1, std::int32_t label = 0) {
  MutableView v;
  v.data = p;
  v.rank = 1;
  v.extent[0] = n;
  v.stride[0] = stride;
  v.label[0] = label;
  return v;
}
template <class T>
BlockView<T> square(T* p, std::int64_t n, std::int32_t first, std::int32_t second) {
  return dense_view(p, {2, {n, n}}, {first, second});
}

/// d = factor * a
BlockOp scaled(double* d, const double* a, std::int64_t n, double factor) {
  BlockOp op;
  op.d = row(d, n);
  op.a = dense_view(a, {1, {n}}, {});
  op.alpha = factor;
  return op;
}
/// d = a * b + beta * d, matrices of n x n
BlockOp product(double* d, const double* a, const double* b, std::int64_t n, double beta = 0.0) {
  BlockOp op;
  op.d = square(d, n, 0, 1);
  op.a = square(a, n, 0, 2);
  op.b = square(b, n, 2, 1);
  op.has_b = true;
  op.beta = beta;
  return op;
}

/// How many pieces each batch has, in the order in which they are started.
std::vector<std::size_t> sizes(const BatchQueue& queue) {
  std::vector<std::size_t> n;
  for (const BatchQueue::Batch& b : queue.batches()) n.push_back(b.size());
  return n;
}
using Sizes = std::vector<std::size_t>;

struct Memory {
  std::vector<double> values = std::vector<double>(4096, 0.0);
  double* at(std::size_t i) { return values.data() + i; }
};

/// A device that has room for the workspace of so many pieces only, and then for none.
struct Limited {
  std::unique_ptr<BufferResource> pool = make_host_pool();
  std::unique_ptr<Kernels> kernels = make_kernels("reference", *pool);
};

}  // namespace

TEST_CASE("pieces of one shape that share no memory are one batch") {
  Memory m;
  BatchQueue q;
  for (std::size_t i = 0; i < 10; ++i) q.add(scaled(m.at(16 * i), m.at(2000), 16, 2.0));  // one source for all
  CHECK(sizes(q) == Sizes{10});
  for (std::size_t i = 0; i < 3; ++i)
    q.add(row(m.at(1000 + 16 * i), 16), std::vector<FusedStep>{{FusedOp::scale, 3.0, {}, {}, nullptr}});
  CHECK(sizes(q) == Sizes{10, 3});
  CHECK(q.size() == 13);
}

TEST_CASE("what differs in shape is no batch: extents, strides, labels, factors, steps, sources") {
  Memory m;
  BatchQueue q;
  q.add(product(m.at(0), m.at(2000), m.at(2100), 4));
  q.add(product(m.at(100), m.at(2000), m.at(2100), 3));
  q.add(product(m.at(200), m.at(2000), m.at(2100), 4, 1.0));
  BlockOp op = product(m.at(300), m.at(2000), m.at(2100), 4);
  std::swap(op.a.label[0], op.a.label[1]);
  q.add(op);
  op = product(m.at(400), m.at(2000), m.at(2100), 4);
  op.d.stride[1] = 5;
  q.add(op);
  op = product(m.at(500), m.at(2000), m.at(2100), 4);
  op.alpha = -1.0;
  q.add(op);
  CHECK(sizes(q) == Sizes(6, 1));
  BatchQueue chains;
  const auto step = [&](FusedOp o, double factor, std::size_t a) {
    return FusedStep{o, factor, {a ? m.at(a) : nullptr, {1}}, {}, nullptr};
  };
  std::size_t at = 0;
  const auto add = [&](std::vector<FusedStep> steps) { chains.add(row(m.at(at++ * 16), 16), steps); };
  add({step(FusedOp::scale, 2.0, 0)});
  add({step(FusedOp::scale, 3.0, 0)});
  add({step(FusedOp::add_scalar, 2.0, 0)});
  add({step(FusedOp::copy, 0.0, 3000)});
  add({step(FusedOp::accumulate, 1.0, 3000)});
  add({{FusedOp::accumulate, 1.0, {m.at(at * 16), {1}}, {}, nullptr}});  // the target itself
  add({step(FusedOp::accumulate, 1.0, 3000), step(FusedOp::scale, 2.0, 0)});
  EnergyDifferences e;
  e.rank = 2;
  for (std::size_t d = 0; d < 2; ++d) e.energy[d] = {1.0, 2.0, 3.0, 4.0};
  for (int i = 0; i < 2; ++i) {  // energies go with a kernel
    const ConstView v = as_const(square(m.at(at++ * 16), 4, 0, 1));
    MutableView d;
    d.data = const_cast<double*>(v.data), d.rank = 2, d.extent = v.extent, d.stride = v.stride;
    chains.add(d, std::vector<FusedStep>{{FusedOp::multiply, 0.0, {}, {}, &e}});
  }
  CHECK(sizes(chains) == Sizes(9, 1));
}

TEST_CASE("each kind of conflict keeps its order, by the memory between first and last element") {
  Memory m;
  {
    BatchQueue q;  // read after write
    q.add(scaled(m.at(0), m.at(100), 16, 2.0));
    q.add(scaled(m.at(200), m.at(0), 16, 2.0));
    CHECK(sizes(q) == Sizes{1, 1});
    CHECK(q.batches()[0].ops[0].d.data == m.at(0));
  }
  {
    BatchQueue q;  // write after read
    q.add(scaled(m.at(200), m.at(0), 16, 2.0));
    q.add(scaled(m.at(0), m.at(100), 16, 2.0));
    CHECK(sizes(q) == Sizes{1, 1});
    CHECK(q.batches()[0].ops[0].d.data == m.at(200));
  }
  {
    BatchQueue q;  // write after write
    q.add(scaled(m.at(0), m.at(100), 16, 2.0));
    q.add(scaled(m.at(0), m.at(200), 16, 2.0));
    CHECK(sizes(q) == Sizes{1, 1});
    CHECK(q.batches()[1].ops[0].a.data == m.at(200));
  }
  {
    BatchQueue q;  // by one element
    q.add(scaled(m.at(0), m.at(100), 16, 2.0));
    q.add(scaled(m.at(15), m.at(200), 16, 2.0));
    q.add(scaled(m.at(16 + 15), m.at(200), 16, 2.0));
    CHECK(sizes(q) == Sizes{2, 1});  // the third has nothing to do with the first
  }
  {
    BatchQueue q;  // interleaved: they share no element, but who would know
    const std::vector<FusedStep> fill{{FusedOp::fill, 1.0, {}, {}, nullptr}};
    q.add(row(m.at(0), 8, 2), fill);
    q.add(row(m.at(1), 8, 2), fill);
    CHECK(sizes(q) == Sizes{1, 1});
  }
  {
    BatchQueue q;  // the second source of a step, and a source of a later step
    q.add(scaled(m.at(0), m.at(100), 16, 2.0));
    q.add(row(m.at(200), 16), std::vector<FusedStep>{{FusedOp::sum, 1.0, {m.at(300), {1}}, {m.at(0), {1}}, nullptr}});
    q.add(row(m.at(400), 16), std::vector<FusedStep>{{FusedOp::fill, 1.0, {}, {}, nullptr},
                                                     {FusedOp::accumulate, 1.0, {m.at(0), {1}}, {}, nullptr}});
    BlockOp op = product(m.at(500), m.at(1000), m.at(0), 4);
    q.add(op);
    CHECK(sizes(q) == Sizes{1, 1, 1, 1});
    CHECK(q.batches()[0].ops.size() == 1);
    CHECK(q.batches()[0].ops[0].d.data == m.at(0));
  }
}

TEST_CASE("accumulations into several targets go level by level") {
  Memory m;
  BatchQueue q;
  for (std::size_t k = 0; k < 5; ++k)
    for (std::size_t t = 0; t < 4; ++t) q.add(product(m.at(16 * t), m.at(1000 + 16 * k), m.at(2000 + 16 * t), 4, 1.0));
  CHECK(sizes(q) == Sizes(5, 4));
}

TEST_CASE("what is small") {
  Memory m;
  CHECK(is_small(scaled(m.at(0), m.at(100), 16, 1.0), 32));
  CHECK_FALSE(is_small(scaled(m.at(0), m.at(100), 16, 1.0), 31));
  CHECK(is_small(product(m.at(0), m.at(100), m.at(200), 10), 300));
  CHECK_FALSE(is_small(product(m.at(0), m.at(100), m.at(200), 10), 299));
  CHECK(is_small(product(m.at(0), m.at(100), m.at(200), 768), 3 * 768 * 768));
  CHECK_FALSE(is_small(product(m.at(0), m.at(100), m.at(200), 769),
                       3 * 769 * 769));  // more than 256 multiplications an element
  const std::vector<FusedStep> steps{{FusedOp::sum, 1.0, {m.at(0), {1}}, {m.at(0), {1}}, nullptr},
                                     {FusedOp::scale, 2.0, {}, {}, nullptr}};
  CHECK(is_small(row(m.at(100), 10), steps, 30));
  CHECK_FALSE(is_small(row(m.at(100), 10), steps, 29));
  CHECK_FALSE(is_small(row(m.at(100), 1), {}, 0));
}

namespace {

struct Batching {
  std::unique_ptr<BufferResource> pool = make_host_pool();
  std::unique_ptr<Kernels> kernels = make_kernels("reference", *pool);
  std::unique_ptr<Device> device;
  double* p = nullptr;
  explicit Batching(std::int64_t small, std::uint64_t seed = 1) {
    DeviceOptions options;
    options.seed = seed;
    options.batch = small;
    device = make_device("simulated", *kernels, options);
    p = device->reserve(4096);
  }
  ~Batching() { device->give_back(p, 4096); }
  Batching(const Batching&) = delete;
  Batching& operator=(const Batching&) = delete;
  void finish(int s) {
    const Device::Event e = device->record(s);
    device->finish(e);
    device->release(e);
  }
  void in(const std::vector<double>& values) {
    device->copy_in(p, values.data(), static_cast<std::int64_t>(values.size()));
    finish(copy_in_stream);
  }
  std::vector<double> out() {
    std::vector<double> values(4096);
    device->copy_out(values.data(), p, 4096);
    finish(copy_out_stream);
    return values;
  }
};

}  // namespace

TEST_CASE("a batch is one start; an event, an inner product, large work and the 512th piece start what waits") {
  Batching b(200);
  b.in(std::vector<double>(4096, 1.0));
  for (std::size_t i = 0; i < 20; ++i) b.device->run(stream, scaled(b.p + 16 * i, b.p + 2000, 16, 2.0));
  CHECK(b.device->starts() == 0);
  b.finish(copy_in_stream);  // another stream's
  CHECK(b.device->starts() == 0);
  b.finish(stream);
  CHECK(b.device->starts() == 1);
  CHECK(b.device->batched().pieces == 20);
  CHECK(b.device->batched().batches == 1);
  CHECK(b.device->batched().batched == 20);
  CHECK(b.out()[19 * 16 + 15] == 2.0);
  b.finish(stream);
  CHECK(b.device->starts() == 1);  // nothing waits

  double sum = 0.0;
  b.device->run(stream, scaled(b.p, b.p + 2000, 16, 3.0));
  b.device->dot(stream, as_const(row(b.p, 16)), as_const(row(b.p + 2000, 16)), &sum);
  b.finish(stream);
  CHECK(sum == 48.0);
  CHECK(b.device->starts() == 3);

  b.device->run(stream, scaled(b.p, b.p + 2000, 16, 5.0));
  b.device->run(stream, scaled(b.p + 100, b.p, 16, 7.0));
  b.device->run(stream, scaled(b.p + 1000, b.p, 300, 2.0));  // large
  CHECK(b.device->starts() == 6);
  b.finish(stream);
  CHECK(b.out()[1000] == 10.0);
  CHECK(b.out()[1100] == 70.0);

  for (std::size_t i = 0; i < 511; ++i) b.device->run(stream, scaled(b.p + 4 * i, b.p + 3000, 4, 2.0));
  CHECK(b.device->starts() == 6);
  b.device->run(stream, scaled(b.p + 4 * 511, b.p + 3000, 4, 2.0));
  CHECK(b.device->starts() == 7);
  CHECK(b.device->batched().batches == 2);
}

TEST_CASE(
    "streams wait by themselves; whoever waits for work has all of it go on; times are of all that was asked for") {
  Batching b(200);
  b.in(std::vector<double>(4096, 1.0));
  for (int i = 0; i < 40; ++i)
    b.device->run(stream, scaled(b.p, b.p + 2000, 300, 2.0));  // large: a few are done by the way
  for (std::size_t i = 0; i < 4; ++i) b.device->run(stream + 1, scaled(b.p + 1000 + 16 * i, b.p + 2500, 16, 2.0));
  const Device::Event e = b.device->record(stream);
  CHECK(b.device->starts() == 40);
  b.device->finish(e);
  CHECK(b.device->starts() == 41);
  b.device->release(e);
  b.device->take_times(true);
  CHECK(b.device->starts() == 41);
  b.device->run(stream, scaled(b.p, b.p + 2000, 16, 2.0));
  CHECK(b.device->times()->pieces == 1);
}

TEST_CASE("a wait for an event goes ahead of what waits in the stream, which nobody minds") {
  Batching b(200);
  b.in(std::vector<double>(4096, 1.0));
  const std::vector<double> values(16, 9.0);
  b.device->run(stream, scaled(b.p, b.p + 2000, 16, 2.0));
  b.device->copy_in(b.p + 100, values.data(), 16);
  const Device::Event e = b.device->record(copy_in_stream);
  b.device->wait(stream, e);
  CHECK(b.device->starts() == 0);
  b.device->run(stream, scaled(b.p + 200, b.p + 100, 16, 2.0));
  b.finish(stream);
  b.device->release(e);
  CHECK(b.device->starts() == 1);
  CHECK(b.out()[0] == 2.0);
  CHECK(b.out()[200] == 18.0);
}

TEST_CASE("random work gives the same bits, started at once or not") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    std::vector<double> results[2];
    std::int64_t starts[2];
    for (const bool batching : {false, true}) {
      Batching b(batching ? 300 : 0, seed);
      std::vector<double> first(4096);
      std::iota(first.begin(), first.end(), 1.0);
      b.in(first);
      std::mt19937_64 random(seed);
      const auto draw = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
      std::vector<Device::Event> events;
      for (int i = 0; i < 200; ++i) {
        double *d = b.p + 25 * draw(20), *x = b.p + 1000 + 25 * draw(20), *y = b.p + 25 * (20 + draw(10));
        if (draw(3) == 0) std::swap(d, x);
        const int s = stream;  // one stream keeps order by itself
        switch (draw(6)) {
          case 0: b.device->run(s, product(d, x, y, 5, 0.25)); break;
          case 1: b.device->run(s, product(d, x, y, 5)); break;
          case 2: b.device->run(s, scaled(d, x, 25, 0.5)); break;
          case 3:
            b.device->run(s, row(d, 25),
                          std::vector<FusedStep>{{FusedOp::scale, 0.5, {}, {}, nullptr},
                                                 {FusedOp::accumulate, 0.25, {x, {1}}, {}, nullptr}});
            break;
          case 4:
            b.device->run(s, row(d, 25), std::vector<FusedStep>{{FusedOp::sum, -0.5, {d, {1}}, {x, {1}}, nullptr}});
            break;
          default:
            if (draw(10) == 0) b.finish(s);
            break;
        }
      }
      b.finish(stream);
      results[batching] = b.out();
      starts[batching] = b.device->starts();
    }
    CHECK(results[0] == results[1]);
    CHECK(starts[1] < starts[0]);
  }
}

TEST_CASE("what finds no room when it is started the host does, and nobody hears of it") {
  for (const int room : {0, 3, 7, 20}) {
    CAPTURE(room);
    Limited l;
    const auto device = make_batching_device(std::make_unique<Narrow>(*l.kernels, room), 200);
    double* p = device->reserve(1000);
    std::vector<double> values(1000, 1.0);
    device->copy_in(p, values.data(), 1000);
    const auto finish = [&](int s) {
      const Device::Event e = device->record(s);
      device->finish(e);
      device->release(e);
    };
    finish(copy_in_stream);
    for (std::int64_t i = 0; i < 5; ++i) device->run(stream, product(p + 20 * i, p + 500, p + 600, 4, 1.0));
    for (std::int64_t i = 0; i < 5; ++i)
      device->run(stream, row(p + 20 * i, 16),
                  std::vector<FusedStep>{{FusedOp::scale, 2.0, {}, {}, nullptr},
                                         {FusedOp::accumulate, 3.0, {p + 700, {1}}, {}, nullptr},
                                         {FusedOp::sum, 1.0, {p + 20 * i, {1}}, {p + 720, {1}}, nullptr}});
    finish(stream);
    device->copy_out(values.data(), p, 1000);
    finish(copy_out_stream);
    for (std::size_t i = 0; i < 5; ++i)
      for (std::size_t k = 0; k < 16; ++k) CHECK(values[20 * i + k] == 2.0 * 5.0 + 3.0 + 1.0);
    CHECK(values[16] == 1.0);
    CHECK(device->batched().on_host == std::max(0, 10 - room));
    device->give_back(p, 1000);
  }
}

TEST_CASE("temporaries take turns where small work waits, so that those of several iterations are one batch") {
  for (const bool batching : {false, true}) {
    CAPTURE(batching);
    Limited l;
    DeviceOptions options;
    options.batch = batching ? 1000 : 0;
    const auto device = make_device("simulated", *l.kernels, options);
    DevicePool pool(*device);
    std::vector<double*> got;
    Frontier after;
    for (int i = 0; i < 200; ++i) {
      got.push_back(pool.allocate(100, after));
      pool.release(got.back(), {});
    }
    std::sort(got.begin(), got.end());
    CHECK(std::unique(got.begin(), got.end()) - got.begin() == (batching ? 64 : 1));
    CHECK(pool.stats().bytes_in_use == 0);
    CHECK(pool.stats().bytes_high_water == 128 * 8);
    CHECK(pool.stats().cache_hits == 199);
    pool.release(pool.allocate(2000, after), {});  // no small one
    CHECK(pool.pieces() == 1);
  }
}

TEST_CASE("blocks that take turns are there for others before more memory is asked for") {
  Limited l;
  DeviceOptions options;
  options.batch = 1000;
  options.memory = 8 * 8 * 128;  // one piece after the other, of 128 elements each
  const auto device = make_device("simulated", *l.kernels, options);
  DevicePool pool(*device);
  Frontier after;
  std::vector<double*> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(pool.allocate(128, after));
  CHECK(pool.allocate(128, after) == nullptr);
  for (double* p : blocks) pool.release(p, {});
  const std::int64_t pieces = pool.pieces();
  for (int i = 0; i < 16; ++i) {
    blocks.push_back(pool.allocate(64, after));
    REQUIRE(blocks.back() != nullptr);
  }
  CHECK(pool.allocate(64, after) == nullptr);
  CHECK(pool.pieces() == pieces);
  for (int i = 8; i < 24; ++i) pool.release(blocks[static_cast<std::size_t>(i)], {});
}
