// When and how blocks are used next, as the store is told.
#include "runtime/core/interp/prefetch/use_forecast.h"

#include <map>
#include <set>

#include <fmt/format.h>

#include "sliced.h"

using namespace sial;

namespace {

/// Keeps what it is told last of each block, as a time of its own clock.
class Told final : public BlockLookAhead {
 public:
  Prefetch prefetch(ArrayId, const BlockIndex&, std::int64_t, Place) override { return Prefetch::here; }
  Foreseen foreseen(ArrayId, const BlockIndex&, std::int64_t, bool) override { return {}; }
  void set_live_set_known(bool) override {}
  double fetch_seconds(std::int64_t) const override { return 0; }
  void set_incoming(IncomingPlaces*) noexcept override {}
  std::size_t horizon() const override { return horizon_; }
  std::optional<std::uint64_t> set_next_use(ArrayId array, const BlockIndex& block, std::uint64_t away, ForeseenUse use,
                                            std::uint64_t word) override {
    const std::string name = fmt::format("{}{}", array.number(), block.segment[0]);
    if (absent.count(name)) return {};
    const auto found = told.find(name);
    CHECK(word == (found == told.end() ? 0 : found->second.first));
    if (away == 0) told.erase(name);
    else told[name] = {now + away, use};
    return away == 0 ? 0 : now + away;
  }
  void pass_foreseen(std::uint64_t uses) override { now += uses; }

  std::string text() const {
    static constexpr const char* words[] = {"get", "accumulate", "replace"};
    std::string all;
    for (const auto& [name, next] : told)
      all += fmt::format("{}{}: {} {}", all.empty() ? "" : ", ", name, words[static_cast<int>(next.second)],
                         static_cast<std::int64_t>(next.first - now));
    return all;
  }
  std::size_t horizon_ = 100;
  std::uint64_t now = 0;
  std::set<std::string> absent;
  std::map<std::string, std::pair<std::uint64_t, ForeseenUse>> told;
};

const std::string two_arrays = "aoindex i = 1:3\nindex u = 1:9\nscalar x\ndistributed a[i]\ndistributed b[i]\n";
constexpr const char *first = "pardo i\nget a[i]\nput b[i] = a[i]\nendpardo i\n",
                     *second = "pardo i\nget b[i]\nx += b[i]*b[i]\nendpardo i\n";

struct Forecast {
  explicit Forecast(const std::string& statements, std::size_t horizon = 100)
      : m(test::sliced(two_arrays, statements)), state(m), ranges(test::ranges_of(m)) {
    told.horizon_ = horizon;
    std::vector<bool> counts(m.loops.size(), false);
    for (std::size_t s = 0; s < m.slices.size(); ++s) {
      slices.emplace_back(m, static_cast<std::int32_t>(s), ranges, StaticElements{}, SliceUses::gets_and_puts);
      counts[static_cast<std::size_t>(m.slices[s].loop)] = true;
    }
    const auto slice = [this](std::int32_t loop) -> const BoundSlice* {
      for (const BoundSlice& s : slices)
        if (s.loop() == loop) return &s;
      return nullptr;
    };
    const auto load = [this](SliceCursor& c) { c.load(state.ints, state.scalars, state.indices); };
    const auto pardo = [](std::int32_t) {
      UpcomingPardo p;
      p.space.add(1, 3);
      return std::optional(p);
    };
    uses.emplace(UseForecast::Program{slice, load, pardo}, LoopSequence(m, counts), told);
    for (const SliceRow& s : m.slices) loops.push_back(s.loop);
  }
  Forecast(const Forecast&) = delete;

  void begin(std::size_t n) { uses->begin(loops[n], {0, 3}); }
  void leave(std::size_t n) { uses->leave(loops[n]); }
  void use(std::size_t n, int array, std::int32_t segment) {
    CHECK(uses->is_running(loops[n]));
    uses->used(ArrayId(array), {1, {segment}});
  }
  /// What the store is told of a block; nothing: no use is foreseen.
  std::optional<ForeseenUse> next(int array, std::int32_t segment) const {
    const auto found = told.told.find(fmt::format("{}{}", array, segment));
    return found == told.told.end() ? std::nullopt : std::optional(found->second.second);
  }

  Module m;
  test::State state;
  std::vector<IndexRange> ranges;
  std::deque<BoundSlice> slices;
  std::vector<std::int32_t> loops;
  Told told;
  std::optional<UseForecast> uses;
};

}  // namespace

TEST_CASE("the store is told the first use of each block, of the loops that follow, too") {
  Forecast f(std::string(first) + second);
  f.begin(0);
  CHECK(f.told.text() == "01: get 1, 02: get 3, 03: get 5, 11: replace 2, 12: replace 4, 13: replace 6");
  f.use(0, 0, 1);
  CHECK(f.told.text() == "02: get 2, 03: get 4, 11: replace 1, 12: replace 3, 13: replace 5");
  f.use(0, 1, 1);
  CHECK(f.told.text() == "02: get 1, 03: get 3, 11: get 5, 12: replace 2, 13: replace 4");
  CHECK(f.next(1, 1) == ForeseenUse::get);
  CHECK(f.next(1, 2) == ForeseenUse::replace);
  CHECK_FALSE(f.next(0, 1));
}

TEST_CASE("uses that were left out are passed over, and a loop's end passes all of its own") {
  Forecast f(std::string(first) + second);
  f.begin(0);
  f.use(0, 0, 3);
  CHECK(f.told.text() == "11: get 2, 12: get 3, 13: replace 1");
  f.leave(0);
  CHECK(f.told.text() == "11: get 1, 12: get 2, 13: get 3");
  f.begin(1);
  CHECK(f.told.text() == "11: get 1, 12: get 2, 13: get 3");
  f.leave(1);
  CHECK(f.told.text() == "");
}

TEST_CASE("a loop that comes round again is foreseen as far as the store wants to know") {
  Forecast f(std::string("do u\n") + first + second + "enddo u\n", 12);
  f.begin(0);
  f.leave(0);
  f.begin(1);
  // Three uses of the second loop, and up to twelve in all.
  CHECK(f.told.text() == "01: get 4, 02: get 6, 03: get 8, 11: get 1, 12: get 2, 13: get 3");
  f.use(1, 1, 1);
  CHECK(f.told.told.at("11").second == ForeseenUse::replace);
  CHECK(f.told.told.at("11").first - f.told.now == 4);
}

TEST_CASE("what another loop makes void is taken back") {
  Forecast f(std::string(first) + "if x > 1.0\n" + second + "endif\n" + first);
  f.begin(0);
  CHECK(f.told.told.count("11") == 1);
  f.leave(0);
  CHECK(f.next(1, 1) == ForeseenUse::get);  // of the second loop, which does not run
  f.begin(2);
  CHECK(f.told.text() == "01: get 1, 02: get 3, 03: get 5, 11: replace 2, 12: replace 4, 13: replace 6");
  f.uses->end();
  CHECK(f.told.text() == "");
}

TEST_CASE("nothing is foreseen while nobody wants to know, and from the middle of a loop on when somebody does") {
  Forecast f(std::string(first) + second, 0);
  f.begin(0);
  CHECK_FALSE(f.uses->is_running(f.loops[0]));
  CHECK_FALSE(f.uses->is_wanted());
  CHECK(f.told.text() == "");
  f.told.horizon_ = 100;
  CHECK(f.uses->is_wanted());
  f.uses->begin_at(f.loops[0], {1, 3});
  CHECK(f.uses->is_running(f.loops[0]));
  CHECK(f.next(0, 3) == ForeseenUse::get);
  CHECK_FALSE(f.next(0, 1));
  CHECK(f.next(1, 3) == ForeseenUse::replace);
}

TEST_CASE("a block that the store does not have yet is told when the next loop begins") {
  Forecast f(std::string(first) + second);
  f.told.absent = {"11", "12", "13"};
  f.begin(0);
  CHECK(f.told.text() == "01: get 1, 02: get 3, 03: get 5");
  f.told.absent.clear();  // others have put it
  f.leave(0);
  f.begin(1);
  CHECK(f.told.text() == "11: get 1, 12: get 2, 13: get 3");
}
