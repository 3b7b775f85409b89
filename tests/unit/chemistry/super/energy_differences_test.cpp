// Whether orbital energy differences may be zero.
#include <catch2/catch.hpp>

#include <limits>
#include <utility>
#include <vector>

#include "runtime/core/base/energy_differences.h"

using namespace sial;

namespace {

EnergyDifferences differences(std::vector<double> from, std::vector<double> to, double shift = 0.0) {
  EnergyDifferences e;
  e.rank = 2;
  e.energy[0] = std::move(from);
  e.energy[1] = std::move(to);
  e.shift = shift;
  return e;
}

}  // namespace

TEST_CASE("differences of one sign are not zero, others may be") {
  CHECK_FALSE(differences({-2.0, -0.5}, {0.1, 3.0}).may_vanish());
  CHECK_FALSE(differences({0.1, 3.0}, {-2.0, -0.5}).may_vanish());
  CHECK(differences({-2.0, 0.5}, {0.1, 3.0}).may_vanish());
  CHECK(differences({1.0}, {1.0}).may_vanish());
  CHECK_FALSE(differences({1.0}, {1.0}, 1e-300).may_vanish());
  CHECK_FALSE(differences({-2.0, 0.5}, {0.1, 3.0}, 0.5).may_vanish());
  CHECK(differences({-2.0, 0.5}, {0.1, 3.0}, -1.0).may_vanish());
  CHECK_FALSE(differences({}, {0.1, 3.0}).may_vanish());
}

TEST_CASE("the bound is added up as the differences are") {
  // 1e16 + 1 is 1e16: the sum is 0, exact arithmetic says 1.
  EnergyDifferences e = differences({0.0}, {1.0}, 1e16);
  e.rank = 4;
  e.energy[2] = {1e16};
  e.energy[3] = {0.0};
  CHECK(((1e16 + (1.0 - 0.0)) + (0.0 - 1e16)) == 0.0);
  CHECK(e.may_vanish());
}

TEST_CASE("energies that are no numbers promise nothing") {
  CHECK(differences({std::numeric_limits<double>::quiet_NaN()}, {1.0}).may_vanish());
}
