// Slices that could misbehave are refused: each case takes what the compiler wrote and poisons one thing.
#include "sliced.h"

#include <algorithm>

#include "runtime/core/base/error.h"

using namespace sial;
using Catch::Matchers::Contains;
using test::sliced;

namespace {

Module sample() {
  return sliced(
      "predefined int n\naoindex i = 1:n\naoindex j = 1:n\nindex u = 1:n\nscalar x\nint pp\nstatic tab[u]\ndistributed a[i,j]\ndistributed b[i,j]\ntemp t[i,j]\n"
      "proc some\nif pp > 2\nreturn\nendif\nget b[i,i]\nendproc some\n",
      "do i\nwhere i != 2\nx = tab[(index)i]\npp = i\ndo j\nif pp < j\nget a[i,j]\nt[i,j] = a[i,j]\nelse\npp = 1\nendif\nif pp == 7\nexit\nendif\nenddo j\ncall some\nenddo i");
}

std::string refusal(const Module& m) {
  try {
    verify_module(m, "test");
  } catch (const SialError& e) { return e.what(); }
  return "";
}

std::vector<SliceStep>& steps(Module& m) { return m.slices.at(0).steps; }

/// The k-th step at an instruction of this kind.
std::vector<SliceStep>::iterator step(Module& m, Opcode op, int k = 0) {
  return std::find_if(steps(m).begin(), steps(m).end(),
                      [&](const SliceStep& s) { return m.code[static_cast<std::size_t>(s.pc)].op == op && k-- == 0; });
}

std::string without(Opcode op, int k = 0) {
  Module m = sample();
  const auto s = step(m, op, k);
  REQUIRE(s != steps(m).end());
  steps(m).erase(s);
  return refusal(m);
}

std::string with(Opcode op, SliceAction action) {
  Module m = sample();
  for (std::size_t pc = 0; pc < m.code.size(); ++pc) {
    if (m.code[pc].op != op) continue;
    const auto s = step(m, op);
    if (s != steps(m).end()) s->action = action;
    else
      steps(m).insert(std::find_if(steps(m).begin(), steps(m).end(),
                                   [&](const SliceStep& x) { return x.pc > static_cast<std::int32_t>(pc); }),
                      {static_cast<std::int32_t>(pc), action});
    return refusal(m);
  }
  return "no such instruction";
}

}  // namespace

TEST_CASE("the compiler's slice passes, and covers what the cases poison") {
  Module m = sample();
  CHECK(refusal(m).empty());
  REQUIRE(m.slices.size() == 1);
  for (const Opcode op : {Opcode::where, Opcode::do_next, Opcode::jump_unless, Opcode::jump, Opcode::exit_loop,
                          Opcode::call, Opcode::ret, Opcode::get})
    CHECK(step(m, op) != steps(m).end());
}

TEST_CASE("parts of a slice that are missing") {
  CHECK_THAT(without(Opcode::do_begin, 0), Contains("beginning and end of its loop are not run"));
  CHECK_THAT(without(Opcode::do_begin, 1), Contains("are run without its beginning"));
  CHECK_THAT(without(Opcode::do_next, 0), Contains("begun but not carried on"));
  CHECK_THAT(without(Opcode::do_next, 1), Contains("beginning and end"));
  CHECK_THAT(without(Opcode::body_begin, 1), Contains("begun but not carried on"));
  CHECK_THAT(without(Opcode::where), Contains("where clause"));
  CHECK_THAT(without(Opcode::jump_unless), Contains("decides about code of the slice"));
  CHECK_THAT(without(Opcode::jump), Contains("decides about code of the slice"));
  CHECK_THAT(without(Opcode::exit_loop), Contains("exit"));
  CHECK_THAT(without(Opcode::ret), Contains("return"));
  CHECK_THAT(without(Opcode::call), Contains("neither in its loop nor in a procedure"));
  CHECK_THAT(without(Opcode::int_compare), Contains("which the program sets where the slice passes over"));
  CHECK_THAT(without(Opcode::int_index), Contains("which the program sets where the slice passes over"));
}

TEST_CASE("a get that is passed over is fine, it is only not asked for early") { CHECK(without(Opcode::get).empty()); }

TEST_CASE("instructions that cannot be carried out ahead of the program") {
  CHECK_THAT(with(Opcode::block_copy, SliceAction::run), Contains("cannot be run ahead"));
  CHECK_THAT(with(Opcode::get, SliceAction::run), Contains("cannot be run ahead"));
  CHECK_THAT(with(Opcode::int_compare, SliceAction::fetch), Contains("is no get"));
  CHECK_THAT(with(Opcode::block_copy, SliceAction::fetch), Contains("is no get"));
  CHECK_THAT(with(Opcode::halt, SliceAction::stop), Contains("neither in its loop nor"));
  CHECK_THAT(with(Opcode::get, SliceAction::put), Contains("is no put"));
  CHECK_THAT(with(Opcode::block_copy, SliceAction::put), Contains("is no put"));
  CHECK_THAT(with(Opcode::block_copy, static_cast<SliceAction>(6)), Contains("there is no action 6"));
}

TEST_CASE("stopping is always allowed") {
  for (const Opcode op : {Opcode::jump_unless, Opcode::get, Opcode::int_compare}) {
    CHECK(with(op, SliceAction::stop).empty());
  }
}

TEST_CASE("a register that changes behind the place where iterations are abandoned is not known in the next") {
  Module m = sliced("predefined int n\naoindex i = 1:n\nscalar x\nint pp\ndistributed a[i,i]\n",
                    "do i\nif pp < 2\nget a[i,i]\nendif\nif i > 2\nget a[i,i]\nendif\nx += 1.0\npp += 1\nenddo i");
  CHECK(refusal(m).empty());
  const auto s = step(m, Opcode::jump_unless, 1);
  REQUIRE(s != steps(m).end());
  s->action = SliceAction::abandon;
  CHECK_THAT(refusal(m), Contains("which the program sets where the slice passes over"));
  s->action = SliceAction::stop;
  CHECK(refusal(m).empty());
}

TEST_CASE("elements of a static array that the loop writes") {
  Module m = sliced("predefined int n\naoindex i = 1:n\nindex u = 1:n\nscalar x\nstatic tab[u]\ndistributed a[i,i]\n",
                    "do i\nx = tab[(index)i]\nif x > 1.0\nget a[i,i]\nendif\nenddo i");
  CHECK(refusal(m).empty());
  CHECK(step(m, Opcode::real_element) != steps(m).end());
  // The same slice for a loop that fills the table.
  Module other =
      sliced("predefined int n\naoindex i = 1:n\nindex u = 1:n\nscalar x\nstatic tab[u]\ndistributed a[i,i]\n",
             "do i\nx = tab[(index)i]\nif x > 1.0\nget a[i,i]\nendif\ntab[(index)i] = x\nenddo i");
  CHECK(other.slices.empty());
  other.slices = m.slices;
  CHECK_THAT(refusal(other), Contains("may change before the program reads it"));
}

TEST_CASE("loops where ranks meet, recursion and loops of pardos") {
  Module m = sliced(
      "predefined int n\naoindex i = 1:n\nscalar x\nint pp\ndistributed a[i,i]\nproc again\npp += 1\nif pp < 3\ncall again\nendif\nendproc again\n",
      "do i\nsip_barrier\nenddo i\ndo i\ncall again\nenddo i\npardo i\nget a[i,i]\nendpardo i");
  REQUIRE(m.slices.size() == 1);
  const auto slice_of = [&](std::int32_t loop) {
    const LoopRow& row = m.loops[static_cast<std::size_t>(loop)];
    return SliceRow{loop, {{row.begin, SliceAction::run}, {row.body, SliceAction::run}, {row.next, SliceAction::run}}};
  };
  m.slices = {slice_of(0)};
  CHECK_THAT(refusal(m), Contains("at which ranks meet"));
  m.slices = {slice_of(1)};
  CHECK_THAT(refusal(m), Contains("calls itself"));
  m.slices = {slice_of(2)};
  CHECK(refusal(m).empty());
}
