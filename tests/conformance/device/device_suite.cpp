// One suite for every Device that can be made here.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "runtime/core/base/error.h"
#include "runtime/core/device/device.h"
#include "runtime/core/memory/host_pool.h"

using namespace sial;

namespace {

struct Made {
  std::unique_ptr<BufferResource> pool = make_host_pool();
  std::unique_ptr<Kernels> kernels = make_kernels("reference", *pool);
  std::unique_ptr<Device> device;
  explicit Made(const std::string& name, DeviceOptions options = {}) : device(make_device(name, *kernels, options)) {}

  void finish(int stream) {
    const Device::Event e = device->record(stream);
    device->finish(e);
    device->release(e);
  }
  void after(int stream, int other) {
    const Device::Event e = device->record(other);
    device->wait(stream, e);
    events.push_back(e);
  }
  void in(double* p, const std::vector<double>& values) {
    device->copy_in(p, values.data(), static_cast<std::int64_t>(values.size()));
    finish(copy_in_stream);
  }
  std::vector<double> out(const double* p, std::int64_t n) {
    std::vector<double> values(static_cast<std::size_t>(n));
    device->copy_out(values.data(), p, n);
    finish(copy_out_stream);
    return values;
  }
  std::vector<Device::Event> events;
};

std::vector<double> ramp(std::int64_t n, double first) {
  std::vector<double> v(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = first + static_cast<double>(i);
  return v;
}

template <class T>
BlockView<T> view(T* data, std::initializer_list<std::int64_t> extents, std::initializer_list<std::int64_t> strides,
                  std::initializer_list<std::int32_t> labels) {
  BlockView<T> v;
  v.data = data;
  v.rank = static_cast<std::int32_t>(extents.size());
  std::copy(extents.begin(), extents.end(), v.extent.begin());
  std::copy(strides.begin(), strides.end(), v.stride.begin());
  std::copy(labels.begin(), labels.end(), v.label.begin());
  return v;
}

template <class F>
void for_each_device(F&& f) {
  for (const std::string& name : device_names()) {
    CAPTURE(name);
    for (const std::int64_t batch : {0, 600}) {  // by itself, and where small work waits for its like
      CAPTURE(batch);
      DeviceOptions options;
      options.batch = batch;
      Made made(name, options);
      if (made.device) f(made);
    }
  }
}

}  // namespace

TEST_CASE("every device is made by its name, and no other; the host needs none") {
  for_each_device([](Made& m) { CHECK(m.device->compute_streams() >= 1); });
  CHECK(Made("host").device == nullptr);
  CHECK_THROWS_AS(Made("cdua"), SialError);
}

TEST_CASE("what goes to the device comes back, in parts too") {
  for_each_device([](Made& m) {
    double* p = m.device->reserve(2000);
    REQUIRE(p != nullptr);
    CHECK(reinterpret_cast<std::uintptr_t>(p) % 256 == 0);
    for (const std::int64_t n : {1, 7, 64, 1000}) m.in(p + n, ramp(n, static_cast<double>(n)));
    CHECK(m.out(p + 1000, 1000) == ramp(1000, 1000.0));
    m.in(p + 1004, ramp(3, -5.0));
    CHECK(m.out(p + 1002, 6) == std::vector<double>{1002, 1003, -5, -4, -3, 1007});
    CHECK(m.device->moved_in().transfers == 5);
    CHECK(m.device->moved_in().bytes == 8 * (1 + 7 + 64 + 1000 + 3));
    CHECK(m.device->moved_out().transfers == 2);
    m.device->copy_in(p, nullptr, 0);
    m.device->give_back(p, 2000);
  });
}

TEST_CASE("a rank reserves no more than it may") {
  for (const std::string& name : device_names()) {
    CAPTURE(name);
    DeviceOptions options;
    options.memory = 1 << 20;
    Made m(name, options);
    if (!m.device) continue;
    CHECK(m.device->memory() == options.memory);
    CHECK(m.device->reserve((1 << 17) + 1) == nullptr);
    double* p = m.device->reserve(1 << 16);
    double* q = m.device->reserve(1 << 16);
    CHECK(p != nullptr);
    CHECK(q != nullptr);
    CHECK(m.device->reserve(100) == nullptr);
    m.device->give_back(p, 1 << 16);
    double* r = m.device->reserve(100);
    CHECK(r != nullptr);
    m.device->give_back(q, 1 << 16);
    m.device->give_back(r, 100);
  }
}

TEST_CASE("element-wise work, dense and strided") {
  for_each_device([](Made& m) {
    constexpr std::int64_t n = 300;
    double* p = m.device->reserve(3 * n);
    const int s = first_compute_stream;
    for (const bool strided : {false, true}) {
      CAPTURE(strided);
      m.in(p, ramp(n, 1.0));
      m.in(p + n, ramp(n, 2.0));
      m.in(p + 2 * n, ramp(n, 3.0));
      std::vector<double> d = ramp(n, 1.0);
      const std::vector<double> a = ramp(n, 2.0), b = ramp(n, 3.0);
      // 5 x 4 x 3 of blocks of 5 x 6 x 10, or all of them.
      const std::vector<std::int64_t> extents =
          strided ? std::vector<std::int64_t>{5, 4, 3} : std::vector<std::int64_t>{5, 6, 10};
      const auto part = [&](auto* data) {
        return view(data, {extents[0], extents[1], extents[2]}, {1, 5, 30}, {0, 1, 2});
      };
      const auto each = [&](auto&& f) {
        for (std::int64_t k = 0; k < extents[2]; ++k)
          for (std::int64_t j = 0; j < extents[1]; ++j)
            for (std::int64_t i = 0; i < extents[0]; ++i) f(static_cast<std::size_t>(i + 5 * j + 30 * k));
      };
      const ConstView va = part(static_cast<const double*>(p + n)), vb = part(static_cast<const double*>(p + 2 * n)),
                      vd = part(static_cast<const double*>(p));
      const auto compare = [&](ElementOp op, double factor, auto&& f) {
        const ConstView& first = op == ElementOp::sum && factor < 0 ? vd : va;
        m.device->run(s, ElementWork{op, factor, part(p), first, vb});
        m.finish(s);
        each(f);
        CHECK(m.out(p, n) == d);
      };
      compare(ElementOp::add_scalar, 2.5, [&](std::size_t i) { d[i] += 2.5; });
      compare(ElementOp::scale, -3.0, [&](std::size_t i) { d[i] *= -3.0; });
      compare(ElementOp::sum, 0.5, [&](std::size_t i) { d[i] = a[i] + 0.5 * b[i]; });
      compare(ElementOp::sum, -1.0, [&](std::size_t i) { d[i] = d[i] - b[i]; });
      compare(ElementOp::copy, 0.0, [&](std::size_t i) { d[i] = a[i]; });
      compare(ElementOp::fill, 4.0, [&](std::size_t i) { d[i] = 4.0; });
    }
    m.device->give_back(p, 3 * n);
  });
}

TEST_CASE("contractions, permuted copies and inner products") {
  for_each_device([](Made& m) {
    std::mt19937 random(3);
    std::uniform_real_distribution<double> uniform(-1.0, 1.0);
    const auto values = [&](std::int64_t n) {
      std::vector<double> v(static_cast<std::size_t>(n));
      for (double& x : v) x = uniform(random);
      return v;
    };
    const int s = first_compute_stream;
    constexpr std::int64_t i = 7, j = 5, k = 6, l = 3;
    double* p = m.device->reserve(2000);
    std::vector<double> a = values(i * k * l), b = values(j * l * k), d = values(i * j);
    double *pa = p, *pb = p + 500, *pd = p + 1000;
    m.in(pa, a);
    m.in(pb, b);
    m.in(pd, d);
    BlockOp op;
    op.has_b = true;
    op.alpha = -2.0;
    op.beta = 0.5;
    op.a = view<const double>(pa, {i, k, l}, {1, i, i * k}, {0, 2, 3});
    op.b = view<const double>(pb, {j, l, k}, {1, j, j * l}, {1, 3, 2});
    op.d = view<double>(pd, {j, i}, {1, j}, {1, 0});
    m.device->run(s, op);
    m.finish(s);
    BlockOp here = op;
    here.a.data = a.data();
    here.b.data = b.data();
    here.d.data = d.data();
    m.kernels->run(here);
    const std::vector<double> product = m.out(pd, i * j);
    for (std::size_t x = 0; x < product.size(); ++x) CHECK(product[x] == Approx(d[x]).epsilon(1e-13));

    BlockOp copy;
    copy.alpha = 3.0;
    copy.beta = 0.0;
    copy.a = view<const double>(pb, {j, l, k}, {1, j, j * l}, {0, 1, 2});
    copy.d = view<double>(pd, {k, j, l}, {1, k, k * j}, {2, 0, 1});
    m.in(pd, std::vector<double>(j * l * k, std::nan("")));
    m.device->run(s, copy);
    m.finish(s);
    const std::vector<double> permuted = m.out(pd, j * l * k);
    for (std::int64_t x = 0; x < j; ++x)
      for (std::int64_t y = 0; y < l; ++y)
        for (std::int64_t z = 0; z < k; ++z)
          CHECK(permuted[static_cast<std::size_t>(z + k * x + k * j * y)] ==
                3.0 * b[static_cast<std::size_t>(x + j * y + j * l * z)]);

    double dot = 0.0, expected = 0.0;
    m.device->dot(s, copy.a, view<const double>(pd, {k, j, l}, {1, k, k * j}, {2, 0, 1}), &dot);
    m.finish(s);
    for (const double x : b) expected += 3.0 * x * x;
    CHECK(dot == Approx(expected).epsilon(1e-13));
    m.device->give_back(p, 2000);
  });
}

TEST_CASE("work of one shape, started at once, is what each piece by itself would be") {
  for_each_device([](Made& m) {
    constexpr std::int64_t n = 4, size = n * n, pieces = 40, room = 4000;
    double* p = m.device->reserve(room);
    const int s = first_compute_stream;
    std::vector<double> values = ramp(room, -1000.0);
    m.in(p, values);
    std::vector<BlockOp> products, copies;
    std::vector<std::vector<kernels::FusedStep>> steps;
    std::vector<FusedWork> chains;
    for (std::int64_t i = 0; i < pieces; ++i) {
      BlockOp op;
      op.has_b = true;
      op.alpha = 2.0;
      op.beta = 1.0;
      op.d = view<double>(p + 20 * i, {n, n}, {1, n}, {0, 1});
      op.a = view<const double>(p + 1000 + 16 * (i * i % 11), {n, n}, {1, n}, {0, 2});
      op.b = view<const double>(p + 1500, {n, n}, {1, n}, {1, 2});
      products.push_back(op);
      op.has_b = false;
      op.d = view<double>(p + 2000 + 20 * i, {n, n}, {1, n}, {0, 1});
      op.a = view<const double>(p + 1000 + 16 * (i % 7), {n, n}, {1, n}, {1, 0});
      copies.push_back(op);
      steps.push_back({{kernels::FusedOp::scale, 3.0, {}, {}, nullptr},
                       {kernels::FusedOp::sum, -1.0, {p + 3000 + 20 * i, {1}}, {p + 1000 + i, {1}}, nullptr}});
    }
    for (std::int64_t i = 0; i < pieces; ++i)
      chains.push_back({view<double>(p + 3000 + 20 * i, {size}, {1}, {0}), steps[static_cast<std::size_t>(i)]});
    CHECK(m.device->run_batch(s, products) == products.size());
    CHECK(m.device->run_batch(s, copies) == copies.size());
    CHECK(m.device->run_batch(s, chains) == chains.size());
    m.finish(s);
    for (const std::vector<BlockOp>* ops : {&products, &copies})
      for (BlockOp op : *ops) {
        const auto here = [&](auto& v) { v.data = values.data() + (v.data - p); };
        here(op.d);
        here(op.a);
        if (op.has_b) here(op.b);
        m.kernels->run(op);
      }
    for (std::size_t i = 0; i < pieces; ++i)
      for (std::size_t k = 0; k < size; ++k)
        values[3000 + 20 * i + k] = 3.0 * values[3000 + 20 * i + k] - values[1000 + i + k];
    CHECK(m.out(p, room) == values);  // whole numbers, and small ones
    m.device->give_back(p, room);
  });
}

TEST_CASE("work in one stream waits for an event of another") {
  for_each_device([](Made& m) {
    constexpr std::int64_t n = 5000;
    double* p = m.device->reserve(n);
    std::vector<double> in(n, 0.0), out(n, 0.0);
    const int last = first_compute_stream + m.device->compute_streams() - 1;
    for (int round = 1; round <= 30; ++round) {
      std::fill(in.begin(), in.end(), static_cast<double>(round));
      m.device->copy_in(p, in.data(), n);
      m.after(first_compute_stream, copy_in_stream);
      m.device->run(first_compute_stream, ElementWork{ElementOp::scale, 2.0, view(p, {n}, {1}, {0}), {}, {}});
      m.after(last, first_compute_stream);
      m.device->run(last, ElementWork{ElementOp::add_scalar, 1.0, view(p, {n}, {1}, {0}), {}, {}});
      m.after(copy_out_stream, last);
      m.device->copy_out(out.data(), p, n);
      m.finish(copy_out_stream);
      CHECK(std::all_of(out.begin(), out.end(), [&](double x) { return x == 2.0 * round + 1.0; }));
    }
    for (const Device::Event e : m.events) {
      CHECK(m.device->done(e));
      m.device->release(e);
    }
    m.device->give_back(p, n);
  });
}

TEST_CASE("the time of kernels and copies is taken where it is asked for, and only there") {
  for_each_device([](Made& m) {
    constexpr std::int64_t n = 20'000;
    double* p = m.device->reserve(2 * n);
    const int s = first_compute_stream;
    const std::vector<double> values = ramp(n, 1.0);
    const auto work = [&](int rounds) {  // n elements come in while the others are computed with
      for (int i = 0; i < rounds; ++i) {
        m.device->copy_in(p, values.data(), n);
        m.device->run(s, ElementWork{ElementOp::fill, 2.0, view(p + n, {n}, {1}, {0}), {}, {}});
        m.after(copy_out_stream, s);
      }
      std::vector<double> back(n);
      m.device->copy_out(back.data(), p + n, n);
      m.finish(copy_out_stream);
      m.finish(copy_in_stream);
    };
    work(3);
    CHECK_FALSE(m.device->times().has_value());
    m.device->take_times(true);
    REQUIRE(m.device->times().has_value());
    CHECK(m.device->times()->pieces == 0);
    DeviceTimes before = *m.device->times();
    for (const int rounds : {1, 1500, 2}) {
      work(rounds);
      const DeviceTimes t = *m.device->times();
      CAPTURE(rounds, t.pieces, t.kernels, t.in, t.out, t.copies, t.overlapped, t.waited);
      CHECK(t.pieces >= before.pieces + 2 * rounds + 1);
      CHECK(t.kernels > before.kernels);
      CHECK(t.in > before.in);
      CHECK(t.out > before.out);
      CHECK(t.copies <= (t.in + t.out) * (1 + 1e-12));
      CHECK(t.copies >= std::max(t.in, t.out));
      CHECK(t.overlapped >= before.overlapped);
      CHECK(t.overlapped <= std::min(t.copies, t.kernels));
      CHECK(t.waited >= before.waited);
      before = t;
    }
    CHECK(before.overlapped > 0);  // nothing kept copies in from going on beside kernels
    double dot = 0.0;
    m.device->dot(s, view<const double>(p, {10}, {1}, {0}), view<const double>(p, {10}, {1}, {0}), &dot);
    m.finish(s);
    CHECK(m.device->times()->pieces == before.pieces + 1);
    CHECK(m.device->times()->kernels > before.kernels);
    m.device->take_times(false);
    work(2);
    CHECK(m.device->times()->pieces == before.pieces + 1);
    for (const Device::Event e : m.events) m.device->release(e);
    m.device->give_back(p, 2 * n);
  });
}

TEST_CASE("a simulated device goes on when it likes, and knows nothing that it was not told") {
  Made m("simulated");
  const double* fresh = m.device->reserve(50);
  const std::vector<double> unknown = m.out(fresh, 50);
  CHECK(std::all_of(unknown.begin(), unknown.end(), [](double x) { return std::isnan(x); }));
  auto* p = const_cast<double*>(fresh);
  // Without an event a copy out overtakes the work sooner or later.
  int overtaken = 0;
  for (int round = 0; round < 100; ++round) {
    m.in(p, {1.0});
    m.device->run(first_compute_stream, ElementWork{ElementOp::fill, 2.0, view(p, {1}, {1}, {0}), {}, {}});
    overtaken += m.out(p, 1)[0] == 1.0 ? 1 : 0;
    m.finish(first_compute_stream);
  }
  CHECK(overtaken > 5);
  CHECK(overtaken < 95);
  m.device->give_back(p, 50);
}
