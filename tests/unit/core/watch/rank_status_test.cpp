// What watchers tell each other.
#include <atomic>
#include <catch2/catch.hpp>
#include <cstring>
#include <thread>
#include <vector>

#include "runtime/core/watch/rank_status.h"

using namespace sial;

namespace {

RankStatus status_of(int rank, double still, const std::string& text) {
  RankStatus s;
  s.rank = rank;
  s.beat = 4;
  s.still = still;
  s.set_text(text);
  return s;
}

std::vector<std::uint64_t> board_memory(int ranks) { return std::vector<std::uint64_t>(HostBoard::bytes(ranks) / 8); }
std::byte* bytes_of(std::vector<std::uint64_t>& memory) { return reinterpret_cast<std::byte*>(memory.data()); }

}  // namespace

TEST_CASE("a board holds the last status of each rank") {
  auto memory = board_memory(3);
  HostBoard board(bytes_of(memory), 3);
  CHECK(board.read(1).rank == -1);
  board.publish(1, status_of(7, 1, "waits"));
  board.publish(1, status_of(7, 2, "goes on"));
  CHECK(board.read(0).rank == -1);
  CHECK(board.read(1).rank == 7);
  CHECK(board.read(1).what() == "goes on");
  CHECK_FALSE(board.take_asked());
  board.ask();
  CHECK(board.take_asked());
  CHECK_FALSE(board.take_asked());
}

TEST_CASE("statuses are read whole while they change") {
  auto memory = board_memory(1);
  HostBoard board(bytes_of(memory), 1);
  board.publish(0, status_of(0, 0, "0"));
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (int i = 0; !stop; ++i) board.publish(0, status_of(i, i, std::to_string(i)));
  });
  int whole = 0, torn = 0;
  for (int i = 0; i < 20000; ++i) {
    const RankStatus s = board.read(0);
    if (s.rank == -1) continue;  // it changed faster than it could be read
    const bool same = s.still == s.rank && s.what() == std::to_string(s.rank);
    ++(same ? whole : torn);
  }
  stop = true;
  writer.join();
  CHECK(torn == 0);
  CHECK(whole > 0);
}

TEST_CASE("a message holds what it was made of, and texts of those who stand still") {
  HostReport report;
  report.beat = 9;
  report.host = 2;
  report.asked = true;
  report.ranks = {status_of(3, 0.5, "moves"), status_of(4, 20, "stands")};
  const std::vector<std::byte> bytes = pack(report, 5);
  const HostReport back = unpack(bytes);
  CHECK(back.beat == 9);
  CHECK(back.host == 2);
  CHECK(back.asked);
  CHECK_FALSE(back.ended);
  REQUIRE(back.ranks.size() == 2);
  CHECK(back.ranks[0].rank == 3);
  CHECK(back.ranks[0].what().empty());
  CHECK(back.ranks[1].still == 20);
  CHECK(back.ranks[1].what() == "stands");
  CHECK(unpack(pack(report, 0)).ranks[0].what() == "moves");
}

TEST_CASE("bytes that are no message are none") {
  const HostReport report{1, 0, false, false, {status_of(0, 9, "waits")}};
  const std::vector<std::byte> bytes = pack(report, 0);
  for (std::size_t n = 0; n < bytes.size(); ++n) CHECK(unpack(std::span(bytes).first(n)).beat == 0);
  std::vector<std::byte> other = bytes;
  other[0] = std::byte{1};
  CHECK(unpack(other).beat == 0);
}

TEST_CASE("a text that is too long is cut") {
  RankStatus s;
  s.set_text(std::string(1000, 'x'));
  CHECK(s.what() == std::string(s.text.size() - 1, 'x'));
}
