// The suite as real processes:  store_mpi_suite [--ranks-per-node N] [--servers K] [--spill] [--history SEED |
// --deterministic] One job tries one of its three parts, chosen by the options; without, the rules. (A store lives as
// long as its transport.) With --spill, whatever may leave memory goes to other nodes after each statement.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "runtime/core/base/error.h"
#include "runtime/core/transport/mpi.h"
#include "suite.h"

using namespace sial;

int main(int argc, char** argv) {
  MpiOptions options;
  std::uint64_t seed = 0;
  bool deterministic = false;
  suite::StoreMaker make = suite::real_store;
  for (int i = 1; i < argc; ++i) {
    const std::string a = argv[i];
    if (a == "--ranks-per-node") options.ranks_per_node = std::atoi(argv[++i]);
    else if (a == "--servers") options.servers = std::atoi(argv[++i]);
    else if (a == "--history") seed = static_cast<std::uint64_t>(std::atoll(argv[++i]));
    else if (a == "--deterministic") deterministic = true;
    else if (a == "--spill")
      make = [](Transport& t, StoreOptions spilling) {
        spilling.spill_every = 1;
        spilling.spill = {{TierKind::nodes, "", 1 << 20}};
        return make_block_store(t, nullptr, spilling);
      };
  }
  const auto transport = make_mpi(&argc, &argv, options);
  try {
    if (seed == 0 && !deterministic) suite::run_rules(*transport);
    else if (deterministic) suite::deterministic_sum(*transport, 1);
    else if (transport->is_server()) suite::serve_history(*transport, seed, make);
    else suite::history(*transport, seed, 10, 20, make);
    if (transport->rank() == 0) std::puts("conforms");
    if (!transport->is_server()) transport->finish();
  } catch (const std::exception& e) { transport->abort_job(std::string("error: ") + e.what(), 1); }
  return 0;
}
