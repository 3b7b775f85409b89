// The suite on the reference implementation of the store: a rule that does not hold there says more than the interfaces
// promise on one rank.
#include <catch2/catch.hpp>

#include "reference_store.h"
#include "runtime/core/transport/loopback.h"
#include "suite.h"

using namespace sial;

namespace {

std::unique_ptr<BlockStore> reference(Transport&, const StoreOptions& options) {
  return suite::make_reference_store(options);
}

}  // namespace

TEST_CASE("reference: every rule") { suite::run_rules(*make_loopback(), {}, reference); }

TEST_CASE("reference: random histories") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    INFO("seed " << seed);
    const auto transport = make_loopback();
    REQUIRE_NOTHROW(suite::history(*transport, seed, 3, 6, reference));
    transport->finish();
  }
}
