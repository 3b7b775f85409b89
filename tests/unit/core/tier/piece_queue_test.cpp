#include "runtime/core/tier/piece_queue.h"

#include <catch2/catch.hpp>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "test_transfer.h"

using namespace sial;
using test::mib;
using test::Transfer;

namespace {

constexpr FileRules strict{4096, 512};
void move_all(PieceQueue& queue) {
  while (std::optional<Piece> piece = queue.begin()) queue.end(*piece);
}

/// Offsets in the order in which pieces begin, one at a time.
std::vector<std::uint64_t> order(PieceQueue& queue) {
  std::vector<std::uint64_t> offsets;
  while (std::optional<Piece> piece = queue.begin()) {
    offsets.push_back(piece->at / 4096);
    queue.end(*piece);
  }
  return offsets;
}

}  // namespace

TEST_CASE("demands come before prefetches before writes") {
  PieceQueue queue(strict, 8);
  std::vector<std::unique_ptr<Transfer>> t;
  for (std::uint64_t i = 0; i < 6; ++i) t.push_back(std::make_unique<Transfer>(i * 4096, 4096));
  queue.add(*t[0], true, TierPriority::write);
  queue.add(*t[1], false, TierPriority::prefetch);
  queue.add(*t[2], false, TierPriority::demand);
  queue.add(*t[3], true, TierPriority::write);
  queue.add(*t[4], false, TierPriority::prefetch);
  queue.add(*t[5], false, TierPriority::demand);
  SECTION("as they arrive") { CHECK(order(queue) == std::vector<std::uint64_t>{2, 5, 1, 4, 0, 3}); }
  SECTION("a prefetch is raised") {
    queue.raise(*t[4]);
    queue.raise(*t[2]);  // is a demand already
    CHECK(order(queue) == std::vector<std::uint64_t>{2, 5, 4, 1, 0, 3});
  }
  SECTION("a write is raised, for whoever waits for its memory") {
    queue.raise(*t[3]);
    CHECK(order(queue) == std::vector<std::uint64_t>{2, 5, 3, 1, 4, 0});
  }
  for (const auto& transfer : t) CHECK(transfer->calls == 1);
}

TEST_CASE("a transfer is cut and completed once") {
  PieceQueue queue(strict, 64);
  SECTION("aligned memory: without a copy, but for the padded end") {
    Transfer t(0, 5 * mib + 40);
    queue.add(t, true, TierPriority::write);
    std::vector<Piece> pieces;
    while (const auto piece = queue.begin()) pieces.push_back(*piece);
    REQUIRE(pieces.size() == 4);
    CHECK(pieces[0].bytes == 2 * mib);
    CHECK(pieces[2].bytes == mib);
    CHECK(pieces[2].bounce == nullptr);
    CHECK(pieces[3].bytes == 4096);
    CHECK(pieces[3].at == 5 * mib);
    CHECK(pieces[3].bounce != nullptr);
    for (Piece& piece : pieces) {
      CHECK(t.calls == 0);
      queue.end(piece);
    }
    CHECK(t.calls == 1);
    CHECK(t.result == 0);
  }
  SECTION("other memory: through buffers, as many as there are") {
    Transfer t(0, 20 * mib, 64);
    queue.add(t, false, TierPriority::demand);
    std::vector<Piece> pieces;
    while (const auto piece = queue.begin()) pieces.push_back(*piece);
    CHECK(pieces.size() == BounceBuffers::large_count);
    for (Piece& piece : pieces) {
      CHECK(piece.bounce != nullptr);
      std::memset(piece.memory, 7, piece.bytes);
      queue.end(piece);
    }
    CHECK(t.calls == 0);
    CHECK(t.memory[0] == std::byte{7});
    CHECK(t.memory[8 * mib] == std::byte{0});
    move_all(queue);
    CHECK(t.calls == 1);
  }
}

TEST_CASE("background transfers leave something for demands") {
  PieceQueue queue(strict, 64);
  Transfer write(0, 64 * mib), demand(64 * mib, 4096);
  queue.add(write, true, TierPriority::write);
  std::vector<Piece> begun;
  while (const auto piece = queue.begin()) begun.push_back(*piece);
  CHECK(begun.size() == PieceQueue::max_background_bytes / PieceQueue::max_direct_bytes);
  queue.add(demand, false, TierPriority::demand);
  auto piece = queue.begin();
  REQUIRE(piece);
  CHECK(piece->at == 64 * mib);
  queue.end(*piece);
  CHECK(demand.calls == 1);
  CHECK(write.calls == 0);
  for (Piece& p : begun) queue.end(p);
  move_all(queue);
  CHECK(write.calls == 1);
}

TEST_CASE("the first error ends a transfer, after its pieces under way") {
  PieceQueue queue(strict, 64);
  Transfer t(0, 30 * mib);
  queue.add(t, true, TierPriority::write);
  auto a = queue.begin(), b = queue.begin();
  REQUIRE((a && b));
  CHECK(piece_ended(*a, -EIO, 4096));
  queue.end(*a);
  CHECK(t.calls == 0);
  CHECK_FALSE(queue.begin());
  CHECK(piece_ended(*b, -ENOSPC, 4096));
  queue.end(*b);
  CHECK(t.calls == 1);
  CHECK(t.result == EIO);
}

TEST_CASE("what the system moved in part goes on") {
  Piece piece;
  piece.bytes = 12288;
  piece.user_bytes = 9000;
  CHECK_FALSE(piece_ended(piece, -EINTR, 4096));
  CHECK_FALSE(piece_ended(piece, -EAGAIN, 4096));
  CHECK_FALSE(piece_ended(piece, 5000, 4096));
  CHECK(piece.rest_at() == 4096);
  CHECK(piece.rest_bytes() == 8192);
  SECTION("to the end of the user's bytes") {
    CHECK(piece_ended(piece, 5000, 4096));
    CHECK(piece.error == 0);
  }
  SECTION("nothing more is there to read") {
    CHECK(piece_ended(piece, 0, 4096));
    CHECK(piece.error == EIO);
  }
  SECTION("nothing more can be written") {
    piece.write = true;
    CHECK(piece_ended(piece, 100, 4096));
    CHECK(piece.error == ENOSPC);
  }
}

TEST_CASE("a closed queue ends who waits in it") {
  PieceQueue queue(strict, 4);
  Transfer t(0, 4096);
  queue.add(t, false, TierPriority::demand);
  queue.close();
  CHECK_FALSE(queue.exhausted());
  auto piece = queue.begin_or_wait();
  REQUIRE(piece);
  CHECK(queue.exhausted());
  queue.end(*piece);
  CHECK_FALSE(queue.begin_or_wait());
}
