// Plans of contractions on a GPU, carried out here by plain loops: what they compute, and which operands they leave
// where they are.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "runtime/core/device/cuda/contraction.h"
#include "runtime/core/memory/host_pool.h"

using namespace sial;
using cuda::DeviceContraction;
using cuda::GemmOperand;
using cuda::Packing;

namespace {

template <class F>
void each(const Packing& p, F&& f) {
  std::int64_t n = 1;
  for (const auto& dim : p) n *= dim.extent;
  for (std::int64_t i = 0; i < n; ++i) {
    std::int64_t rest = i, packed = 0, operand = 0;
    for (const auto& dim : p) {
      packed += rest % dim.extent * dim.packed;
      operand += rest % dim.extent * dim.operand;
      rest /= dim.extent;
    }
    f(packed, operand);
  }
}

std::vector<double> packed_operand(const double* data, const Packing& p, std::int64_t size) {
  if (p.empty()) return {};
  std::vector<double> packed(static_cast<std::size_t>(size), std::nan(""));
  each(p, [&](std::int64_t to, std::int64_t from) { packed.at(static_cast<std::size_t>(to)) = data[from]; });
  CHECK(std::none_of(packed.begin(), packed.end(), [](double x) { return std::isnan(x); }));
  return packed;
}

/// As cuBLAS has it, column by column.
void multiply(const DeviceContraction& c, double alpha, const double* a, const double* b, double beta, double* d) {
  const GemmOperand &x = c.swapped ? c.b : c.a, &y = c.swapped ? c.a : c.b;
  const double *first = c.swapped ? b : a, *second = c.swapped ? a : b;
  REQUIRE(x.ld >= std::max<std::int64_t>(1, x.transposed ? c.k : c.m));
  REQUIRE(y.ld >= std::max<std::int64_t>(1, y.transposed ? c.n : c.k));
  REQUIRE(c.d.ld >= c.m);
  REQUIRE_FALSE(c.d.transposed);
  for (std::int64_t l = 0; l < c.loops; ++l)
    for (std::int64_t q = 0; q < c.batches; ++q)
      for (std::int64_t j = 0; j < c.n; ++j)
        for (std::int64_t i = 0; i < c.m; ++i) {
          double sum = 0.0;
          for (std::int64_t k = 0; k < c.k; ++k)
            sum += first[l * x.loop + q * x.batch + (x.transposed ? k + i * x.ld : i + k * x.ld)] *
                   second[l * y.loop + q * y.batch + (y.transposed ? j + k * y.ld : k + j * y.ld)];
          double& t = d[l * c.d.loop + q * c.d.batch + i + j * c.d.ld];
          t = beta == 0.0 ? alpha * sum : alpha * sum + beta * t;
        }
}

void carry_out(const DeviceContraction& c, const BlockOp& op) {
  if (c.kind == DeviceContraction::Kind::nothing) return;
  REQUIRE(c.kind == DeviceContraction::Kind::product);
  const std::vector<double> a = packed_operand(op.a.data, c.pack_a, c.size_a),
                            b = packed_operand(op.b.data, c.pack_b, c.size_b);
  std::vector<double> d(static_cast<std::size_t>(c.size_d));
  const bool apart = !c.unpack_d.empty();
  multiply(c, op.alpha, c.pack_a.empty() ? op.a.data : a.data(), c.pack_b.empty() ? op.b.data : b.data(),
           apart ? 0.0 : op.beta, apart ? d.data() : op.d.data);
  if (apart)
    each(c.unpack_d, [&](std::int64_t from, std::int64_t to) {
      op.d.data[to] = op.beta == 0.0 ? d[static_cast<std::size_t>(from)]
                                     : d[static_cast<std::size_t>(from)] + op.beta * op.d.data[to];
    });
}

/// A view with the labels in this order, of a block that is larger where `part` says so.
template <class T>
BlockView<T> view(T* data, const std::vector<int>& labels, const std::vector<std::int64_t>& extents,
                  bool part = false) {
  BlockView<T> v;
  v.data = data;
  v.rank = static_cast<std::int32_t>(labels.size());
  std::int64_t stride = 1;
  for (std::size_t d = 0; d < labels.size(); ++d) {
    v.label[d] = labels[d];
    v.extent[d] = extents[static_cast<std::size_t>(labels[d])];
    v.stride[d] = stride;
    stride *= v.extent[d] + (part && d % 2 == 0 ? 1 : 0);
  }
  return v;
}

DeviceContraction plan_of(const std::vector<int>& d, const std::vector<int>& a, const std::vector<int>& b,
                          const std::vector<std::int64_t>& extents, double beta = 1.0) {
  static double any = 0.0;
  BlockOp op;
  op.has_b = true;
  op.beta = beta;
  op.d = view(&any, d, extents);
  op.a = view<const double>(&any, a, extents);
  op.b = view<const double>(&any, b, extents);
  return cuda::plan_device_contraction(kernels::resolve(op), beta != 0.0, false);
}

bool in_place(const DeviceContraction& c) { return c.pack_a.empty() && c.pack_b.empty() && c.unpack_d.empty(); }

}  // namespace

TEST_CASE("every plan computes what the reference does") {
  std::mt19937 random(11);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  const auto pool = make_host_pool();
  const auto reference = make_kernels("reference", *pool);
  int packed = 0, batched = 0, swapped = 0, apart = 0;
  for (int round = 0; round < 3000; ++round) {
    CAPTURE(round);
    const int rows = static_cast<int>(random() % 4), columns = static_cast<int>(random() % (rows > 2 ? 4 : 5 - rows)),
              summed = static_cast<int>(random() % (7 - std::max({rows, columns, 3})));
    std::vector<int> labels(static_cast<std::size_t>(rows + columns + summed));
    std::iota(labels.begin(), labels.end(), 0);
    std::vector<std::int64_t> extents;
    for (std::size_t l = 0; l < labels.size(); ++l)
      extents.push_back(random() % 40 == 0 ? 0 : 1 + static_cast<std::int64_t>(random() % 4));
    std::vector<int> d, a, b;
    for (const int l : labels) {
      if (l < rows + columns) d.push_back(l);
      if (l < rows || l >= rows + columns) a.push_back(l);
      if (l >= rows) b.push_back(l);
    }
    for (auto* list : {&d, &a, &b}) {
      if (random() % 3 != 0) std::shuffle(list->begin(), list->end(), random);
    }
    const auto values = [&] {
      std::vector<double> v(16384);
      for (double& x : v) x = uniform(random);
      return v;
    };
    const std::vector<double> va = values(), vb = values();
    std::vector<double> vd = values();
    BlockOp op;
    op.has_b = true;
    op.alpha = -0.5;
    op.beta = std::array{0.0, 1.0, 0.25}[random() % 3];
    op.a = view(va.data(), a, extents, random() % 3 == 0);
    op.b = view(vb.data(), b, extents, random() % 3 == 0);
    op.d = view(vd.data(), d, extents, random() % 3 == 0);
    const kernels::LoopSpace space = kernels::resolve(op);
    const DeviceContraction c = cuda::plan_device_contraction(space, op.beta != 0.0, false);
    if (c.kind == DeviceContraction::Kind::scale) {
      CHECK(kernels::volume(space.summed) == 0);
      continue;
    }
    if (op.beta == 0.0)
      for (double& x : vd) x = std::nan("");
    std::vector<double> expected = vd;
    BlockOp other = op;
    other.d.data = expected.data();
    reference->run(other);
    carry_out(c, op);
    std::int64_t wrong = 0;
    for (std::size_t i = 0; i < vd.size(); ++i)
      if (!(std::abs(vd[i] - expected[i]) <= 1e-12) && !(std::isnan(vd[i]) && std::isnan(expected[i]))) ++wrong;
    CHECK(wrong == 0);
    packed += c.pack_a.empty() && c.pack_b.empty() ? 0 : 1;
    apart += c.unpack_d.empty() ? 0 : 1;
    batched += c.batches > 1 ? 1 : 0;
    swapped += c.swapped ? 1 : 0;
  }
  for (const int seen : {packed, apart, batched, swapped}) CHECK(seen > 20);
}

TEST_CASE("matrices are used where they lie, transposed or not") {
  const std::vector<std::int64_t> e{30, 20, 25, 15, 10};
  CHECK(in_place(plan_of({0, 1}, {0, 2}, {2, 1}, e)));
  const DeviceContraction other = plan_of({1, 0}, {2, 0}, {1, 2}, e);
  CHECK(in_place(other));
  CHECK(other.swapped);
  // Labels of a group in a common order are one dimension.
  const DeviceContraction four = plan_of({0, 1, 3}, {0, 1, 2, 4}, {2, 4, 3}, e);
  CHECK(in_place(four));
  CHECK(four.m == 600);
  CHECK(four.k == 250);
  // Outer product, matrix and vector, number.
  CHECK(in_place(plan_of({0, 1}, {0}, {1}, e)));
  CHECK(in_place(plan_of({0}, {0, 2}, {2}, e)));
  CHECK(in_place(plan_of({}, {0, 2}, {0, 2}, e)));
}

TEST_CASE("what is no matrix is brought into another order, the smaller one first") {
  const std::vector<std::int64_t> e{64, 64, 8, 8, 64};
  // The summed labels stand in different orders: one side moves, and it is the smaller one.
  const DeviceContraction c = plan_of({0, 1, 4}, {0, 1, 2, 3}, {3, 2, 4}, e);
  CHECK(c.pack_a.empty());
  CHECK_FALSE(c.pack_b.empty());
  CHECK(c.unpack_d.empty());
  CHECK(c.size_b == 8 * 8 * 64);
  CHECK(c.batches == 1);
}

TEST_CASE("a label between those of the rest is a batch where that is cheaper than moving a large target") {
  // D(i, b, j) with i of a and b, j of b in another order there: rows i, columns j, a batch over b.
  const DeviceContraction c = plan_of({0, 1, 2}, {0, 3}, {3, 2, 1}, {256, 6, 256, 256});
  CHECK(in_place(c));
  CHECK(c.batches == 6);
  CHECK(c.a.batch == 0);
  // Two labels in the way: the other one is a loop, where moving a factor would cost more than starting products.
  const std::vector<std::int64_t> large{512, 8, 7, 512, 512};
  const DeviceContraction both = plan_of({0, 1, 2, 3}, {0, 4}, {4, 3, 2, 1}, large);
  CHECK(in_place(both));
  CHECK(both.loops * both.batches == 56);
  CHECK(both.loops == 7);
  CHECK_FALSE(in_place(plan_of({0, 1, 2, 3}, {0, 4}, {4, 3, 2, 1}, {8, 8, 7, 8, 8})));
  // Of small blocks starts of kernels count, and a batch is one start as well.
  CHECK(plan_of({0, 1, 2}, {0, 3}, {3, 2, 1}, {4, 4, 4, 4}).loops == 1);
}

TEST_CASE("loops and batches together compute what the reference does") {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  const auto pool = make_host_pool();
  const auto reference = make_kernels("reference", *pool);
  // Strides as of large blocks, so that the plan is theirs, and then few elements of each.
  const std::vector<std::int64_t> extents{4, 3, 2, 5, 6};
  std::vector<double> a(24), b(6 * 5 * 3 * 2), d(4 * 3 * 2 * 5), expected;
  for (auto* v : {&a, &b, &d})
    for (double& x : *v) x = uniform(random);
  expected = d;
  BlockOp op;
  op.has_b = true;
  op.alpha = 0.5;
  op.beta = -1.0;
  op.a = view<const double>(a.data(), {0, 4}, extents);
  op.b = view<const double>(b.data(), {4, 3, 2, 1}, extents);
  op.d = view(expected.data(), {0, 1, 2, 3}, extents);
  reference->run(op);
  op.d.data = d.data();
  DeviceContraction c = plan_of({0, 1, 2, 3}, {0, 4}, {4, 3, 2, 1}, {512, 8, 7, 512, 512});
  REQUIRE(c.loops == 7);
  const auto small = [](GemmOperand& o, std::int64_t ld, std::int64_t batch, std::int64_t loop) {
    CHECK((o.batch == 0) == (batch == 0));
    CHECK((o.loop == 0) == (loop == 0));
    o.ld = ld;
    o.batch = batch;
    o.loop = loop;
  };
  REQUIRE_FALSE(c.swapped);
  small(c.a, 4, 0, 0);
  small(c.b, 6, 60, 30);
  small(c.d, 24, 4, 12);
  c.m = 4, c.n = 5, c.k = 6, c.batches = 3, c.loops = 2;
  carry_out(c, op);
  for (std::size_t i = 0; i < d.size(); ++i) CHECK(d[i] == Approx(expected[i]).epsilon(1e-13));
}

TEST_CASE("without elements nothing is done, and without a sum the target is scaled") {
  CHECK(plan_of({0, 1}, {0, 2}, {2, 1}, {3, 0, 4}).kind == DeviceContraction::Kind::nothing);
  CHECK(plan_of({0, 1}, {0, 2}, {2, 1}, {3, 4, 0}).kind == DeviceContraction::Kind::scale);
}

TEST_CASE("a product that is to be made aside is, though its target is a matrix") {
  double any = 0.0;
  BlockOp op;
  op.has_b = true;
  op.d = view(&any, {0, 1}, {3, 4, 5});
  op.a = view<const double>(&any, {0, 2}, {3, 4, 5});
  op.b = view<const double>(&any, {2, 1}, {3, 4, 5});
  const DeviceContraction c = cuda::plan_device_contraction(kernels::resolve(op), true, true);
  CHECK(c.size_d == 12);
  CHECK(c.unpack_d.size() == 2);
}
