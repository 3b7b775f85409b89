#include <catch2/catch.hpp>
#include <utility>

#include "tests/hosts/frame_switch.h"

using namespace sial::hosts;

namespace {

constexpr Nanoseconds millisecond = 1'000'000;

/// To a port counted from 1; 0xffff: to all.
std::vector<std::byte> frame_to(unsigned port, std::size_t size = 1000, unsigned content = 0) {
  std::vector<std::byte> frame(size, std::byte{0});
  frame[0] = port == 0xffff ? std::byte{0xff} : std::byte{0x02};
  frame[4] = static_cast<std::byte>(port >> 8U);
  frame[5] = static_cast<std::byte>(port & 0xffU);
  frame[12] = static_cast<std::byte>(content);
  return frame;
}

/// (port, content) of the frames that are due.
std::vector<std::pair<int, int>> due(FrameSwitch& tested, Nanoseconds now) {
  std::vector<std::pair<int, int>> found;
  tested.deliver_due(
      now, [&](int port, FrameSwitch::Frame frame) { found.emplace_back(port, std::to_integer<int>(frame[12])); });
  return found;
}

using Found = std::vector<std::pair<int, int>>;

}  // namespace

TEST_CASE("frames reach the port of their address, and groups all others") {
  FrameSwitch tested(3, {}, 1);
  tested.arrive(0, frame_to(3, 100, 7), 5);
  CHECK(tested.next_due() == 5);
  CHECK(due(tested, 5) == Found{{2, 7}});
  CHECK(tested.next_due() == never);
  tested.arrive(1, frame_to(0xffff, 100, 8), 5);
  CHECK(due(tested, 5) == Found{{0, 8}, {2, 8}});
  CHECK(tested.counts().delivered == 3);

  tested.arrive(0, frame_to(4), 5);
  tested.arrive(0, frame_to(1), 5);
  tested.arrive(0, std::vector<std::byte>(11), 5);
  CHECK(due(tested, never) == Found{});
  CHECK(tested.counts().refused == 2);
}

TEST_CASE("a frame is delivered after its delay, never before") {
  FrameSwitch tested(2, {.delay = millisecond}, 1);
  tested.arrive(0, frame_to(2), 10);
  CHECK(tested.next_due() == millisecond + 10);
  CHECK(due(tested, millisecond + 9) == Found{});
  CHECK(due(tested, millisecond + 10) == Found{{1, 0}});
}

TEST_CASE("a shorter delay keeps the order of frames") {
  FrameSwitch tested(2, {.delay = millisecond}, 1);
  tested.arrive(0, frame_to(2, 100, 1), 0);
  tested.set_conditions({.delay = 0});
  tested.arrive(0, frame_to(2, 100, 2), 10);
  CHECK(due(tested, 10) == Found{});
  CHECK(due(tested, millisecond) == Found{{1, 1}, {1, 2}});
}

TEST_CASE("frames follow each other at the rate of the link that they share") {
  // 1000 bytes at 8 Mbit/s: one millisecond.
  FrameSwitch tested(3, {.delay = 5, .rate = 8e6}, 1);
  for (unsigned content = 0; content < 3; ++content) tested.arrive(0, frame_to(2, 1000, content), 0);
  for (int content = 0; content < 3; ++content) {
    const Nanoseconds when = (content + 1) * millisecond + 5;
    CHECK(due(tested, when - 1) == Found{});
    CHECK(due(tested, when) == Found{{1, content}});
  }
  // Two senders, one receiver: its link is the narrow one.
  const Nanoseconds start = 100 * millisecond;
  tested.arrive(0, frame_to(2, 1000, 1), start);
  tested.arrive(2, frame_to(2, 1000, 2), start);
  CHECK(due(tested, start + millisecond + 5) == Found{{1, 1}});
  CHECK(due(tested, start + 2 * millisecond + 4) == Found{});
  CHECK(due(tested, start + 2 * millisecond + 5) == Found{{1, 2}});
  // One sender, two receivers: so is the sender's.
  tested.arrive(0, frame_to(2, 1000, 1), 2 * start);
  tested.arrive(0, frame_to(3, 1000, 2), 2 * start);
  CHECK(due(tested, 2 * start + millisecond + 5) == Found{{1, 1}});
  CHECK(due(tested, 2 * start + 2 * millisecond + 5) == Found{{2, 2}});
}

TEST_CASE("a full queue overflows") {
  FrameSwitch tested(3, {.rate = 8e6}, 1);
  const auto fit = static_cast<int>(FrameSwitch::queue_bytes / 1000);
  for (int k = 0; k < fit + 100; ++k) tested.arrive(0, frame_to(2), 0);
  CHECK(tested.counts().overflowed > 90);
  CHECK(tested.counts().overflowed < 110);
  // Two senders fill the queue of their common receiver.
  const auto before = tested.counts().overflowed;
  Nanoseconds now = 3600 * 1000 * millisecond;
  for (int k = 0; k < 2 * fit + 200; ++k, now += millisecond) {
    tested.arrive(0, frame_to(2), now);
    tested.arrive(2, frame_to(2), now);
  }
  CHECK(tested.counts().overflowed > before + 90);
}

TEST_CASE("losses have their probability, and are those of the seed") {
  const auto delivered = [](std::uint64_t seed) {
    FrameSwitch tested(2, {.loss = 0.25}, seed);
    std::vector<std::pair<int, int>> all;
    for (unsigned k = 0; k < 10'000; ++k) {
      tested.arrive(0, frame_to(2, 64, k % 251), k);
      for (const auto& one : due(tested, k)) all.push_back(one);
    }
    CHECK(tested.counts().lost + tested.counts().delivered == 10'000);
    CHECK(tested.counts().lost > 2300);
    CHECK(tested.counts().lost < 2700);
    return all;
  };
  CHECK(delivered(1) == delivered(1));
  CHECK(delivered(1) != delivered(2));
}

TEST_CASE("a link that is down passes nothing, either way") {
  FrameSwitch tested(3, {.delay = 10}, 1);
  tested.arrive(0, frame_to(2), 0);
  tested.set_link(1, false);
  tested.arrive(0, frame_to(2), 1);
  tested.arrive(1, frame_to(1), 1);
  tested.arrive(0, frame_to(3, 100, 5), 1);
  CHECK(due(tested, 100) == Found{{2, 5}});
  CHECK(tested.counts().refused == 3);
  tested.set_link(1, true);
  tested.arrive(0, frame_to(2, 100, 6), 200);
  CHECK(due(tested, 210) == Found{{1, 6}});
}
