// Which order a pardo gets where memory is short.

#include "runtime/core/interp/order/choose_order.h"

#include "pardos.h"

using namespace sial;
using namespace sial::test;
using Catch::Matchers::Contains;

namespace {

const char* const matrices = "distributed a[i,k]\ndistributed b[k,j]\ndistributed c[i,j]\ntemp t[i,j]\n";
const char* const product =
    "pardo i, j\nt[i,j] = 0.0\ndo k\nget a[i,k]\nget b[k,j]\nt[i,j] += a[i,k]*b[k,j]\nenddo k\nput c[i,j] = t[i,j]\nendpardo i, j";

}  // namespace

TEST_CASE("an index that selects nothing becomes the fastest") {
  const Pardo p("distributed x[i]\ntemp t[i]\n", "pardo i, j\nget x[i]\nt[i] = x[i]\nendpardo i, j");
  const PardoOrder chosen = p.choose(8);
  CHECK(chosen.considered);
  CHECK(chosen.bytes_as_written == 16 * 8);
  CHECK(chosen.bytes == 4 * 8);
  CHECK(chosen.text == "j, i, the first one fastest");
  CHECK(chosen.refusal.empty());
  CHECK(chosen.order.size() == 2);
}

TEST_CASE("a pardo that fits, or whose order does as well, runs as written") {
  const Pardo good("distributed x[j]\ntemp t[j]\n", "pardo i, j\nget x[j]\nt[j] = x[j]\nendpardo i, j");
  CHECK_FALSE(good.choose(4 * 8).considered);
  const PardoOrder chosen = good.choose(8);
  CHECK(chosen.considered);
  CHECK(chosen.order.as_written());
  CHECK(chosen.text == "as written");
  CHECK(chosen.bytes == chosen.bytes_as_written);
  CHECK_FALSE(good.choose(0).considered);
}

TEST_CASE("a matrix product with room for few blocks is done in groups") {
  // 16 x 16 blocks each. As written a column of b stays while a comes 16 times; a group of g columns and a row of a ask
  // for 16 (g + 1) blocks and let a come 16 / g times. With g = 4 that is 4 times, and b and c move once.
  const Pardo p(matrices, product, 16);
  const PardoOrder chosen = p.choose((5 * 16 + 4) * 8);
  CHECK(chosen.bytes_as_written > 3000 * 8.0);
  CHECK(chosen.bytes == Approx((4 + 1 + 1) * 256.0 * 8).epsilon(0.1));
  CHECK_THAT(chosen.text, Contains("in groups of 4"));
  std::size_t groups = 0;
  for (std::size_t d = 0; d < chosen.order.size(); ++d) groups += chosen.order[d].group == 4 ? 1 : 0;
  CHECK(groups >= 1);
}

TEST_CASE("ranks of a node share what they read, and their memory") {
  const Pardo p(matrices, product, 16);
  const PardoOrder one = p.choose((5 * 16 + 4) * 8), four = p.choose((5 * 16 + 4) * 8, 4);
  CHECK(four.bytes <= 0.95 * four.bytes_as_written);
  CHECK(four.bytes >= one.bytes);
}

TEST_CASE("the last quarter of a transformation adds to blocks while they are there") {
  const Pardo p(
      "distributed a[i,j,k,l]\ndistributed b[i,j,k,l]\naoindex s = 1:norb\ntemp t[i,j,k,s]\ntemp u[i,j,k,l]\n",
      "pardo i, j, k, s\nget a[i,j,k,s]\ndo l\nu[i,j,k,l] = 1.0\nput b[i,j,k,l] += u[i,j,k,l]\nenddo l\nendpardo i, j, k, s",
      6);
  const PardoOrder chosen = p.choose(6 * 6 * 6 * 6 * 8 / 2);
  CHECK(chosen.bytes <= 0.5 * chosen.bytes_as_written);
  CHECK(chosen.refusal.empty());
}

TEST_CASE("of longer pardos some blocks are looked at, of very long ones on a coarser grid") {
  for (const int n : {60, 100}) {
    const Pardo p(matrices, product, n);
    const PardoOrder chosen = p.choose(n * n / 3 * 8);
    CHECK(chosen.bytes <= 0.5 * chosen.bytes_as_written);
    CHECK(chosen.refusal.empty());
    for (std::size_t d = 0; d < chosen.order.size(); ++d)
      CHECK((chosen.order[d].group >= 1 && chosen.order[d].group <= n));
    if (n == 60) CHECK(chosen.bytes_as_written == Approx(60.0 * 60 * 60 * 8).epsilon(0.5));
  }
}

TEST_CASE("the choice is the same whenever it is made") {
  const Pardo p(matrices, product, 16);
  const PardoOrder first = p.choose(600, 3), second = p.choose(600, 3);
  CHECK(first.order == second.order);
  CHECK(first.bytes == second.bytes);
}

TEST_CASE("iterations that several ranks are dealt in turn keep their order") {
  const Pardo p(matrices, product, 16);
  const OrderSetting dealt{(5 * 16 + 4) * 8, 4, 2, true};
  const PardoOrder kept = choose_order(p.bound, p.ints, p.loop, dealt);
  CHECK(kept.bytes <= 0.7 * kept.bytes_as_written);
  CHECK_THAT(kept.refusal, Catch::Matchers::Contains("dealt to the ranks in turn"));
  CHECK(kept.order.as_written());
  const OrderSetting alone{(5 * 16 + 4) * 8, 1, 1, {true}, false};
  CHECK(choose_order(p.bound, p.ints, p.loop, alone).refusal.empty());
}

TEST_CASE("--deterministic keeps the order, and the reason and the cost are told") {
  const Pardo p("distributed x[i]\ntemp t[i]\n", "pardo i, j\nget x[i]\nt[i] = x[i]\nendpardo i, j");
  const PardoOrder chosen = choose_order(p.bound, p.ints, p.loop, {8, 1, 1, {true}, true});
  CHECK(chosen.order.as_written());
  CHECK_THAT(chosen.refusal, Contains("--deterministic"));
  CHECK(chosen.bytes < chosen.bytes_as_written);
}

TEST_CASE("of more indices than all permutations are looked at of one is still brought inside") {
  const Pardo p("aoindex m = 1:norb\ndistributed x[i,j,k,l]\ntemp t[i,j,k,l]\n",
                "pardo i, j, k, l, m\nget x[i,j,k,l]\nt[i,j,k,l] = x[i,j,k,l]\nendpardo i, j, k, l, m", 3);
  const PardoOrder chosen = p.choose(27 * 8);
  CHECK(chosen.bytes == 81 * 8);
  CHECK(chosen.bytes < chosen.bytes_as_written);
}
