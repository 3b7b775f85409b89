// What a pardo gets and puts, and the bytes that move for it in some order.

#include "runtime/core/interp/order/tier_traffic.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "pardos.h"

using namespace sial;
using namespace sial::test;

namespace {

RecordedPardo record(const Pardo& p, std::int64_t most = 100'000) {
  return record_pardo(p.bound, p.ints, p.loop, most);
}

double bytes(const RecordedPardo& pardo, const TupleOrder& order, std::int64_t capacity,
             std::int64_t most = 1'000'000) {
  std::vector<std::int32_t> sequence(static_cast<std::size_t>(pardo.tuples()));
  std::iota(sequence.begin(), sequence.end(), 0);
  return PardoTraffic(pardo, sequence, capacity, most).bytes(order).moved;
}

/// The same in the simplest way, for blocks of eight bytes that are read: which leaves is looked for among all.
double bytes_read(const std::vector<std::int32_t>& blocks, std::size_t capacity) {
  std::vector<std::int32_t> here;
  double moved = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (std::find(here.begin(), here.end(), blocks[i]) != here.end()) continue;
    const auto next = [&](std::int32_t b) {
      return std::find(blocks.begin() + static_cast<std::ptrdiff_t>(i), blocks.end(), b);
    };
    if (here.size() == capacity)
      here.erase(std::max_element(here.begin(), here.end(), [&](auto a, auto b) { return next(a) < next(b); }));
    here.push_back(blocks[i]);
    moved += 8;
  }
  return moved;
}

TupleOrder second_fastest() {
  TupleOrder order;
  order.add({1, 4});
  order.add({0, 4});
  return order;
}

}  // namespace

TEST_CASE("a block that the fast index selects comes again and again, in the other order once") {
  const Pardo p("distributed x[i]\ntemp t[i]\n", "pardo i, j\nget x[i]\nt[i] = x[i]\nendpardo i, j");
  const RecordedPardo pardo = record(p);
  CHECK(pardo.tuples() == 16);
  CHECK(pardo.accesses.size() == 16);
  CHECK(pardo.all_bytes() == 4 * 8);
  CHECK(bytes(pardo, {}, 8) == 16 * 8);
  CHECK(bytes(pardo, second_fastest(), 8) == 4 * 8);
  CHECK(bytes(pardo, {}, 4 * 8) == 4 * 8);
}

TEST_CASE("what is added to is written and read again, what is replaced is written") {
  const Pardo p("distributed x[i]\ndistributed y[i,j]\ntemp t[i]\ntemp u[i,j]\n",
                "pardo i, j\nt[i] = 1.0\nput x[i] += t[i]\nu[i,j] = 1.0\nput y[i,j] = u[i,j]\nendpardo i, j");
  const RecordedPardo pardo = record(p);
  // 16 replaced blocks and 16 additions to 4 blocks; the last one stays. The first additions read nothing.
  CHECK(bytes(pardo, {}, 8) == (31 + 12) * 8);
  CHECK(bytes(pardo, second_fastest(), 16) == (16 + 4 - 2) * 8);
}

TEST_CASE("orders that move the same are told apart by a smaller memory") {
  const Pardo p("distributed x[i]\ntemp t[i]\n", "pardo i, j\nget x[i]\nt[i] = x[i]\nendpardo i, j");
  const RecordedPardo pardo = record(p);
  const std::vector<std::int32_t> sequence = joint_sequence(16, 1);
  PardoTraffic traffic(pardo, sequence, 4 * 8, 1000);
  CHECK(traffic.bytes({}).moved == traffic.bytes(second_fastest()).moved);
  CHECK(traffic.bytes({}).in_an_eighth == 16 * 8);
  CHECK(traffic.bytes(second_fastest()).in_an_eighth == 4 * 8);
  CHECK(traffic.bytes({}).rating() > traffic.bytes(second_fastest()).rating());
}

TEST_CASE("where clauses and conditions on indices are followed, loops too") {
  const Pardo p(
      "distributed x[i,k]\ntemp t[i,k]\nint n\n",
      "pardo i, j\nwhere i <= j\ndo k\nn = k\nif k < i\nget x[i,k]\nt[i,k] = x[i,k]\nendif\nenddo k\nendpardo i, j");
  const RecordedPardo pardo = record(p);
  // i < = j, k < i: 0·4 + 1·3 + 2·2 + 3·1
  CHECK(pardo.accesses.size() == 10);
  CHECK(pardo.bytes.size() == 6);
}

TEST_CASE("long pardos are followed on a coarser grid, with all their bytes") {
  const Pardo p("distributed x[i,k]\ntemp t[i,k]\n",
                "pardo i, j\ndo k\nget x[i,k]\nt[i,k] = x[i,k]\nenddo k\nendpardo i, j", 20, 3);
  const RecordedPardo fine = record(p), coarse = record(p, 1000);
  CHECK(fine.cell == 1);
  CHECK(fine.accesses.size() == 8000);
  CHECK(coarse.cell > 1);
  CHECK(coarse.accesses.size() <= 1000);
  CHECK(coarse.all_bytes() == fine.all_bytes());
}

TEST_CASE("of blocks that are read the one with the farthest next use leaves") {
  std::mt19937 random(1);
  for (int n = 0; n < 200; ++n) {
    RecordedPardo pardo;
    pardo.bytes.assign(6, 8);
    pardo.first = {0};
    std::vector<std::int32_t> blocks;
    for (int t = 0; t < 30; ++t) {
      blocks.push_back(static_cast<std::int32_t>(random() % 6));
      pardo.accesses.push_back({blocks.back(), PardoAccessKind::read});
      pardo.first.push_back(t + 1);
    }
    const std::size_t capacity = 1 + random() % 6;
    CHECK(bytes(pardo, {}, static_cast<std::int64_t>(capacity) * 8) == bytes_read(blocks, capacity));
  }
}

TEST_CASE("some blocks stand for all") {
  const Pardo p("distributed x[i,k]\ndistributed y[k,j]\ntemp t[i,k]\n",
                "pardo i, j\ndo k\nget x[i,k]\nget y[k,j]\nt[i,k] = x[i,k]\nenddo k\nendpardo i, j", 40);
  const RecordedPardo pardo = record(p, 200'000);
  for (const std::int64_t capacity : {100, 500, 1000, 2000}) {
    const double exact = bytes(pardo, {}, capacity * 8), some = bytes(pardo, {}, capacity * 8, 10'000);
    CHECK(some == Approx(exact).epsilon(0.1));
  }
}

TEST_CASE("ranks of a node take iterations in turn, each exactly once") {
  for (const int ranks : {1, 2, 3, 7})
    for (const std::int32_t share : {1, 2, 10, 101}) {
      std::vector<std::int32_t> sequence = joint_sequence(share, ranks);
      if (ranks == 2 && share == 10)
        CHECK(std::vector(sequence.begin(), sequence.begin() + 4) == (std::vector{0, 2, 1, 3}));
      std::sort(sequence.begin(), sequence.end());
      std::vector<std::int32_t> all(static_cast<std::size_t>(share));
      std::iota(all.begin(), all.end(), 0);
      CHECK(sequence == all);
    }
}
