// Pardos whose order a program could tell.

#include "runtime/core/interp/order/order_legality.h"

#include "pardos.h"

using namespace sial;
using namespace sial::test;
using Catch::Matchers::Contains;

namespace {

const std::string declarations =
    "distributed x[i]\ndistributed y[i,j]\ntemp t[i]\ntemp u[i,j]\nscalar s\nscalar r\nint n\nint m\nspecial print_block r\nspecial my_own u\nspecial fill_block_sequential wr\n";

std::string seen(const std::string& body, const std::string& before = {}) {
  const Pardo p(declarations, before + "pardo i, j\n" + body + "\nendpardo i, j");
  return order_is_fixed(p.module, p.loop, false);
}

}  // namespace

TEST_CASE("sums, counts and blocks of one's own have no order") {
  CHECK(seen("t[i] = 1.0\nput x[i] += t[i]\nu[i,j] = 2.0\nput y[i,j] = u[i,j]").empty());
  CHECK(seen("get x[i]\nr = x[i]*x[i]\ns += 2.0*r\ns -= r\nn = n + 1").empty());
  CHECK(seen("n = 0\ndo k\nn = n + 1\nenddo k\nif n == 3\nt[i] = 1.0\nendif").empty());
  CHECK(seen("get y[i,j]\nu[i,j] = y[i,j]\nput y[i,j] = u[i,j]").empty());
  CHECK(seen("s = 1.0\nexecute fill_block_sequential t[i] s").empty());
  CHECK(seen("if i < j\nr = 1.0\nelse\nr = 2.0\nendif\nt[i] = 1.0").empty());
}

TEST_CASE("output has an order") {
  CHECK(seen("println s") == "its body prints");
  CHECK_THAT(seen("t[i] = 1.0\nexecute print_block t[i]"), Contains("`print_block`"));
  CHECK_THAT(seen("t[i] = 1.0\nexecute my_own t[i]"), Contains("plugin"));
}

TEST_CASE("a job may stop") { CHECK_THAT(seen("if i == 2\nstop\nendif"), Contains("stop")); }

TEST_CASE("what an iteration leaves for the next has an order") {
  CHECK_THAT(seen("m = n\nn = i"), Contains("`n`"));
  CHECK_THAT(seen("n = n + 1\nif n == 3\nt[i] = 1.0\nendif"), Contains("`n`"));
  CHECK_THAT(seen("s += 1.0\nt[i] = s"), Contains("`s`"));
  CHECK_THAT(seen("s = 1.0 - s"), Contains("`s`"));
  CHECK_THAT(seen("s += 1.0\ns *= 2.0"), Contains("`s`"));
  CHECK_THAT(seen("if i == 2\ns = 0.0\nendif\ns += 1.0"), Contains("`s`"));
  CHECK(seen("s *= 2.0\ns *= 3.0\nr = 0.0\nr += 1.0").empty());
  CHECK_THAT(seen("if i < j\ns = 1.0\nendif\nt[i] = s"), Contains("`s`"));
  CHECK_THAT(seen("do k\ns = 1.0\nenddo k\nt[i] = s"), Contains("`s`"));
}

TEST_CASE("blocks of other iterations have an order") {
  CHECK_THAT(seen("t[i] = 1.0\nput x[i] = t[i]"), Contains("replace a block of `x`"));
  CHECK_THAT(seen("put x[i] = 1.0"), Contains("replace a block of `x`"));
  CHECK_THAT(seen("get x[i]\nt[i] = 1.0\nput x[i] += t[i]"), Contains("gets blocks of `x`"));
  CHECK_THAT(seen("get y[j,i]\nu[i,j] = 1.0\nput y[i,j] = u[i,j]"), Contains("gets blocks of `y`"));
  CHECK_THAT(seen("u[i,j] = 1.0\nput y[i,j] = u[i,j]\nput y[j,i] += 1.0"), Contains("`y`"));
}

TEST_CASE("pardos of every rank, and deterministic ones, keep their order") {
  const Pardo everywhere(declarations, "pardo i, j \"SequentialPardoLoop\"\nt[i] = 1.0\nendpardo i, j");
  CHECK_THAT(order_is_fixed(everywhere.module, everywhere.loop, false), Contains("every rank"));
  const Pardo deterministic(declarations, "pardo i, j\nt[i] = 1.0\nendpardo i, j");
  CHECK_THAT(order_is_fixed(deterministic.module, deterministic.loop, true), Contains("--deterministic"));
}

TEST_CASE("what is dealt out in turn keeps its order where ranks may see other iterations") {
  CHECK_THAT(seen("t[i] = 1.0\nif i == 2\nexit\nendif"), Contains("leave it early"));
  const auto dealt = [](const std::string& where) {
    Pardo p(declarations, "n = 3\npardo i, j\n" + where + "\nt[i] = 1.0\nendpardo i, j");
    p.module.loops[static_cast<std::size_t>(p.loop)].rank_dependence = RankDependence::possible;
    return order_is_fixed(p.module, p.loop, false);
  };
  CHECK(dealt("").empty());
  CHECK(dealt("where i <= j").empty());
  CHECK(dealt("where i < norb").empty());
  CHECK_THAT(dealt("where i < n"), Contains("where clauses"));
}

TEST_CASE("what called procedures do counts") {
  const Pardo p(declarations, "proc say\nprintln s\nendproc say\npardo i, j\ncall say\nendpardo i, j");
  CHECK(order_is_fixed(p.module, p.loop, false) == "its body prints");
}
