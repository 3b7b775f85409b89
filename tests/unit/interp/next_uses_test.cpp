// When and how blocks are used next, as the store is told.
#include <catch2/catch.hpp>

#include <map>
#include <string>

#include <fmt/format.h>

#include "runtime/interp/prefetch/next_uses.h"

using namespace sial;

namespace {

/// Keeps what it is told last of each block.
class Told final : public BlockLookAhead {
 public:
  Prefetch prefetch(ArrayId, const BlockIndex&, std::int64_t, Place) override { return Prefetch::here; }
  Foreseen foreseen(ArrayId, const BlockIndex&, std::int64_t, bool) override { return {}; }
  void set_live_set_known(bool) override {}
  double fetch_seconds(std::int64_t) const override { return 0; }
  void set_incoming(IncomingPlaces*) noexcept override {}
  void set_next_use(ArrayId, const BlockIndex& block, std::uint64_t uses_away, ForeseenUse use) override {
    static constexpr const char* words[] = {"get", "accumulate", "replace"};
    told[block.segment[0]] = uses_away == 0 ? "none" : fmt::format("{} {}", words[static_cast<int>(use)], uses_away);
  }
  std::map<std::int32_t, std::string> told;
};

BlockIndex at_segment(std::int32_t i) { return {1, {i}}; }

}  // namespace

TEST_CASE("the store is told the first use of each block that is still to come") {
  Told store;
  NextUses uses(store);
  const ArrayId a(0);
  uses.foresee(a, at_segment(1), ForeseenUse::replace);
  uses.foresee(a, at_segment(2), ForeseenUse::accumulate);
  uses.foresee(a, at_segment(1), ForeseenUse::get);
  CHECK(store.told == std::map<std::int32_t, std::string>{{1, "replace 1"}, {2, "accumulate 2"}});
  CHECK(uses.first(a, at_segment(1)) == ForeseenUse::replace);
  CHECK_FALSE(uses.first(a, at_segment(3)));
  uses.pass(a, at_segment(1));
  CHECK(store.told == std::map<std::int32_t, std::string>{{1, "get 2"}, {2, "accumulate 2"}});
  uses.pass(a, at_segment(2));
  CHECK(store.told[2] == "none");
  uses.foresee(a, at_segment(2), ForeseenUse::get);
  CHECK(store.told[2] == "get 2");
}

TEST_CASE("what is void is taken back") {
  Told store;
  NextUses uses(store);
  uses.foresee(ArrayId(0), at_segment(1), ForeseenUse::replace);
  uses.clear();
  CHECK(store.told[1] == "none");
  CHECK_FALSE(uses.first(ArrayId(0), at_segment(1)));
}
