// Last uses and definite initialisation of blocks, and the names under which they go on in other iterations and
// procedures.
#include "compiler/analysis/lifetime.h"
#include "compile.h"

using namespace sial;
using namespace sial::analysis;

namespace {

const std::string lifetime_declarations =
    "predefined int norb\naoindex i = 1:norb\naoindex j = 1:norb\naoindex l = 1:norb\nsubindex ii of i\nint n\nscalar x\ntemp t[i,j]\ntemp u[i,j]\n"
    "temp small[ii,j]\nlocal a[i,j]\nstatic s[i,j]\nstatic kept[i,j]\ndistributed d[i,j]\nspecial f r\nspecial return_ovl w\n";

/// For each use of `array`, in program order with what is read first: the line, then `dead` and `init` where they hold.
std::vector<std::string> facts(const std::string& array, const std::string& procs, const std::string& statements) {
  const ir::Program p = test::lower(lifetime_declarations + procs, statements);
  const Lifetimes lifetimes(p);
  std::vector<std::string> list;
  visit(p, [&](const ir::Node& n, const Path&) {
    const auto* i = std::get_if<ir::Instr>(&n.value);
    if (i == nullptr) return;
    for (const ArrayUse& u : array_uses(p, *i)) {
      if (u.side != Side::own || u.block == nullptr || array_name(p, u.array) != array) continue;
      std::string text = std::string(intent_text(u.intent));
      if (lifetimes.dead_after(n.id, u.operand)) text += " dead";
      if (lifetimes.initialised(n.id, u.operand)) text += " init";
      list.push_back(text);
    }
  });
  return list;
}
using List = std::vector<std::string>;
std::string in(const std::string& body, const std::string& loops = "ij") {
  std::string text = body;
  for (auto c = loops.rbegin(); c != loops.rend(); ++c) text = std::string("do ") + *c + "\n" + text + "\nenddo " + *c;
  return text;
}

}  // namespace

TEST_CASE("a temp of one iteration dies at its last use") {
  CHECK(facts("t", "", in("t[i,j] = 1.0\nu[i,j] = t[i,j]\nput d[i,j] = t[i,j]")) ==
        List{"write", "read init", "read dead init"});
  CHECK(facts("u", "", in("t[i,j] = 1.0\nu[i,j] = t[i,j]\nput d[i,j] = t[i,j]")) == List{"write dead"});
  CHECK(facts("t", "", in("t[i,j] = 1.0\nt[i,j] = 2.0\nput d[i,j] = t[i,j]")) ==
        List{"write dead", "write init", "read dead init"});
}

TEST_CASE("an accumulator lives through the inner loop") {
  const std::string body = "t[i,j] = 0.0\n" + in("u[i,j] = 1.0\nt[i,j] += u[i,j]", "l") + "\nput d[i,j] = t[i,j]";
  CHECK(facts("t", "", in(body)) == List{"write", "update init", "read dead init"});
  CHECK(facts("u", "", in(body)) == List{"write", "read dead init"});
}

TEST_CASE("branches: dead only when on all paths, initialised only when on all") {
  const std::string branch = "t[i,j] = 1.0\nif n == 1\nput d[i,j] = t[i,j]\nelse\nx = 1.0\nendif\n";
  CHECK(facts("t", "", in(branch)) == List{"write", "read dead init"});
  CHECK(facts("t", "", in(branch + "put d[i,j] += t[i,j]")) == List{"write", "read init", "read dead init"});
  CHECK(facts("t", "", in("if n == 1\nt[i,j] = 1.0\nendif\nif n == 1\nput d[i,j] = t[i,j]\nendif")) ==
        List{"write", "read dead"});
  CHECK(facts("t", "", in("if n == 1\nt[i,j] = 1.0\nelse\nt[i,j] = 2.0\nendif\nput d[i,j] = t[i,j]")) ==
        List{"write", "write", "read dead init"});
  CHECK(facts("t", "", in("if n == 1\nt[i,j] = 1.0\nelse\nstop\nendif\nput d[i,j] = t[i,j]")) ==
        List{"write", "read dead init"});
}

TEST_CASE("another name may be the same block") {
  // When i equals j the transposed name reads what was written, else what another iteration wrote; no other reads it.
  CHECK(facts("a", "", in("a[i,j] = 1.0\nu[i,j] = a[j,i]")) == List{"write", "read dead"});
  CHECK(facts("a", "", in("a[i,j] = 1.0\nu[i,j] = a[j,i]\nu[i,j] += a[i,j]")) == List{"write", "read", "read init"});
  CHECK(facts("t", "", in("t[i,j] = 1.0\nput d[i,j] = t[i,j]\nif i == j\nput d[j,i] = t[j,i]\nendif")) ==
        List{"write", "read init", "read dead"});
  // Writing the transposed name does not end the life of the first.
  CHECK(facts("t", "", in("t[i,j] = 1.0\nt[j,i] = 2.0\nput d[i,j] = t[i,j]")) ==
        List{"write", "write", "read dead init"});
}

TEST_CASE("locals live from loop to loop, by whatever name") {
  CHECK(facts("a", "", in("a[i,j] = 1.0") + "\n" + in("put d[i,j] = a[i,j]")) == List{"write", "read dead"});
  CHECK(facts("a", "", in("a[i,j] = 1.0") + "\n" + in("put d[l,i] = a[l,i]", "li")) == List{"write", "read dead"});
  CHECK(facts("a", "", in("put d[i,j] = a[i,j]\na[i,j] = 1.0")) == List{"read dead", "write dead init"});
  CHECK(facts("a", "", "do l\n" + in("put d[i,j] = a[i,j]\na[i,j] = 1.0") + "\nenddo l") ==
        List{"read dead", "write init"});
  CHECK(facts("a", "", in("a[i,j] = 1.0\ndeallocate a[i,j]")) == List{"write", "write dead init"});
}

TEST_CASE("an iteration's own block is not that of the next one") {
  // a[i,j] of later iterations is another block: nothing of this one is needed.
  CHECK(facts("a", "", in("if n == 1\nput d[i,j] = a[i,j]\nendif\na[i,j] = 1.0")) == List{"read dead", "write dead"});
  // a[l,j] with an inner loop over l may be it.
  CHECK(facts("a", "", in(in("put d[l,j] = a[l,j]", "l") + "\na[i,j] = 1.0")) == List{"read", "write"});
}

TEST_CASE("exits leave with what lives behind the loop") {
  CHECK(facts("a", "",
              "do l\n" + in("a[i,j] = 1.0\nif n == 1\nexit\nendif\na[i,j] = 2.0") + "\nenddo l\n" +
                  in("put d[i,j] = a[i,j]")) == List{"write", "write init", "read dead"});
  CHECK(facts("t", "", in("t[i,j] = 1.0\nif n == 1\nexit\nendif\nput d[i,j] = t[i,j]")) ==
        List{"write", "read dead init"});
}

TEST_CASE("calls use what the procedure reads, and hand back what it makes") {
  const std::string proc = "proc q\nput d[i,j] = t[i,j]\nu[i,j] = 1.0\nendproc q\n";
  CHECK(facts("t", proc, in("t[i,j] = 1.0\ncall q\nx = 1.0")) == List{"read dead init", "write"});
  CHECK(facts("u", proc, in("t[i,j] = 1.0\ncall q\nput d[i,j] += u[i,j]")) == List{"write", "read dead init"});
  CHECK(facts("u", proc, in("t[i,j] = 1.0\ncall q")) == List{"write dead"});  // read nowhere
  const std::string twice = in("t[i,j] = 1.0\ncall q") + "\n" + in("if n == 1\nt[i,j] = 2.0\nendif\ncall q");
  CHECK(facts("t", proc, twice) == List{"read", "write", "write"});  // not on every path to every call
  const std::string returns = "proc q\nif n == 1\nreturn\nendif\nu[i,j] = 1.0\nendproc q\n";
  CHECK(facts("u", returns, in("call q\nput d[i,j] = u[i,j]")) == List{"write", "read dead"});
}

TEST_CASE("barriers drop what was fetched; a get keeps it") {
  const std::string fetched = in("get d[i,j]\nu[i,j] = d[i,j]\nput d[i,j] = u[i,j]");
  CHECK(facts("d", "", fetched) == List{"update", "read dead init"});
  CHECK(facts("d", "", "do l\n" + fetched + "\nenddo l") ==
        List{"update", "read init"});  // fetched again in the same phase
  CHECK(facts("d", "", "do l\n" + fetched + "\nsip_barrier\nenddo l") == List{"update", "read dead init"});
  CHECK(facts("d", "", "do i\ndo j\nget d[i,j]\nsip_barrier\nu[i,j] = d[i,j]\nenddo j\nenddo i") ==
        List{"update dead", "read dead"});
}

TEST_CASE("statics live to the end when they are kept, and when instructions look them up by name") {
  CHECK(facts("s", "", in("s[i,j] = 1.0")) == List{"write dead init"});
  CHECK(facts("kept", "", in("kept[i,j] = 1.0") + "\nset_persistent kept \"k\"") == List{"write init"});
  CHECK(facts("s", "", in("s[i,j] = 1.0") + "\nexecute f x") == List{"write init"});  // not in the table
#ifdef SIALX_CHEMISTRY
  CHECK(facts("s", "", in("s[i,j] = 1.0\nexecute return_ovl t[i,j]")) == List{"write dead init"});
#endif
}

TEST_CASE("a slice needs the whole block's life, an insert keeps the rest") {
  const std::string sub =
      in("a[i,j] = 1.0\ndo ii in i\nsmall[ii,j] = a[ii,j]\na[ii,j] = small[ii,j]\nenddo ii in i\nput d[i,j] = a[i,j]");
  CHECK(facts("a", "", sub) == List{"write", "read", "update init", "read dead init"});
  CHECK(facts("small", "", sub) == List{"write", "read dead init"});
}

TEST_CASE("allocation makes blocks, deallocation takes them away") {
  CHECK(facts("a", "", in("allocate a[i,*]\na[i,j] += 1.0")) == List{"write", "update dead init"});
  CHECK(facts("a", "", in("a[i,j] = 1.0\ndeallocate a[i,j]\nput d[i,j] = a[i,j]")) ==
        List{"write", "write init", "read dead"});
}
