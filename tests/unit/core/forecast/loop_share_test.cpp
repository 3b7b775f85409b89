// Which iterations of a pardo are probably a rank's.
#include "runtime/core/interp/prefetch/loop_share.h"

#include <catch2/catch.hpp>

#include <numeric>

using namespace sial;

namespace {

UpcomingPardo pardo(PardoMode mode, std::int32_t count, int ranks, int rank, int ranks_of_node, int of_node) {
  UpcomingPardo p{mode, {}, ranks, rank, ranks_of_node, of_node};
  p.space.add(1, count);
  return p;
}

std::vector<std::int64_t> all(LoopShare share) {
  std::vector<std::int64_t> tuples;
  for (std::int64_t t = 0; share.next(t);) tuples.push_back(t);
  return tuples;
}

}  // namespace

TEST_CASE("a rank alone has all iterations, in order") {
  std::vector<std::int64_t> expected(10);
  std::iota(expected.begin(), expected.end(), 0);
  for (const PardoMode mode : {PardoMode::dynamic, PardoMode::cyclic, PardoMode::cyclic_raw, PardoMode::everywhere})
    CHECK(all(LoopShare(pardo(mode, 10, 1, 0, 1, 0))) == expected);
}

TEST_CASE("the ranks of all nodes have each iteration once") {
  for (const PardoMode mode : {PardoMode::dynamic, PardoMode::cyclic})
    for (const int count : {1, 2, 7, 100}) {
      std::vector<std::int64_t> tuples;
      for (int rank = 0; rank < 6; ++rank)
        for (const std::int64_t t : all(LoopShare(pardo(mode, count, 6, rank, 3, rank % 3)))) tuples.push_back(t);
      std::sort(tuples.begin(), tuples.end());
      std::vector<std::int64_t> expected(static_cast<std::size_t>(count));
      std::iota(expected.begin(), expected.end(), 0);
      CHECK(tuples == expected);
    }
}

TEST_CASE("a pardo that every rank runs is everybody's") {
  CHECK(all(LoopShare(pardo(PardoMode::everywhere, 5, 4, 2, 2, 0))).size() == 5);
}

TEST_CASE("a pardo that has begun goes on with what the rank has drawn") {
  LoopShare share(pardo(PardoMode::dynamic, 10, 1, 0, 1, 0));
  share.resume(3, 5);
  CHECK(all(share) == std::vector<std::int64_t>{3, 4, 5, 6, 7, 8, 9});
  LoopShare turns(pardo(PardoMode::cyclic, 10, 2, 1, 2, 1));
  turns.resume(4, 10);
  CHECK(all(turns) == std::vector<std::int64_t>{5, 7, 9});
}
