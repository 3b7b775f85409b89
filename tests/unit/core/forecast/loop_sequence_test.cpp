// Which loop comes after which.
#include "runtime/core/interp/prefetch/loop_sequence.h"

#include "sliced.h"

using namespace sial;

namespace {

const std::string names = "predefined int n\naoindex i = 1:n\nindex u = 1:9\nscalar x\ndistributed a[i]\n";
constexpr const char* loop = "pardo i\nget a[i]\nx += a[i]*a[i]\nendpardo i\n";

std::vector<bool> pardos(const Module& m) {
  std::vector<bool> counts;
  for (const LoopRow& l : m.loops) counts.push_back(l.kind == LoopKind::pardo);
  return counts;
}

struct Sequence {
  explicit Sequence(const std::string& statements, const std::string& procedures = "")
      : m(test::sliced(names + procedures, statements)), s(m, pardos(m)) {
    for (std::size_t l = 0; l < m.loops.size(); ++l)
      if (m.loops[l].kind == LoopKind::pardo) rows.push_back(static_cast<std::int32_t>(l));
    std::sort(rows.begin(), rows.end(), [this](std::int32_t a, std::int32_t b) {
      return m.loops[static_cast<std::size_t>(a)].begin < m.loops[static_cast<std::size_t>(b)].begin;
    });
  }
  /// By position in the code, counted from 0; -1: none.
  int after(int before, int l) {
    const std::int32_t found = s.after(row(before), row(l));
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (rows[i] == found) return static_cast<int>(i);
    return -1;
  }
  std::int32_t row(int l) const { return l < 0 ? LoopSequence::none : rows[static_cast<std::size_t>(l)]; }
  void begin(int l) { s.begin(row(l)); }

  Module m;
  LoopSequence s;
  std::vector<std::int32_t> rows;
};

}  // namespace

TEST_CASE("before a loop has run, what follows is what is written behind it") {
  Sequence s(std::string(loop) + "if n > 3\n" + loop + "else\n" + loop + "endif\n" + loop);
  CHECK(s.after(-1, 0) == 1);
  CHECK(s.after(0, 1) == 3);  // over the other branch
  CHECK(s.after(1, 3) == -1);
}

TEST_CASE("a loop around others goes round again") {
  Sequence s(std::string(loop) + "do u\n" + loop + "if x < 1.0\nexit\nendif\n" + loop + "enddo u\n" + loop);
  CHECK(s.after(-1, 0) == 1);
  CHECK(s.after(0, 1) == 2);
  CHECK(s.after(1, 2) == 1);
}

TEST_CASE("what came last time comes again") {
  Sequence s(std::string(loop) + "do u\n" + loop + loop + "enddo u\n" + loop);
  for (const int l : {0, 1, 2, 1, 2, 3}) s.begin(l);
  CHECK(s.after(1, 2) == 3);  // as seen last
  CHECK(s.after(0, 1) == 2);
  CHECK(s.s.last() == s.row(3));
  CHECK(s.s.before_last() == s.row(2));
}

TEST_CASE("of two loops before it, the last two decide") {
  Sequence s(std::string(loop) + loop + loop + loop);
  // 2 is followed by 3 behind 0, and by 1 behind 3.
  for (const int l : {0, 2, 3, 2, 1, 0, 2, 3}) s.begin(l);
  CHECK(s.after(0, 2) == 3);
  CHECK(s.after(3, 2) == 1);
  CHECK(s.after(1, 2) == 3);  // never seen together: what followed it last
}
