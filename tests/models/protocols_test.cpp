// Every protocol holds with the orders that the program has, and fails with each weaker order, or says why not. Run
// with "[table]" it prints the outcomes.

#include <algorithm>
#include <catch2/catch.hpp>
#include <iostream>
#include <iterator>

#include <fmt/format.h>

#include "tests/models/protocols.h"

namespace sial::models {
namespace {

std::vector<Listed> all() {
  std::vector<Listed> found = heap_protocols();
  for (auto* more : {directory_protocols, tier_protocols}) {
    std::vector<Listed> m = more();
    std::move(m.begin(), m.end(), std::back_inserter(found));
  }
  return found;
}

std::string trace_of(const Exploration& e) {
  std::string s = e.failure;
  for (const std::string& line : e.trace) s += "\n  " + line;
  return s;
}

std::string name_of(const Weakening& w) {
  std::string s;
  for (const auto& [site, order] : w) s += fmt::format("{}{} {}", s.empty() ? "" : ", ", site, order_name(order));
  return s;
}

const std::string* reason_for(const Protocol& p, const Weakening& w) {
  if (w.size() != 1) return nullptr;
  for (const Protocol::Kept& k : p.kept())
    if (w.begin()->first == k.site && w.begin()->second == k.order) return &k.reason;
  return nullptr;
}

/// All that are tried of a protocol.
std::vector<Weakening> weakenings_of(const Protocol& p) {
  std::vector<Weakening> found;
  for (const Site& s : p.sites())
    for (const std::memory_order o : weaker_orders(s)) found.push_back({{s.name, o}});
  found.insert(found.end(), p.together().begin(), p.together().end());
  return found;
}

void check(const std::vector<Listed>& protocols) {
  for (const Listed& l : protocols) {
    INFO(l.name);
    const auto protocol = l.make({});
    const Exploration e = explore(*protocol);
    INFO(trace_of(e));
    CHECK(e.failure.empty());
    CHECK(e.ends > 0);
    for (const Site& s : protocol->sites()) {
      INFO(s.name << ": " << s.text << " in " << s.file);
      CHECK(stands_in_source(s));
    }
    for (const Weakening& w : weakenings_of(*protocol)) {
      const Exploration weak = explore(*l.make(w));
      INFO(name_of(w) << ": " << trace_of(weak));
      CHECK(weak.failure.empty() == (reason_for(*protocol, w) != nullptr));
    }
  }
}

TEST_CASE("locks and memory of a node") { check(heap_protocols()); }
TEST_CASE("the directory, versions, and the work queue") { check(directory_protocols()); }
TEST_CASE("blocks in tiers") { check(tier_protocols()); }

TEST_CASE("steps in a wrong order are seen") {
  for (const Listed& l : broken_protocols()) CHECK_FALSE(explore(*l.make({})).failure.empty());
}

TEST_CASE("every order of these files that is not relaxed is in a model") {
  std::vector<std::string> known;
  for (const Listed& l : all()) {
    const auto protocol = l.make({});
    for (const Site& site : protocol->sites())
      for (std::string& s : ordered_statements(site.text)) known.push_back(std::move(s));
  }
  for (const char* file : {"runtime/core/memory/node_heap.cpp", "runtime/core/memory/node_heap.h",
                           "runtime/core/memory/spin_lock.h", "runtime/core/store/directory/directory.cpp",
                           "runtime/core/store/directory/directory.h", "runtime/core/store/local/node_blocks.cpp",
                           "runtime/core/store/local/node_blocks.h", "runtime/core/store/spill/spill_area.cpp",
                           "runtime/core/store/spill/spill_area.h", "runtime/core/store/spill/spilled_blocks.cpp",
                           "runtime/core/store/spill/spilled_blocks.h", "runtime/core/transport/work_queue.cpp"})
    for (const std::string& statement : ordered_statements_in(file)) {
      INFO(file << ": " << statement);
      CHECK(std::any_of(known.begin(), known.end(),
                        [&](const std::string& s) { return statement.find(s) != std::string::npos; }));
    }
}

TEST_CASE("table", "[.][table]") {
  for (const Listed& l : all()) {
    const auto protocol = l.make({});
    const Exploration e = explore(*protocol);
    std::cout << fmt::format("\n**{}**: {} ({} states{})\n\n| weakened | outcome |\n|---|---|\n", l.name, l.property,
                             e.states, e.failure.empty() ? "" : "; FAILS: " + e.failure);
    for (const Weakening& w : weakenings_of(*protocol)) {
      const Exploration weak = explore(*l.make(w));
      const std::string* reason = reason_for(*protocol, w);
      std::cout << fmt::format("| {} | {} |\n", name_of(w),
                               weak.failure.empty() ? "holds: " + (reason ? *reason : "?") : weak.failure);
    }
  }
}

}  // namespace
}  // namespace sial::models
