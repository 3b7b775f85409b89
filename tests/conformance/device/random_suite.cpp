// Random element-wise chains, contractions, permuted copies, inner products and batches, on every device that can be
// made here, against the host.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "runtime/core/device/device.h"
#include "runtime/core/memory/host_pool.h"
#include "tests/conformance/kernels/case_count.h"
#include "tests/conformance/kernels/contraction_cases.h"
#include "tests/conformance/kernels/device_cases.h"

using namespace sial;
using namespace sial::kernels;

namespace {

constexpr int stream = first_compute_stream;

struct OnDevice {
  std::unique_ptr<BufferResource> pool = make_host_pool();
  std::unique_ptr<Kernels> reference = make_kernels("reference", *pool);
  std::unique_ptr<Device> device;
  explicit OnDevice(const std::string& name) {
    DeviceOptions options;
    options.memory = std::int64_t{1} << 28;
    device = make_device(name, *reference, options);
  }
  void finish(int of) {
    const Device::Event e = device->record(of);
    device->finish(e);
    device->release(e);
  }
};

/// A copy of host memory on the device, for a while.
class Copied {
 public:
  Copied(OnDevice& on, const std::vector<double>& values)
      : on_(on), n_(std::ssize(values)), p_(on.device->reserve(std::max<std::int64_t>(n_, 1))) {
    REQUIRE(p_ != nullptr);
    on_.device->copy_in(p_, values.data(), n_);
    on_.finish(copy_in_stream);
  }
  Copied(Copied&& o) noexcept : on_(o.on_), n_(o.n_), p_(std::exchange(o.p_, nullptr)) {}
  Copied(const Copied&) = delete;
  ~Copied() {
    if (p_) on_.device->give_back(p_, std::max<std::int64_t>(n_, 1));
  }
  double* data() const { return p_; }
  std::vector<double> back() const {
    std::vector<double> values(static_cast<std::size_t>(n_));
    on_.device->copy_out(values.data(), p_, n_);
    on_.finish(copy_out_stream);
    return values;
  }

 private:
  OnDevice& on_;
  std::int64_t n_;
  double* p_;
};

template <class F>
void on_each_device(F&& f) {
  for (const std::string& name : device_names()) {
    CAPTURE(name);
    OnDevice on(name);
    if (on.device) f(on);
  }
}

void require_same(const std::vector<double>& expected, const std::vector<double>& got) {
  REQUIRE(expected.size() == got.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (!same_bits(expected[i], got[i])) FAIL("element " << i << ": " << got[i] << " instead of " << expected[i]);
}

}  // namespace

TEST_CASE("random chains leave the bits of the host's on every device") {
  on_each_device([](OnDevice& on) {
    FusedRunner runner;
    const std::int64_t cases = kernel_cases::case_count(900);
    for (std::int64_t i = 0; i < cases; ++i) {
      const auto seed = static_cast<std::uint32_t>(70000 + i);
      CAPTURE(seed);
      const Form* form = i % 3 == 0 ? &forms()[static_cast<std::size_t>(i / 3) % forms().size()] : nullptr;
      ChainCase chain(seed, form, i % 20 == 0 ? 300000 : 3000);
      if (chain.setting.volume == 0 || chain.steps.empty()) continue;
      Copied target(on, chain.target.memory);
      std::vector<Copied> sources;
      for (const DeviceOperand& s : chain.sources) sources.emplace_back(on, s.memory);
      const auto there = [&](const double* p) -> const double* {
        const auto within = [&](const std::vector<double>& v) { return p >= v.data() && p < v.data() + v.size(); };
        if (within(chain.target.memory)) return target.data() + (p - chain.target.memory.data());
        for (std::size_t k = 0; k < sources.size(); ++k)
          if (within(chain.sources[k].memory)) return sources[k].data() + (p - chain.sources[k].memory.data());
        return p;
      };
      std::vector<FusedStep> steps = chain.steps;
      for (FusedStep& s : steps) {
        if (s.a.data) s.a.data = there(s.a.data);
        if (s.b.data) s.b.data = there(s.b.data);
      }
      MutableView view = chain.target.view;
      view.data = target.data() + (chain.target.view.data - chain.target.memory.data());
      REQUIRE(runner.run(chain.target.view, chain.steps) == FusedRunner::none);
      on.device->run(stream, view, steps);
      on.finish(stream);
      require_same(chain.target.memory, target.back());
    }
  });
}

TEST_CASE("random contractions are those of the host on every device") {
  on_each_device([](OnDevice& on) {
    const std::int64_t cases = kernel_cases::case_count(1200);
    for (std::int64_t i = 0; i < cases; ++i) {
      const auto seed = static_cast<std::uint64_t>(4000 + i);
      CAPTURE(seed);
      kernel_cases::Case c = kernel_cases::make_case(seed, false,
                                                     i % 10 == 0   ? kernel_cases::Thin::outer
                                                     : i % 10 == 1 ? kernel_cases::Thin::vector
                                                                   : kernel_cases::Thin::no);
      const Copied a(on, c.a.memory), b(on, c.b.memory), d(on, c.d.memory);
      BlockOp op = kernel_cases::operation(c);
      on.reference->run(op);  // small whole numbers: exact in whatever order they are summed
      op.d.data = d.data() + c.d.offset;
      op.a.data = a.data() + c.a.offset;
      op.b.data = b.data() + c.b.offset;
      on.device->run(stream, op);
      on.finish(stream);
      const std::vector<double> got = d.back();
      if (!kernel_cases::equal_values(c.d.memory, got)) FAIL("another product than the reference kernels'");
    }
  });
}

TEST_CASE("random permuted copies and inner products are right on every device") {
  on_each_device([](OnDevice& on) {
    const std::int64_t cases = kernel_cases::case_count(600);
    for (std::int64_t i = 0; i < cases; ++i) {
      const auto seed = static_cast<std::uint32_t>(90000 + i);
      CAPTURE(seed);
      Numbers choose(seed), numbers(seed + 1);
      const Setting s = random_setting(choose, i % 20 == 0 ? 400000 : 5000);
      if (s.volume == 0) continue;
      DeviceOperand x(numbers, s.rank, s.extent, random_order(choose, s.rank),
                      choose.below(3) == 0 ? random_margin(choose) : Extents{});
      DeviceOperand y(numbers, s.rank, s.extent, random_order(choose, s.rank),
                      choose.below(3) == 0 ? random_margin(choose) : Extents{});
      const Copied a(on, x.memory), d(on, y.memory);
      const auto moved = [](const DeviceOperand& o, const Copied& c) {
        return c.data() + (o.view.data - o.memory.data());
      };
      ConstView xv = x.read(), yv = y.read();
      double here = on.reference->dot(xv, yv), size = 0.0, there = 0.0;
      for (const double v : x.memory)
        if (!std::isnan(v)) size += std::abs(v);
      xv.data = moved(x, a);
      yv.data = moved(y, d);
      on.device->dot(stream, xv, yv, &there);
      on.finish(stream);
      REQUIRE(std::abs(here - there) <= 1e-15 * 2.0 * size * std::sqrt(static_cast<double>(s.volume)) + 1e-300);
      BlockOp op;
      op.d = y.view;
      op.a = x.read();
      op.alpha = choose.below(2) == 0 ? 1.0 : numbers();
      op.beta = choose.below(2) == 0 ? 0.0 : 1.0;
      on.reference->run(op);
      op.d.data = moved(y, d);
      op.a.data = moved(x, a);
      on.device->run(stream, op);
      on.finish(stream);
      const std::vector<double> got = d.back();
      for (std::size_t k = 0; k < got.size(); ++k)
        if (!(std::abs(got[k] - y.memory[k]) <= 1e-14) && !same_bits(got[k], y.memory[k]))
          FAIL("element " << k << ": " << got[k] << " instead of " << y.memory[k]);
    }
  });
}
