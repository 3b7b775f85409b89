// The parts of the benchmark of memory nodes that are not times: what is visited, where pages are asked to lie, what is
// said of those that lie elsewhere, and that a wrong visit is noticed.
#include <catch2/catch.hpp>
#include <set>

#include "tests/bench/numa/measure.h"

using namespace sial;
using namespace sial::bench;
using Catch::Matchers::Contains;

namespace {

constexpr std::size_t lines = 20 * lines_per_page;

std::vector<Line> filled(const LineOrders& orders) {
  std::vector<Line> all(orders.size());
  orders.fill(all);
  return all;
}

VisitedArray array_of(const std::vector<Line>& all) { return {all, lines_per_page, 3}; }

/// Puts pages where it was not asked to, or refuses to put them on some node at all.
class Disobeying final : public PageCalls {
 public:
  explicit Disobeying(int refused) : refused_(refused) {}
  std::string set_rule(std::byte*, std::size_t, const PageRule& rule) override {
    return rule.nodes == std::vector{refused_} ? "not permitted" : "";
  }
  std::string ask_for_large_pages(std::byte*, std::size_t) override { return "not supported"; }
  std::int64_t bytes_in_large_pages(const std::byte*, std::size_t) override { return 0; }
  PagesFound find_pages(const std::byte*, std::size_t bytes, std::size_t) override {
    const auto pages = static_cast<std::int64_t>(bytes / page_bytes);
    return {{pages - 1, 1}, pages, {}};
  }

 private:
  int refused_;
};

}  // namespace

TEST_CASE("both cycles visit each line once, and one leaves a page only at its end") {
  const LineOrders orders(lines);
  const std::vector<Line> all = filled(orders);
  std::set<std::uint64_t> anywhere, in_page, begun;
  std::uint64_t a = 0, p = 0, page = lines, neighbours = 0;
  for (std::size_t i = 0; i < lines; ++i) {
    neighbours += all[a].next_anywhere / lines_per_page == a / lines_per_page ? 1 : 0;
    anywhere.insert(a = all[a].next_anywhere);
    in_page.insert(p = all[p].next_in_page);
    if (i == 0) continue;  // line 0 may lie in the middle of its page's order
    page = p / lines_per_page;
    begun.insert(page);
  }
  CHECK((anywhere.size() == lines && in_page.size() == lines && a == 0 && p == 0 && begun.size() == 20));
  CHECK(neighbours < lines / 10);  // of twenty pages one in twenty steps stays in its page
  std::size_t changes = 0;
  for (std::size_t i = 0; i < lines; ++i) changes += all[i].next_in_page / lines_per_page != i / lines_per_page ? 1 : 0;
  CHECK(changes == 20);
}

TEST_CASE("each pattern reads all that it should, and a word that differs is noticed") {
  const LineOrders orders(lines);
  std::vector<Line> all = filled(orders);
  const std::size_t words = lines * words_per_line;
  const std::vector<std::size_t> accesses{3 * lines_per_page * words_per_line, words, lines, lines, lines};
  REQUIRE(patterns().size() == accesses.size());
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    const Pattern& pattern = patterns()[i];
    INFO(pattern.name);
    const Visit visit = pattern.visit(array_of(all));
    CHECK(visit.accesses == accesses[i]);
    CHECK(wrong_visit(pattern, array_of(all), orders, visit).empty());
    Visit other = visit;
    other.sum += 1;
    CHECK_THAT(wrong_visit(pattern, array_of(all), orders, other), Contains("the sum is"));
  }
  all[5].number += 1;
  for (const std::size_t i : {0, 1, 2})
    CHECK_FALSE(wrong_visit(patterns()[i], array_of(all), orders, patterns()[i].visit(array_of(all))).empty());
  std::swap(all[7].next_anywhere, all[8].next_anywhere);  // two cycles: not all lines are on the one of line 0
  std::swap(all[7].next_in_page, all[8].next_in_page);
  for (const std::size_t i : {3, 4})
    CHECK_FALSE(wrong_visit(patterns()[i], array_of(all), orders, patterns()[i].visit(array_of(all))).empty());
}

TEST_CASE("pages are asked to lie on the own node, on all, and on the farthest") {
  NumaTopology machine = described_machine("numa:4 core:1 pu:1");
  machine.distances = {{1, 2, 3.2, 2}, {2, 1, 2, 3}, {3.2, 2, 1, 2}, {2, 3, 2, 1}};
  for (NumaNode& node : machine.nodes) node.number *= 2;
  const std::vector<Placement> three = placements(machine, 0);
  REQUIRE(three.size() == 3);
  CHECK(three[0].rule == PageRule{PageRule::Kind::bind, {0}});
  CHECK(three[1].rule == PageRule{PageRule::Kind::interleave, {0, 2, 4, 6}});
  CHECK(three[1].distance == Approx(8.2 / 4));
  CHECK(three[2].rule == PageRule{PageRule::Kind::bind, {4}});
  CHECK(three[2].distance == 3.2);
  CHECK(placements(machine, 3)[2].rule.nodes == std::vector{2});
  machine.distances.clear();  // all are equally far: any other one
  CHECK(placements(machine, 0)[2].rule.nodes == std::vector{2});
  CHECK(placements(described_machine("numa:1 core:2 pu:1"), 0).size() == 1);
}

TEST_CASE("arrays are larger than the last cache and small beside the memory of a node") {
  NumaTopology machine = described_machine("numa:2 core:1 pu:1");
  const auto set = [&](std::int64_t first, std::int64_t second) {
    machine.nodes[0].bytes = first, machine.nodes[1].bytes = second;
  };
  constexpr std::int64_t gib = 1 << 30;
  set(64 * gib, 64 * gib);
  CHECK(array_bytes(machine, {32 << 10, 30 << 20}) == 120U << 20);
  CHECK(array_bytes(machine, {32 << 10, 300 << 20}) == 1U << 30);
  CHECK(array_bytes(machine, {32 << 10, 0}) == 1U << 30);
  set(64 * gib, gib / 2 + 5000);
  CHECK(array_bytes(machine, {32 << 10, 300 << 20}) == 64U << 20);
  set(0, 0);  // not known
  CHECK(array_bytes(machine, {32 << 10, 30 << 20}) == 120U << 20);
}

TEST_CASE("pages that lie elsewhere are told") {
  const PageRule bind{PageRule::Kind::bind, {1}}, both{PageRule::Kind::interleave, {0, 1}};
  CHECK(wrong_pages({{0, 100}, 100, {}}, bind, 100).empty());
  CHECK(wrong_pages({{1, 99}, 100, {}}, bind, 100) ==
        "its pages do not lie on node 1 only: of 100 pages there are 1 on node 0, 99 on node 1");
  CHECK(wrong_pages({{100}, 100, {}}, bind, 100) ==
        "its pages do not lie on node 1 only: of 100 pages there are 100 on node 0, 0 on node 1");
  CHECK(wrong_pages({{46, 54}, 100, {}}, both, 100).empty());
  CHECK_THAT(wrong_pages({{40, 60}, 100, {}}, both, 100), Contains("40 on node 0, 60 on node 1"));
  CHECK_THAT(wrong_pages({{50, 48, 0, 2}, 100, {}}, both, 100), Contains("there are 2 on node 3"));
  CHECK_THAT(wrong_pages({{0, 90}, 90, {}}, bind, 100), Contains("90 of its 100 pages are there"));
  CHECK_THAT(wrong_pages({{}, 0, "not permitted"}, bind, 100), Contains("is not known: not permitted"));
}

TEST_CASE("a placement that is refused is not measured, one that is not kept is told") {
  const NumaTopology machine = described_machine("numa:2 core:1 pu:1");
  const Extent extent{64 * page_bytes, lines_per_page, 2, 3, true};
  Disobeying calls(1);
  const Measured measured = measure(placements(machine, 0), calls, extent);
  REQUIRE(measured.columns.size() == 3);
  CHECK(measured.wrong.empty());
  CHECK((measured.columns[0].memory && measured.columns[1].memory && !measured.columns[2].memory));
  for (const Column& column : measured.columns)
    for (const auto& rounds : column.seconds) CHECK(rounds.size() == (column.memory ? 3U : 0U));
  const auto problems = [&](std::size_t column) {
    std::string all;
    for (const std::string& problem : measured.columns[column].problems) all += problem + "\n";
    return all;
  };
  CHECK_THAT(problems(0), Contains("large pages: not supported") && Contains("of 64 pages there are 63 on node 0, 1"));
  CHECK_THAT(problems(1), Contains("do not lie interleaved over nodes 0-1"));
  CHECK_THAT(problems(2), Contains("refuses to put its pages on node 1 only: not permitted"));

  Disobeying on_first(0);  // the first one is measured nevertheless: all others are compared with it
  const Measured other = measure(placements(machine, 0), on_first, extent);
  CHECK((other.columns[0].memory && other.columns[2].memory));
}

TEST_CASE("the median of an even number of rounds lies between the middle ones") {
  Column column;
  column.seconds = {{4, 1, 3, 2}, {9, 1, 2}};
  CHECK((column.median(0) == 2.5 && column.median(1) == 2));
}
