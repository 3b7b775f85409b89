// What a rank says of itself.
#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "runtime/core/watch/activity.h"

using namespace sial;
using Catch::Matchers::Contains;

namespace {

void name(RankActivity& activity) {
  activity.set_namer({[](Place p) { return "prog.sialx:" + std::to_string(p.pc); },
                      [](std::uint64_t array, const BlockIndex& b) {
                        return "t" + std::to_string(array) + "[" + std::to_string(b.segment[0]) + "]";
                      },
                      [](std::int32_t kind) { return "collective " + std::to_string(kind); }});
}

}  // namespace

TEST_CASE("a rank that waits says for what, and where it stands") {
  RankActivity activity;
  CHECK(activity.describe(activity.snapshot()) == "runs no statement");
  name(activity);
  activity.set_program(0);
  activity.begin_statement(7);
  CHECK(activity.describe(activity.snapshot()) == "executes a statement (prog.sialx:7)");
  BlockIndex block;
  block.rank = 1;
  block.segment[0] = 3;
  {
    const Waiting waiting(activity, wait_for_block(WaitKind::block, 2, block, 5));
    CHECK(activity.describe(activity.snapshot()) == "waits for block t2[3] of rank 5 (prog.sialx:7)");
    {
      const Waiting lock(activity, wait_for_block(WaitKind::block_lock, 4, block));
      CHECK_THAT(activity.describe(activity.snapshot()),
                 Contains("waits for block t4[3], which another rank works on"));
    }
    CHECK_THAT(activity.describe(activity.snapshot()), Contains("waits for block t2[3] of rank 5"));
  }
  CHECK(activity.describe(activity.snapshot()) == "executes a statement (prog.sialx:7)");
  const Waiting waiting(activity, wait_for_collective(1, {0, 9}, 12));
  CHECK(activity.describe(activity.snapshot()) == "waits at collective 1 (prog.sialx:9)");
  CHECK(activity.snapshot().wait.sequence == 12);
}

TEST_CASE("pauses that follow one another are a wait") {
  RankActivity activity;
  activity.begin_statement(1);
  const auto now = RankActivity::Clock::now();
  activity.record_pause(now - std::chrono::seconds(5), now);
  const ActivitySnapshot s = activity.snapshot();
  CHECK(s.wait.kind == WaitKind::other);
  CHECK(s.wait_began == now - std::chrono::seconds(5));
  activity.record_pause(now - std::chrono::seconds(5), now - std::chrono::seconds(2));
  CHECK(activity.snapshot().wait.kind == WaitKind::none);
}

TEST_CASE("a rank moves when it begins a statement, or begins or ends a wait") {
  RankActivity activity;
  std::int64_t last = activity.snapshot().statements;
  const auto moved = [&] { return std::exchange(last, activity.snapshot().statements) != last; };
  CHECK_FALSE(moved());
  activity.begin_statement(1);
  CHECK(moved());
  activity.begin_statement(1);
  CHECK(moved());
  {
    const Waiting waiting(activity, wait_for_reply(1));
    CHECK(moved());
    CHECK_FALSE(moved());
  }
  CHECK(moved());
}

TEST_CASE("a wait is read whole while it changes") {
  RankActivity activity;
  std::atomic<bool> stop{false};
  std::thread rank([&] {
    for (int i = 0; !stop; ++i) {
      BlockIndex block;
      block.rank = i % 1000;
      for (auto& s : block.segment) s = i % 1000;
      const Waiting waiting(activity,
                            wait_for_block(WaitKind::block, static_cast<std::uint64_t>(i % 1000), block, i % 1000));
      for (int k = 0; k < 300; ++k) activity.begin_statement(i);  // so that the wait lasts
    }
  });
  int seen = 0;
  for (int i = 0; i < 200000; ++i) {
    const WaitReason w = activity.snapshot().wait;
    if (w.kind != WaitKind::block) continue;
    ++seen;
    REQUIRE(w.array == static_cast<std::uint64_t>(w.peer));
    REQUIRE(w.block.rank == w.peer);
    for (const auto s : w.block.segment) REQUIRE(s == w.peer);
  }
  stop = true;
  rank.join();
  CHECK(seen > 0);
}
