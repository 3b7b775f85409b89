// Machines that hwloc describes, this machine, and what the system does with the pages of a range.
#include <sys/mman.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <numeric>

#include "runtime/core/base/error.h"
#include "runtime/core/numa/page_calls.h"
#include "runtime/core/numa/topology.h"

using namespace sial;
using Catch::Matchers::Contains;

namespace {

std::string error_of(const std::string& description) {
  try {
    described_machine(description);
  } catch (const InputError& error) { return error.what(); }
  return {};
}

/// Memory of some pages.
struct Pages {
  explicit Pages(std::size_t n)
      : bytes(n * 4096),
        begin(
            static_cast<std::byte*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
  }
  ~Pages() { munmap(begin, bytes); }
  std::size_t bytes;
  std::byte* begin;
};

}  // namespace

TEST_CASE("machines as they are described") {
  for (const int nodes : {1, 2, 4, 8}) {
    CAPTURE(nodes);
    const NumaTopology machine = described_machine("numa:" + std::to_string(nodes) + " core:4 pu:2");
    REQUIRE(machine.size() == nodes);
    CHECK(!machine.is_this_machine);
    for (int n = 0; n < nodes; ++n) {
      const NumaNode& node = machine.nodes[static_cast<std::size_t>(n)];
      CHECK(node.number == n);
      CHECK(node.cpus.size() == 8);
      CHECK(node.bytes > 0);
      for (const int cpu : node.cpus) CHECK(machine.node_of_cpu(cpu) == n);
      CHECK(machine.node_of_cpus(node.cpus) == n);
    }
    CHECK(machine.node_of_cpu(8 * nodes) == -1);
    if (nodes > 1) CHECK(machine.node_of_cpus(std::vector<int>{0, 8}) == -1);  // may run on either
    CHECK(machine.node_of_cpus(std::vector<int>{}) == -1);
    CHECK(machine.index_of(nodes) == -1);
  }
}

TEST_CASE("nodes may have different memory, numbers of their own, and no processors") {
  const NumaTopology machine = described_machine("pack:2 [numa(memory=4GB)] [numa(memory=1GB)] core:2 pu:1");
  REQUIRE(machine.size() == 4);
  std::int64_t all = 0;
  for (const NumaNode& node : machine.nodes) all += node.bytes;
  CHECK(all == 2 * std::int64_t{5'000'000'000});
  // Processors are near two nodes each: the first of them counts.
  CHECK(machine.node_of_cpu(0) == 0);
}

TEST_CASE("distances are relative to a node itself, and known only where the machine says them") {
  const NumaTopology none = described_machine("numa:2 pu:2");
  CHECK(none.distances.empty());
  CHECK(none.distance(0, 0) == 1);
  CHECK(none.distance(0, 1) == unknown_node_distance);

  const std::string file = "numa-" + std::to_string(getpid()) + ".xml";
  std::ofstream(file) << R"(<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
<object type="Machine" os_index="0" cpuset="0x3" complete_cpuset="0x3" allowed_cpuset="0x3" nodeset="0x5" complete_nodeset="0x5" allowed_nodeset="0x5" gp_index="1">
<object type="Package" os_index="0" cpuset="0x1" complete_cpuset="0x1" nodeset="0x1" complete_nodeset="0x1" gp_index="2">
<object type="NUMANode" os_index="0" cpuset="0x1" complete_cpuset="0x1" nodeset="0x1" complete_nodeset="0x1" gp_index="3" local_memory="1073741824"/>
<object type="PU" os_index="0" cpuset="0x1" complete_cpuset="0x1" nodeset="0x1" complete_nodeset="0x1" gp_index="4"/>
</object>
<object type="Package" os_index="1" cpuset="0x2" complete_cpuset="0x2" nodeset="0x4" complete_nodeset="0x4" gp_index="5">
<object type="NUMANode" os_index="2" cpuset="0x2" complete_cpuset="0x2" nodeset="0x4" complete_nodeset="0x4" gp_index="6" local_memory="2147483648"/>
<object type="PU" os_index="1" cpuset="0x2" complete_cpuset="0x2" nodeset="0x4" complete_nodeset="0x4" gp_index="7"/>
</object>
</object>
<distances2 type="NUMANode" nbobjs="2" kind="5" name="NUMALatency" indexing="os">
<indexes length="4">0 2 </indexes>
<u64values length="12">10 21 31 10 </u64values>
</distances2>
</topology>
)";
  const NumaTopology known = described_machine(file);
  std::remove(file.c_str());
  REQUIRE(known.size() == 2);
  CHECK(known.nodes[1].number == 2);
  CHECK(known.index_of(2) == 1);
  CHECK(known.index_of(1) == -1);
  CHECK(known.distance(0, 0) == 1);
  CHECK(known.distance(0, 1) == Approx(2.1));
  CHECK(known.distance(1, 0) == Approx(3.1));
}

TEST_CASE("what describes no machine") {
  for (const char* text : {"", "numa", "numa:two", "cat:3", "numa:0 pu:1"}) {
    CAPTURE(text);
    CHECK_THAT(error_of(text), Contains("describes no machine"));
  }
  CHECK_THAT(error_of("none.xml"), Contains("there is no file `none.xml`"));
}

TEST_CASE("this machine has the processors that this process may use") {
  const NumaTopology machine = this_machine(), quick = usable_nodes();
  REQUIRE(machine.size() >= 1);
  CHECK(machine.is_this_machine);
  CHECK(quick.size() == machine.size());
  const std::vector<int> cpus = allowed_cpus();
  REQUIRE(!cpus.empty());
  for (const int cpu : cpus) {
    CHECK(machine.node_of_cpu(cpu) >= 0);
    CHECK(quick.node_of_cpu(cpu) >= 0);
  }
}

TEST_CASE("pages lie where the system was asked to put them, on a node that there is") {
  const Pages memory(64);
  const auto calls = make_system_page_calls();
  const int node = usable_nodes().nodes[0].number;
  const std::string problem = calls->set_rule(memory.begin, memory.bytes, {PageRule::Kind::bind, {node}});
  if (!problem.empty()) {
    WARN("skipped: the system does not let this process choose: " << problem);
    return;
  }
  CHECK(calls->find_pages(memory.begin, memory.bytes, 64).looked_at == 0);  // not there yet
  std::memset(memory.begin, 1, memory.bytes);
  const PagesFound found = calls->find_pages(memory.begin, memory.bytes, 16);
  REQUIRE(found.problem.empty());
  CHECK(found.looked_at == 16);
  REQUIRE(found.by_node.size() == static_cast<std::size_t>(node) + 1);
  CHECK(found.by_node.back() == found.looked_at);
  CHECK(!calls->set_rule(memory.begin, memory.bytes, {PageRule::Kind::bind, {1000}}).empty());
  CHECK(!calls->set_rule(memory.begin, memory.bytes, {PageRule::Kind::bind, {5000}}).empty());
  CHECK(calls->set_rule(memory.begin, memory.bytes, {}).empty());
}

TEST_CASE("a machine that is described writes down what it is asked, and its pages are so") {
  const Pages memory(64);
  RecordedPageCalls calls;
  CHECK(calls.set_rule(memory.begin, memory.bytes, {PageRule::Kind::interleave, {0, 2}}).empty());
  CHECK(calls.set_rule(memory.begin, memory.bytes / 4, {PageRule::Kind::prefer, {1}}).empty());
  CHECK(calls.ask_for_large_pages(memory.begin, memory.bytes).empty());
  REQUIRE(calls.calls().size() == 3);
  CHECK(calls.calls()[1].rule.nodes == std::vector<int>{1});
  CHECK(calls.calls()[2].large);
  const PagesFound found = calls.find_pages(memory.begin, memory.bytes, 64);
  CHECK(found.looked_at == 64);
  CHECK(found.by_node == std::vector<std::int64_t>{24, 16, 24});
}

TEST_CASE("pages that are looked at are no multiples of a number") {
  for (const std::size_t nodes : {2, 3, 4, 8})
    for (const std::size_t pages : {100, 12288, 524288}) {
      CAPTURE(nodes, pages);
      const std::vector<std::size_t> sample = sample_pages(pages, 4096);
      CHECK(sample.size() == std::min<std::size_t>(pages, 4096));
      CHECK(std::is_sorted(sample.begin(), sample.end()));
      CHECK(sample.back() < pages);
      std::vector<double> found(nodes, 0);
      for (const std::size_t p : sample) ++found[p % nodes];
      for (const double n : found)
        CHECK(n == Approx(static_cast<double>(sample.size()) / static_cast<double>(nodes)).epsilon(0.15));
    }
  CHECK(sample_pages(0, 10).empty());
  CHECK(sample_pages(10, 0).empty());
}

TEST_CASE("nodes and rules in words") {
  CHECK(node_list_text({0, 1, 2, 5, 7, 8}) == "0-2,5,7-8");
  CHECK(page_rule_text({}) == "as the system does it");
  CHECK(page_rule_text({PageRule::Kind::prefer, {1}}) == "on node 1 while it has room");
  CHECK(page_rule_text({PageRule::Kind::bind, {0, 1}}) == "on nodes 0-1 only");
  CHECK(page_rule_text({PageRule::Kind::interleave, {0, 1, 3}}) == "interleaved over nodes 0-1,3");
}
