// The evaluator of access slices, on slices that the compiler makes.
#include "sliced.h"

#include <chrono>

using namespace sial;
using test::sliced;
using test::State;

namespace {

const std::string names =
    "predefined int n\naoindex i = 1:n\naoindex j = 1:n\naoindex k = 1:n\nindex u = 1:n\nindex v = 0:2\nscalar x\nint pp\nint q\nstatic tab[u]\n"
    "distributed a[i,j]\ndistributed b[i,j]\ndistributed va[i]\n";

/// "a[1,2] +b[2,1] |": `+` put to what the block holds, `=` whatever it holds; `|` iteration or loop done, `?` given
/// up,
/// `.` ended.
std::string text(const Module& m, SliceOutcome outcome, const FetchRequest& r) {
  switch (outcome) {
    case SliceOutcome::fetch: {
      std::string out = r.use == ForeseenUse::get ? "" : r.use == ForeseenUse::replace ? "=" : "+";
      out += m.arrays[r.array.at()].name + "[";
      for (int d = 0; d < r.block.rank; ++d)
        out += (d ? "," : "") + std::to_string(r.block.segment[static_cast<std::size_t>(d)]);
      return out + "]";
    }
    case SliceOutcome::done: return "|";
    case SliceOutcome::abandoned: return "?";
    case SliceOutcome::paused: return "~";
    case SliceOutcome::ended: break;
  }
  return ".";
}

std::string drain(SliceCursor& cursor, std::int64_t step_budget = 1000) {
  std::string out;
  for (int calls = 0; calls < 10000; ++calls) {
    FetchRequest r;
    std::int64_t budget = step_budget;
    const SliceOutcome outcome = cursor.next(r, budget);
    CHECK(budget >= 0);
    if (outcome == SliceOutcome::paused) continue;
    out += (out.empty() ? "" : " ") + text(cursor.slice()->module(), outcome, r);
    const bool serial_goes_on = outcome == SliceOutcome::abandoned && !cursor.slice()->parallel();
    if (outcome != SliceOutcome::fetch && !serial_goes_on) return out;
  }
  return out + " without end";
}

struct Run {
  explicit Run(const Module& module, std::int32_t n = 3, const StaticElements& statics = {},
               SliceUses uses = SliceUses::gets)
      : m(module), state(m), slice(m, 0, test::ranges_of(m, n), statics, uses), cursor(slice) {
    state.ints[0] = n;
  }
  Run(const Run&) = delete;
  void load() { cursor.load(state.ints, state.scalars, state.indices); }
  std::string serial(std::int64_t budget = 1000) {
    load();
    cursor.begin();
    return drain(cursor, budget);
  }
  std::string enter(std::vector<std::int32_t> tuple) { return cursor.enter(tuple) ? drain(cursor) : "-"; }

  Module m;
  State state;
  BoundSlice slice;
  SliceCursor cursor;
};

}  // namespace

TEST_CASE("a serial nest is followed from beginning to end") {
  Run r(sliced(names, "do i\ndo j\nwhere j > i\nget a[i,j]\nx += a[i,j]*a[i,j]\nenddo j\nget b[i,i]\nenddo i"));
  CHECK(r.serial() == "a[1,2] a[1,3] b[1,1] a[2,3] b[2,2] b[3,3] |");
  CHECK(drain(r.cursor) == ".");
  r.load();
  r.cursor.begin_at(2);
  CHECK(drain(r.cursor) == "a[2,3] b[2,2] b[3,3] |");
  r.cursor.begin_at(4);
  CHECK(drain(r.cursor) == ".");
}

TEST_CASE("puts are told of where they are wanted") {
  const Module m = sliced(
      names,
      "do i\ndo j\nwhere j > 1\nget a[i,j]\nx = x + 1.0\nput b[i,j] += a[i,j]\nenddo j\nput va[i] = x\nput b[i,i] *= x\nenddo i");
  CHECK(Run(m, 2).serial() == "a[1,2] a[2,2] |");
  CHECK(Run(m, 2, {}, SliceUses::gets_and_puts).serial() ==
        "a[1,2] +b[1,2] =va[1] +b[1,1] a[2,2] +b[2,2] =va[2] +b[2,2] |");
}

TEST_CASE("a loop that only puts has a slice, and tells of nothing where puts are not wanted") {
  const Module m = sliced(names, "pardo i, j\nwhere i < j\nput a[i,j] = 1.0\nendpardo i, j");
  Run puts(m, 3, {}, SliceUses::gets_and_puts), gets(m);
  CHECK(gets.slice.empty());
  CHECK_FALSE(puts.slice.empty());
  puts.load();
  CHECK(puts.enter({1, 2}) == "=a[1,2] |");
  CHECK(puts.enter({2, 1}) == "-");
}

TEST_CASE("puts under conditions on data, and of one iteration, are left to the program") {
  const std::string data = "x = 0.0\nget a[i,j]\nx = a[i,j]*a[i,j]\n";
  const Module m =
      sliced(names, "do i\ndo j\n" + data + "if x > 1.0\nput b[i,j] += 1.0\nendif\nput b[j,i] = 1.0\nenddo j\nenddo i");
  CHECK(Run(m, 2, {}, SliceUses::gets_and_puts).serial() ==
        "a[1,1] =b[1,1] a[1,2] =b[2,1] a[2,1] =b[1,2] a[2,2] =b[2,2] |");
  CHECK(Run(m, 1, {}, SliceUses::gets_and_puts).slice.empty());
  const Module only =
      sliced(names + "special f w\n",
             "do i\ndo j\nx = 0.0\nexecute f x\nif x > 1.0\nput b[i,j] += 1.0\nendif\nenddo j\nenddo i");
  CHECK(only.slices.empty());
}

TEST_CASE("a small budget pauses and changes nothing; a copy goes its own way") {
  Run r(sliced(
      names,
      "do i\npp = 0\ndo j\npp += j\nenddo j\ndo k\nif pp > k\nget a[i,k]\nx += a[i,k]*a[i,k]\nendif\npp -= 2\nenddo k\nenddo i"));
  const std::string all = r.serial();
  CHECK(all == "a[1,1] a[1,2] a[2,1] a[2,2] a[3,1] a[3,2] |");
  for (std::int64_t budget = 1; budget < 12; ++budget) CHECK(r.serial(budget) == all);
  r.load();
  r.cursor.begin();
  FetchRequest request;
  std::int64_t budget = 1000;
  REQUIRE(r.cursor.next(request, budget) == SliceOutcome::fetch);
  CHECK(request.block.segment[0] == 1);
  CHECK(request.block.rank == 2);
  CHECK(r.m.code[static_cast<std::size_t>(request.pc)].op == Opcode::get);
  SliceCursor copy = r.cursor;
  CHECK(drain(copy) == "a[1,2] a[2,1] a[2,2] a[3,1] a[3,2] |");
  CHECK(drain(r.cursor) == "a[1,2] a[2,1] a[2,2] a[3,1] a[3,2] |");
}

TEST_CASE("a long loop without gets uses no more than its budget") {
  Run r(sliced(names + "index w = 1:1000000\n",
               "do i\npp = 0\ndo w\nif pp < 1000000\npp += 1\nendif\nenddo w\nif pp > 5\nget a[i,i]\nendif\nenddo i"));
  r.load();
  r.cursor.begin();
  FetchRequest request;
  std::int64_t budget = 500;
  CHECK(r.cursor.next(request, budget) == SliceOutcome::paused);
  CHECK(budget == 0);
}

TEST_CASE("iterations of a pardo") {
  Run r(sliced(
      names,
      "pardo i, j\nwhere i < j\npp = i + j\nif pp < 5\nget a[j,i]\nx += a[j,i]*a[j,i]\nendif\nget b[i,j]\nx += b[i,j]*b[i,j]\nendpardo i, j"));
  CHECK(r.slice.parallel());
  CHECK_FALSE(r.slice.carries());
  r.load();
  CHECK(r.enter({1, 2}) == "a[2,1] b[1,2] |");
  CHECK(r.enter({2, 1}) == "-");
  CHECK(r.enter({2, 3}) == "b[2,3] |");
  CHECK_FALSE(r.cursor.ended());
  // An iteration may be dropped half way.
  REQUIRE(r.cursor.enter(std::vector<std::int32_t>{1, 3}));
  FetchRequest request;
  std::int64_t budget = 100;
  CHECK(r.cursor.next(request, budget) == SliceOutcome::fetch);
  CHECK(r.enter({1, 3}) == "a[3,1] b[1,3] |");
}

TEST_CASE("what iterations hand on is carried along") {
  Run r(sliced(names, "pardo i, j\nq += 1\nif q == 2\nget a[i,j]\nx += a[i,j]*a[i,j]\nendif\nendpardo i, j"));
  CHECK(r.slice.carries());
  r.load();
  CHECK(r.enter({1, 1}) == "|");
  CHECK(r.enter({2, 1}) == "a[2,1] |");
  CHECK(r.enter({3, 1}) == "|");
  r.load();
  CHECK(r.enter({3, 3}) == "|");
  CHECK(r.enter({1, 1}) == "a[1,1] |");
}

TEST_CASE("exits, returns, calls and subindex loops") {
  Run r(sliced(
      names +
          "subindex ii of i\ndistributed s[ii,j]\nproc some\ndo k\nif k == 3\nreturn\nendif\nif k > pp\nexit\nendif\nget a[i,k]\nx += a[i,k]*a[i,k]\nenddo k\n"
          "get b[i,i]\nendproc some\n",
      "do i\npp = i\ncall some\ndo j\nwhere j == 2\ndo ii in i\nif i == 2\nget s[ii,j]\nx += s[ii,j]*s[ii,j]\nendif\nenddo ii in i\nenddo j\nenddo i"));
  CHECK(r.serial() == "a[1,1] b[1,1] a[2,1] a[2,2] s[8,2] s[9,2] s[10,2] s[11,2] a[3,1] a[3,2] |");
}

TEST_CASE("elements of statics come from where the binder says; without them the slice ends") {
  const Module m = sliced(names, "do i\nif tab[(index)i] > 1.0\nget a[i,i]\nendif\nenddo i");
  const std::vector<double> table{2.0, 0.0, 3.0};
  Run r(m, 3, [&](ArrayId array) { return m.arrays[array.at()].name == "tab" ? table.data() : nullptr; });
  CHECK(r.serial() == "a[1,1] a[3,3] |");
  Run without(m);
  CHECK(without.serial() == ".");
}

TEST_CASE("errors of the program end the slice without a word") {
  Run division(sliced(names, "do i\npp = 6 / (2 - i)\nif pp != 7\nget a[i,i]\nendif\nenddo i"));
  CHECK(division.serial() == "a[1,1] .");
  Run overflow(sliced(names, "pp = 2000000000\ndo i\nq = pp + i * 100000000\nif q > 0\nget a[i,i]\nendif\nenddo i"));
  overflow.state.ints[1] = 2000000000;
  CHECK(overflow.serial() == "a[1,1] .");
  Run range(sliced(names + "aoindex wide = 1:4\n", "do wide\nget a[wide,wide]\nenddo wide"));
  CHECK(range.serial() == "a[1,1] a[2,2] a[3,3] .");
}

TEST_CASE("iterations that data decide are given up, one by one") {
  Run r(sliced(names, "do i\ndo j\nget a[i,j]\nif a[i,j]*a[i,j] > 1.0\nexit\nendif\nenddo j\nenddo i"));
  CHECK(r.serial() == "a[1,1] ? a[2,1] ? a[3,1] ? |");
  Run own(sliced(names, "do i\nget va[i]\nif va[i]*va[i] > 1.0\nexit\nendif\nenddo i"));
  CHECK(own.serial() == "va[1] .");
}

TEST_CASE("nothing is asked for where the job has one iteration only") {
  const Module m = sliced(names, "do i\nget a[i,i]\ndo v\nget b[i,i]\nenddo v\nenddo i");
  Run one(m, 1);
  CHECK(one.serial() == "b[1,1] b[1,1] b[1,1] |");
  REQUIRE(one.slice.fetches().size() == 2);
  CHECK(one.slice.fetches()[0].range == 1);
  CHECK(one.slice.fetches()[1].range == 3);
  Run none(sliced(names, "do i\nget a[i,i]\nenddo i"), 1);
  CHECK(none.slice.empty());
  CHECK(none.serial() == ".");
}

TEST_CASE("index values of loops around the slice's own, and registers, are those at the entry") {
  Run r(sliced(names, "do k\nsip_barrier\ndo i\nif i <= pp\nget a[i,k]\nx += a[i,k]*a[i,k]\nendif\nenddo i\nenddo k"));
  for (std::size_t k = 0; k < r.m.indices.size(); ++k)
    if (r.m.indices[k].name == "k") r.state.indices[k] = 2;
  for (std::size_t p = 0; p < r.m.ints.size(); ++p)
    if (r.m.ints[p].name == "pp") r.state.ints[p] = 2;
  CHECK(r.serial() == "a[1,2] a[2,2] |");
}

// Not run by default: `unit_plan "[steps]" -s` prints what a step costs.
TEST_CASE("nanoseconds per step", "[.][steps]") {
  Run r(
      sliced(
          names,
          "do i\ndo j\ndo k\nwhere k != j\npp = i + j * k\nif pp - pp / 3 * 3 == 0\nget a[i,k]\nx += a[i,k]*a[i,k]\nendif\nenddo k\nenddo j\nenddo i"),
      60);
  std::int64_t steps = 0, gets = 0;
  const auto start = std::chrono::steady_clock::now();
  r.load();
  r.cursor.begin();
  for (SliceOutcome outcome = SliceOutcome::fetch; outcome == SliceOutcome::fetch || outcome == SliceOutcome::paused;) {
    FetchRequest request;
    std::int64_t budget = 1000;
    outcome = r.cursor.next(request, budget);
    steps += 1000 - budget;
    gets += outcome == SliceOutcome::fetch;
  }
  const double ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
  CHECK(gets > 0);
  WARN(steps << " steps, " << gets << " gets, " << ns / static_cast<double>(steps) << " ns per step, "
             << ns / static_cast<double>(gets) << " ns per get");
}
