// Executions as expressions and as numbers of a job; sizes of operands; access functions.
#include "compile.h"
#include "compiler/analysis/access.h"
#include "compiler/analysis/print.h"
#include "compiler/analysis/ranges.h"
#include "compiler/analysis/work.h"
#include "runtime/core/base/error.h"

using namespace sial;
using namespace sial::analysis;
using Catch::Matchers::Contains;

namespace {

const std::string counts_declarations =
    "predefined int norb\naoindex i = 1:norb\naoindex j = 1:norb\naoindex k = 1:norb\naoindex part = 2:norb\nindex n = 1:10\nsubindex ii of i\n"
    "int m\nint c\nscalar x\nscalar rank\nstatic w[n]\nstatic s[i,j]\ntemp t[i,j]\ntemp q[i,i]\ntemp half[ii,j]\ndistributed d[i,j]\nspecial get_my_rank w\n";

Job job(std::int32_t norb = 4, std::vector<std::int32_t> ao = {1, 2, 3, 4}) {
  Job result;
  result.ints["norb"] = norb;
  result.segments[IndexKind::ao] = std::move(ao);
  return result;
}

struct Counted {
  ir::Program p;
  Ranges ranges;
  JobCounts counts;
  Executions at;  // of the one print statement
  double number = 0;
  Counted(const std::string& statements, const std::string& procs = "", const Job& j = job())
      : p(test::lower(counts_declarations + procs, statements)), ranges(p), counts(count_job(p, j)) {
    visit(p, [&](const ir::Node& n, const Path&) {
      const auto* i = std::get_if<ir::Instr>(&n.value);
      if (i == nullptr || i->op != Opcode::print_string) return;
      at = ranges.of(n.id);
      number = counts.nodes[static_cast<std::size_t>(n.id)].executions;
    });
  }
  std::string text() const { return (at.exact ? "" : "<= ") + sial::cost_text(at.most, p.indices); }
  double value() const {
    std::vector<IndexSize> sizes(p.indices.size(), {4, 2.5});
    for (std::size_t i = 0; i < p.indices.size(); ++i)
      if (p.indices[i].kind == IndexKind::simple) sizes[i] = {10, 1};
    return evaluate(at.most, sizes);
  }
};
const std::string counted = "print \"x\"\n";

}  // namespace

TEST_CASE("comparisons of free indices are counted exactly, in expressions and in numbers") {
  for (const auto& [where, expected] : std::vector<std::pair<std::string, double>>{
           {"i < j", 6}, {"i <= j", 10}, {"i == j", 4}, {"i != j", 12}, {"j > i", 6}, {"i >= j", 10}}) {
    CAPTURE(where);
    const Counted c("do i\ndo j\nwhere " + where + "\n" + counted + "enddo j\nenddo i");
    CHECK(c.at.exact);
    CHECK(c.value() == expected);
    CHECK(c.number == expected);
    CHECK(c.counts.exact);
    const Counted pardo("pardo i, j\nwhere " + where + "\n" + counted + "endpardo i, j");
    CHECK(pardo.value() == expected);
    CHECK(pardo.counts.pardo_iterations == expected);
    const Counted branch("do i\ndo j\nif " + where + "\n" + counted + "endif\nenddo j\nenddo i");
    CHECK(branch.value() == expected);
    CHECK(branch.number == expected);
    const Counted other("do i\ndo j\nif " + where + "\nx = 1.0\nelse\n" + counted + "endif\nenddo j\nenddo i");
    CHECK(other.value() == 16 - expected);
    CHECK(other.number == 16 - expected);
  }
}

TEST_CASE("numbers against literal ranges") {
  for (const auto& [where, expected] : std::vector<std::pair<std::string, double>>{{"n > 7", 3},
                                                                                   {"n == 4", 1},
                                                                                   {"n != 4", 9},
                                                                                   {"n <= 20", 10},
                                                                                   {"n < 1", 0},
                                                                                   {"3 < n", 7},
                                                                                   {"n == 11", 0},
                                                                                   {"n != 11", 10}}) {
    CAPTURE(where);
    const Counted c("do i\ndo n\nwhere " + where + "\n" + counted + "enddo n\nenddo i");
    CHECK(c.at.exact);
    CHECK(c.value() == 4 * expected);
    CHECK(c.number == 4 * expected);
  }
}

TEST_CASE("what is not free any more, or not of one range, is a bound; the job still counts exactly") {
  const Counted chain("do i\ndo j\nwhere i < j\ndo k\nwhere i < k\n" + counted + "enddo k\nenddo j\nenddo i");
  CHECK_FALSE(chain.at.exact);
  CHECK(chain.number == 14);  // 3*3 + 2*2 + 1
  CHECK(chain.counts.exact);
  CHECK(chain.value() >= chain.number);
  const Counted ranges("do i\ndo part\nwhere i < part\n" + counted + "enddo part\nenddo i");
  CHECK_FALSE(ranges.at.exact);
  CHECK(ranges.number == 6);
  const Counted symbolic("do i\nwhere i == 2\n" + counted + "enddo i");
  CHECK_FALSE(symbolic.at.exact);
  CHECK(symbolic.text() == "<= 1");
  CHECK(symbolic.number == 1);
}

TEST_CASE("data make bounds") {
  const Counted c("do i\ndo n\nwhere (int)w[n] == i\n" + counted + "enddo n\nenddo i");
  CHECK_FALSE(c.at.exact);
  CHECK(c.at.fraction == 0.5);
  CHECK(c.number == 40);
  CHECK_FALSE(c.counts.exact);
  const Counted e("do n\nx += w[n]\nif x > 1.0\nexit\nendif\n" + counted + "enddo n");
  CHECK_FALSE(e.at.exact);
  CHECK(e.number == 10);
  CHECK_FALSE(e.counts.exact);
  const Counted none("do n\nx += w[n]\n" + counted + "enddo n");
  CHECK(none.counts.exact);
}

TEST_CASE("ints and scalars that the text decides are followed") {
  CHECK(Counted("do n\nif n == 4\nexit\nendif\n" + counted + "enddo n").number == 3);
  CHECK(Counted("m = 0\ndo n\nm += n\nif m > 10\nexit\nendif\n" + counted + "enddo n").number == 4);
  CHECK(Counted("do i\nm = i * 2\nif m == 6\n" + counted + "endif\nenddo i").number == 1);
  CHECK(Counted("x = 1.0\ndo n\nx *= 2.0\nif x < 100.0\n" + counted + "endif\nenddo n").number == 6);
  CHECK(Counted("execute get_my_rank rank\nif (int)rank == 0\n" + counted + "endif").number == 1);
  const Counted stopped("do n\n" + counted + "if n == 2\nstop\nendif\nenddo n");
  CHECK(stopped.number == 2);
  CHECK_FALSE(stopped.counts.ended);
}

TEST_CASE("procedures run as often as they are called, returns included") {
  const std::string proc = "proc f\n" + counted + "endproc f\n";
  const Counted c("do i\ncall f\nenddo i\ndo n\nwhere n < 4\ncall f\nenddo n\ncall f", proc);
  CHECK(c.at.exact);
  CHECK(c.value() == 8);
  CHECK(c.number == 8);
  const Counted r("do n\ncall f\nenddo n", "proc f\nif n > 6\nreturn\nendif\n" + counted + "endproc f\n");
  CHECK(r.number == 6);
  CHECK(r.counts.exact);
}

TEST_CASE("long nests are multiplied when nothing inside looks at the index, and bounded when too long") {
  Job big = job(2000, std::vector<std::int32_t>(2000, 3));
  const Counted c("pardo i, j, k\nx = 1.0\n" + counted + "endpardo i, j, k", "", big);
  CHECK(c.counts.pardo_iterations == 8e9);
  CHECK(c.counts.exact);
  big.max_steps = 10'000;
  const Counted w("pardo i, j\nwhere i < j\n" + counted + "endpardo i, j", "", big);
  CHECK_FALSE(w.counts.exact);
  CHECK(w.number >= 2000.0 * 1999 / 2);
  CHECK(w.number <= 4e6);
}

TEST_CASE("operations and bytes: exact sums over unequal segments, expressions in mean extents") {
  // Segments 1 2 3 4: sum 10, sum of squares 30.
  const Counted c("do i\ndo j\ndo k\nt[i,j] = s[i,k] * s[k,j]\nenddo k\nenddo j\nenddo i");
  CHECK(c.counts.flops == 2 * 1000);
  CHECK(c.counts.bytes == 8 * 3 * 4 * 100);
  CHECK(Counted("do i\nq[i,i] = 1.0\nenddo i").counts.bytes == 8 * 30);
  CHECK(Counted("do i\ndo j\nwhere i < j\nt[i,j] = 1.0\nenddo j\nenddo i").counts.bytes == 8 * (1 * 9 + 2 * 7 + 3 * 4));
  CHECK(Counted("do i\ndo j\ndo ii in i\nhalf[ii,j] = 1.0\nenddo ii in i\nenddo j\nenddo i").counts.bytes == 8 * 100);
  CHECK(Counted("do i\ndo j\nx += t[i,j] * t[i,j]\nenddo j\nenddo i").counts.flops == 2 * 100);
  CHECK(Counted("do i\ndo j\nget d[i,j]\nput d[i,j] = 1.0\nenddo j\nenddo i").counts.moved == 8 * 200);
  for_each_instr(c.p.main, [&](const ir::Instr& i, const ir::Node&) {
    if (i.op != Opcode::block_contract) return;
    CHECK(sial::cost_text(work_of(c.p, i).flops, c.p.indices) == "2·|i|·|j|·|k|");
    CHECK(sial::cost_text(work_of(c.p, i).bytes, c.p.indices) == "8·|i|·|j| + 8·|i|·|k| + 8·|j|·|k|");
  });
}

TEST_CASE("a job that lacks values is refused") {
  CHECK_THROWS_AS(count_job(test::lower(counts_declarations, "do i\nx = 1.0\nenddo i"), Job{}), SialError);
  Job few = job(5);
  CHECK_THROWS_AS(count_job(test::lower(counts_declarations, "do i\ndo j\nt[i,j] = 1.0\nenddo j\nenddo i"), few),
                  SialError);
  CHECK_THROWS_AS(job_of({"norb"}, {}), SialError);
  CHECK_THROWS_AS(job_of({"norb=x"}, {}), SialError);
  CHECK_THROWS_AS(job_of({}, {"xy=1"}), SialError);
  CHECK_THROWS_AS(job_of({}, {"ao=1,,2"}), SialError);
  CHECK(job_of({"norb=4", "x=1.5"}, {"ao=1,2"}).segments.at(IndexKind::ao) == std::vector<std::int32_t>{1, 2});
}

TEST_CASE("access functions: what changes the block, and how far") {
  const ir::Program p = test::lower(
      counts_declarations,
      "do k\ndo i\ndo j\ndo n\nget d[i,j]\nenddo n\nget d[j,i]\nget d[i,i]\nget d[k,i]\nenddo j\nenddo i\nenddo k");
  const std::vector<Access> list = accesses(p);
  REQUIRE(list.size() == 4);
  const auto text = [&](const Cost& c) { return sial::cost_text(c, p.indices); };
  CHECK(list[0].changes_at == 2);
  CHECK(list[0].dimension == 1);
  CHECK(text(list[0].stride) == "#i");
  CHECK(text(list[0].repeats) == "#n");
  CHECK(list[0].invariant_in(list[0].loops[3]->id));
  CHECK_FALSE(list[0].invariant_in(list[0].loops[2]->id));
  CHECK(text(list[1].stride) == "1");
  CHECK(list[2].changes_at == 1);
  CHECK(text(list[2].stride) == "1 + #i");
  CHECK(text(list[2].repeats) == "#j");
  CHECK(text(list[2].distinct) == "#i");
  CHECK(list[3].changes_at == 1);
  CHECK(text(list[3].stride) == "#i");
}
