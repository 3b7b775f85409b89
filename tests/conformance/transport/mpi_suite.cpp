// The conformance suite under mpirun, and programs that go wrong on purpose.
//   mpi_suite [--ranks-per-node N] [--servers K] [--pieces BYTES] [--latency SECONDS]
//             conform | mismatch | ends-early | aborts | both-abort | dies | commit | helper-throws | pressure

#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "pressure.h"
#include "runtime/core/base/error.h"
#include "runtime/core/transport/mpi.h"
#include "suite.h"

using namespace sial;

namespace {

void scenario(Transport& t, const std::string& name) {
  using suite::tag;
  t.set_place_namer([](Place p) { return "program.sialx:" + std::to_string(p.pc); });
  if (name == "conform") {
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
      suite::run_all(t, seed);
      if (t.is_server()) return;
    }
    if (t.rank() == 0) std::puts("conforms");
  } else if (name == "mismatch") {
    t.barrier(tag(CollectiveKind::barrier, 1));
    if (t.rank() == t.size() - 1) t.sum(1, tag(CollectiveKind::sum, 8));
    t.barrier(tag(CollectiveKind::barrier, 10));
  } else if (name == "ends-early") {
    if (t.rank() != 1) t.barrier(tag(CollectiveKind::barrier, 10));
  } else if (name == "aborts") {
    if (t.rank() == 1) t.abort_job("error: rank one gives up", 7);
    if (t.rank() == 2)
      while (true) t.pause();
    if (t.rank() == 3) std::this_thread::sleep_for(std::chrono::seconds(60));  // computes
    t.barrier(tag(CollectiveKind::barrier, 10));
  } else if (name == "both-abort") {
    t.barrier(tag(CollectiveKind::barrier, 1));
    t.abort_job("error: every rank gives up", 7);
  } else if (name == "dies") {
    const auto memory = t.map_node_memory(std::size_t{64} << 20, "suite");
    memory->commit(0, std::size_t{1} << 20);
    t.barrier(tag(CollectiveKind::barrier, 1));
    if (t.rank() == 1) std::raise(SIGKILL);
    t.barrier(tag(CollectiveKind::barrier, 10));
  } else if (name == "commit") {  // more than any /dev/shm has
    const auto memory = t.map_node_memory(std::size_t{1} << 44, "block data");
    t.barrier(tag(CollectiveKind::barrier, 1));
    if (t.rank() == 0) memory->commit(0, memory->reserved());
    t.barrier(tag(CollectiveKind::barrier, 10));
  } else if (name == "pressure") {
    suite::pressure(t, 100, 4096);                 // sent unasked
    suite::pressure(t, 8, std::size_t{1} << 20);   // fetched by the owner
    suite::pressure(t, 2, std::size_t{16} << 20);  // more than it has buffers for
  } else if (name == "helper-throws") {
    struct Refusing final : Service {
      std::span<std::byte> payload_buffer(int, std::span<const std::byte>, std::size_t) override { return {}; }
      Reply serve(int, std::span<const std::byte>, std::span<std::byte>) override {
        throw SialError("this request is refused");
      }
    } refusing;
    t.set_service(&refusing);
    if (t.rank() == 0) t.request(t.size() - 1, {}, {}, {}, Priority::demand)->wait();
    t.barrier(tag(CollectiveKind::barrier, 10));
  } else {
    throw std::runtime_error("unknown scenario " + name);
  }
}

}  // namespace

int main(int argc, char** argv) {
  MpiOptions options;
  std::string name;
  for (int i = 1; i < argc; ++i) {
    const std::string a = argv[i];
    if (a == "--ranks-per-node") options.ranks_per_node = std::atoi(argv[++i]);
    else if (a == "--servers") options.servers = std::atoi(argv[++i]);
    else if (a == "--pieces") options.message_bytes = static_cast<std::size_t>(std::atoll(argv[++i]));
    else if (a == "--latency") options.network = NetworkModel{std::atof(argv[++i]), 1e9};
    else name = a;
  }
  std::unique_ptr<Transport> transport;
  try {
    transport = make_mpi(&argc, &argv, options);
    scenario(*transport, name);
    if (!transport->is_server()) transport->finish();
  } catch (const std::exception& e) {
    if (!transport) return std::fprintf(stderr, "error: %s\n", e.what()), 3;
    const auto* sial = dynamic_cast<const SialError*>(&e);
    transport->abort_job(
        std::string("error: ") + e.what() + (sial && !sial->hint().empty() ? "\nhint: " + sial->hint() : ""), 3);
  }
}
