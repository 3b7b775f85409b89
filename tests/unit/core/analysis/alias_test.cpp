// Which references may be the same block: every illegal neighbour that passes ask about.
#include "compiler/analysis/alias.h"
#include "compile.h"

using namespace sial;
using namespace sial::analysis;

namespace {

const std::string alias_declarations =
    "predefined int norb\naoindex i = 1:norb\naoindex j = 1:norb\naoindex low = 1:2\naoindex high = 3:norb\naoindex top = 3:4\nsubindex ii of i\n"
    "subindex jj of j\nindex k = 1:9\nindex q = 1:9\nscalar x\nint n\nlocal a[i,j]\nlocal b[i,j]\nlocal sub[ii,j]\nstatic v[k]\nstatic w[i,j]\n"
    "contiguous local c[i,j]\nspecial f ru\nspecial g rr\n";

/// The relation of the two array operands of the first `f` or `g` in the program.
Alias of(const std::string& before, const std::string& first, const std::string& second, const std::string& after,
         bool distinct = false) {
  const ir::Program p = test::lower(alias_declarations, before + "\nexecute f " + first + " " + second + "\n" + after);
  Alias result = Alias::may;
  bool found = false;
  visit(p, [&](const ir::Node& n, const Path& path) {
    const auto* i = std::get_if<ir::Instr>(&n.value);
    if (i == nullptr || i->op != Opcode::execute) return;
    found = true;
    const std::vector<ArrayUse> uses = array_uses(p, *i);
    REQUIRE(uses.size() == 2);
    const Distinct pairs = distinct_indices(path, &n);
    AliasContext context;
    context.same_registers = true;
    if (distinct) context.distinct = &pairs;
    result = alias(p, uses[0], uses[1], context);
  });
  REQUIRE(found);
  return result;
}

Alias in_loops(const std::string& first, const std::string& second) {
  return of("do i\ndo j", first, second, "enddo j\nenddo i");
}

}  // namespace

TEST_CASE("blocks of one array: equal names are the same block, exchanged ones may be") {
  CHECK(in_loops("a[i,j]", "b[i,j]") == Alias::never);
  CHECK(in_loops("a[i,j]", "a[i,j]") == Alias::must);
  CHECK(in_loops("a[i,j]", "a[j,i]") == Alias::may);  // i may equal j
  CHECK(in_loops("a[i,i]", "a[i,j]") == Alias::may);
}

TEST_CASE("ranges that cannot overlap give different blocks; symbolic ones may overlap") {
  CHECK(of("do low\ndo top", "a[low,low]", "a[top,top]", "enddo top\nenddo low") == Alias::never);
  CHECK(of("do low\ndo top", "a[low,top]", "a[low,low]", "enddo top\nenddo low") == Alias::never);
  CHECK(of("do low\ndo high", "a[low,low]", "a[high,low]", "enddo high\nenddo low") == Alias::never);  // 1:2 and 3:norb
  CHECK(of("do i\ndo high", "a[i,i]", "a[high,i]", "enddo high\nenddo i") == Alias::may);
}

TEST_CASE("subindex boxes lie in the block of their parent") {
  const auto boxes = [](const std::string& first, const std::string& second) {
    return of("do i\ndo j\ndo ii in i\ndo jj in j", first, second, "enddo jj in j\nenddo ii in i\nenddo j\nenddo i");
  };
  CHECK(boxes("sub[ii,j]", "sub[ii,j]") == Alias::must);
  CHECK(boxes("sub[ii,j]", "sub[jj,j]") == Alias::may);
  CHECK(boxes("sub[ii,j]", "sub[ii,i]") == Alias::may);
  // Boxes of a larger block stand in slices and inserts only.
  const ir::Program p =
      test::lower(alias_declarations,
                  "do i\ndo j\ndo ii in i\nsub[ii,j] = a[ii,j]\na[i,j] += b[i,j]\nenddo ii in i\nenddo j\nenddo i");
  std::vector<ArrayUse> a;
  std::vector<ir::Instr> kept;
  for_each_instr(p.main, [&](const ir::Instr& i, const ir::Node&) { kept.push_back(i); });
  for (const ir::Instr& i : kept)
    for (const ArrayUse& u : array_uses(p, i))
      if (array_name(p, u.array) == "a") a.push_back(u);
  REQUIRE(a.size() == 2);
  CHECK(is_part(p, *a[0].block));
  CHECK(alias(p, a[0], a[1]) == Alias::may);
  CHECK(same_block(p, *a[0].block, *a[1].block) == Alias::must);
}

TEST_CASE("segment numbers used as simple values") {
  const auto simple = [](const std::string& first, const std::string& second) {
    return of("do i\ndo j\ndo k\ndo q", first, second, "enddo q\nenddo k\nenddo j\nenddo i");
  };
  CHECK(simple("v[(index)i]", "v[(index)i]") == Alias::must);
  CHECK(simple("v[(index)i]", "v[(index)j]") == Alias::may);
  CHECK(simple("v[(index)i]", "v[k]") == Alias::may);
  CHECK(simple("v[k]", "v[q]") == Alias::may);
}

TEST_CASE("whole arrays and regions overlap what lies in them") {
  CHECK(in_loops("w", "w[i,j]") == Alias::may);
  CHECK(of("", "w", "w", "") == Alias::must);
  CHECK(of("", "w", "v", "") == Alias::never);
  CHECK(of("", "c[1:2,1:2]", "c[2:3,2:3]", "") == Alias::may);
  CHECK(of("", "c[n:n,n:n]", "c[n:n,n:n]", "") == Alias::must);
  CHECK(of("", "c[n:n,n:n]", "c", "") == Alias::may);
}

TEST_CASE("where clauses and ifs keep indices apart") {
  const auto with = [](const std::string& before, const std::string& after) {
    return of(before, "a[i,j]", "a[j,i]", after, true);
  };
  CHECK(with("do i\ndo j\nwhere i < j", "enddo j\nenddo i") == Alias::never);
  CHECK(with("do i\ndo j\nwhere i != j", "enddo j\nenddo i") == Alias::never);
  CHECK(with("do i\ndo j\nwhere i <= j", "enddo j\nenddo i") == Alias::may);
  CHECK(with("do i\ndo j\nwhere i == j", "enddo j\nenddo i") == Alias::may);
  CHECK(with("do i\ndo j\nwhere i + 1 < j", "enddo j\nenddo i") == Alias::may);  // not looked into
  CHECK(with("do i\ndo j\nif i > j", "endif\nenddo j\nenddo i") == Alias::never);
  CHECK(with("do i\ndo j\nif i == j\nx = 1.0\nelse", "endif\nenddo j\nenddo i") == Alias::never);
  CHECK(with("do i\ndo j\nif i != j\nx = 1.0\nelse", "endif\nenddo j\nenddo i") == Alias::may);
  CHECK(with("pardo i, j\nwhere j > i", "endpardo i, j") == Alias::never);
}

TEST_CASE("indices that moved on may be anything again") {
  const ir::Program p = test::lower(alias_declarations, "do i\ndo j\na[i,j] = 1.0\nenddo j\nenddo i");
  const ir::Block block{ArrayId(0), Intent::read, {{IndexId(0), false}, {IndexId(1), false}}};
  const std::vector<IndexId> changed{IndexId(1)};
  AliasContext context;
  CHECK(alias(p, block, block, context) == Alias::must);
  context.changed = &changed;
  CHECK(alias(p, block, block, context) == Alias::may);
  const ir::Block other{ArrayId(0), Intent::read, {{IndexId(2), false}, {IndexId(1), false}}},
      high{ArrayId(0), Intent::read, {{IndexId(4), false}, {IndexId(1), false}}};  // low, top
  CHECK(alias(p, other, high, context) == Alias::never);                           // whatever their values
}
