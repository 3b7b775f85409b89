// What a node lends of its memory, and what it keeps for itself.
#include <catch2/catch.hpp>

#include <optional>

#include "runtime/core/store/spill/lent_memory.h"
#include "runtime/core/transport/in_process.h"

using namespace sial;

namespace {

constexpr std::size_t lenders_memory = 4 << 20;

struct LendingNodeOfTest {
  explicit LendingNodeOfTest(const LendingRule& rule)
      : memory(make_private_memory(NodeHeap::bytes_needed(1, lenders_memory, true), "test", nullptr)),
        heap(memory->base(), 0, 1, lenders_memory, hooks()),
        lender(heap, 0, rule) {}
  HeapHooks hooks() {
    HeapHooks h{[this](std::size_t at, std::size_t n) { memory->commit(at, n); }, [] {}};
    h.spills = true;
    h.committed = [this] { return memory->committed(); };
    h.uncommitted = [this](std::size_t at, std::size_t n) { return memory->uncommitted(at, n); };
    h.uncommit = [this](std::size_t at, std::size_t n) { memory->uncommit(at, n); };
    return h;
  }
  /// Until nothing is lent any more; what was.
  std::uint64_t lend_all(std::uint64_t step) {
    std::uint64_t sum = 0;
    for (Loan loan = lender.lend(step); loan.bytes > 0; loan = lender.lend(step)) sum += loan.bytes;
    return sum;
  }

  std::shared_ptr<NodeMemory> memory;
  NodeHeap heap;
  LentMemory lender;
};

}  // namespace

TEST_CASE("a node that computes lends nothing unasked") {
  LendingNodeOfTest node({});
  CHECK(node.lend_all(64) == 0);
}

TEST_CASE("a node that computes lends what it is told, and half of its memory at most") {
  LendingNodeOfTest node({2 * lenders_memory, false});
  node.lend_all(100'032);
  CHECK(node.heap.bytes_not_counted() <= static_cast<std::int64_t>(lenders_memory / 2));
  CHECK(node.heap.bytes_not_counted() > static_cast<std::int64_t>(lenders_memory / 2) - 5000);
}

TEST_CASE("a node that only serves keeps an eighth") {
  LendingNodeOfTest node({0, true});
  node.lend_all(100'032);
  CHECK(node.heap.bytes_free() >= static_cast<std::int64_t>(lenders_memory / 8));
  CHECK(node.heap.bytes_free() < static_cast<std::int64_t>(lenders_memory / 8) + 5000);
}

TEST_CASE("a limit is kept to the byte") {
  for (const std::uint64_t most :
       {std::uint64_t{1}, std::uint64_t{4096}, std::uint64_t{50'000}, std::uint64_t{1'000'001}})
    for (const std::uint64_t step : {std::uint64_t{64}, std::uint64_t{6400}, std::uint64_t{1} << 20}) {
      INFO(most << " bytes, " << step << " at a time");
      LendingNodeOfTest node({most, true});
      node.lend_all(step);
      const auto lent = static_cast<std::uint64_t>(node.heap.bytes_not_counted());
      CHECK(lent <= most);
      if (most >= 50'000 && step >= 6400) CHECK(lent > most - 8192);
    }
}

TEST_CASE("a node that is short of memory lends none") {
  LendingNodeOfTest node({lenders_memory, false});
  std::vector<Chunk*> own;
  CHECK(node.heap.bytes_in_use() == 0);
  while (node.heap.bytes_free() > static_cast<std::int64_t>(lenders_memory / 10))
    own.push_back(node.heap.try_allocate(0, 1000));
  CHECK(node.lender.lend(64).bytes == 0);
  for (Chunk* c : own) node.heap.drop_reference(c, 0);
  CHECK(node.lender.lend(64).bytes == 64);
}

TEST_CASE("loans are memory of their own") {
  LendingNodeOfTest node({0, true});
  const Loan a = node.lender.lend(4096), b = node.lender.lend(4096);
  REQUIRE((a.bytes == 4096 && b.bytes == 4096));
  std::fill_n(node.lender.lent(a.at), a.bytes, std::byte{1});
  std::fill_n(node.lender.lent(b.at), b.bytes, std::byte{2});
  for (std::size_t i = 0; i < a.bytes; ++i) REQUIRE(node.lender.lent(a.at)[i] == std::byte{1});
}
