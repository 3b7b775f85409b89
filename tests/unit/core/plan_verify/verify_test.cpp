// Wrong plans, handed to the verifier: each must be refused for its own reason, and the right ones let through.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "compile.h"
#include "compiler/analysis/walk.h"
#include "compiler/plan/verify/verify.h"

using namespace sial;
using Catch::Matchers::Contains;

namespace {

const std::string declarations =
    "predefined int norb\naoindex i = 1:norb\naoindex j = 1:norb\naoindex k = 1:norb\nindex n = 1:9\nint m\nint c\nscalar x\nscalar y\nstatic w[n]\nstatic v[n]\n"
    "temp t[i,j]\nlocal l[i,j]\ndistributed d[i,j]\ndistributed e[i,j]\nspecial return_ovl w\n";

/// What the verifier says before it stops the process; empty when it is content.
std::string refusal(const ir::Program& before, const ir::Program& after, const plan::Plan& plan) {
  int pipe_ends[2];
  REQUIRE(pipe(pipe_ends) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    dup2(pipe_ends[1], 2);
    std::signal(SIGABRT, SIG_DFL);  // not the test framework's
    plan::verify(before, after, plan);
    _exit(0);
  }
  close(pipe_ends[1]);
  std::string text;
  char buffer[512];
  for (ssize_t got = 0; (got = read(pipe_ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(got));
  close(pipe_ends[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  const bool aborted = WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
  CHECK(aborted == !text.empty());
  CHECK((aborted || (WIFEXITED(status) && WEXITSTATUS(status) == 0)));
  return text;
}

ir::Node* find(ir::Body& body, Opcode op, int& skip) {
  for (ir::Node& n : body) {
    if (auto* i = std::get_if<ir::Instr>(&n.value)) {
      if (i->op == op && skip-- == 0) return &n;
    } else if (auto* l = std::get_if<ir::Loop>(&n.value)) {
      for (ir::Where& w : l->wheres)
        if (ir::Node* found = find(w.code, op, skip)) return found;
      if (ir::Node* found = find(l->body, op, skip)) return found;
    } else if (auto* b = std::get_if<ir::If>(&n.value)) {
      if (ir::Node* found = find(b->then_body, op, skip)) return found;
      if (ir::Node* found = find(b->else_body, op, skip)) return found;
    }
  }
  return nullptr;
}
ir::Node& nth(ir::Program& p, Opcode op, int skip = 0) {
  ir::Node* n = find(p.main, op, skip);
  REQUIRE(n != nullptr);
  return *n;
}

bool erase(ir::Body& body, ir::NodeId id) {
  if (std::erase_if(body, [&](const ir::Node& n) { return n.id == id; }) > 0) return true;
  for (ir::Node& n : body) {
    if (auto* l = std::get_if<ir::Loop>(&n.value); l != nullptr && erase(l->body, id)) return true;
    if (auto* b = std::get_if<ir::If>(&n.value); b != nullptr && (erase(b->then_body, id) || erase(b->else_body, id)))
      return true;
  }
  return false;
}

/// What is said when the nth instruction with an opcode is missing.
std::string without(const std::string& statements, Opcode op, int skip = 0) {
  const ir::Program before = test::lower(declarations, statements);
  CHECK(refusal(before, before, {}).empty());
  ir::Program after = before;
  REQUIRE(erase(after.main, nth(after, op, skip).id));
  return refusal(before, after, {});
}

std::string nest(const std::string& body) { return "do i\ndo j\n" + body + "\nenddo j\nenddo i"; }

/// The slice of the first loop of the program in which everything that a slice may run is run, and gets are fetched.
struct Sliced {
  ir::Program p;
  plan::Plan plan;
  explicit Sliced(const std::string& statements) : p(test::lower(declarations, statements)) {
    plan::Slice slice;
    const auto loop = std::find_if(p.main.begin(), p.main.end(),
                                   [](const ir::Node& n) { return std::holds_alternative<ir::Loop>(n.value); });
    REQUIRE(loop != p.main.end());
    slice.loop = loop->id;
    analysis::Path path;
    const auto mark = [&](const ir::Node& n, const analysis::Path& at) {
      if (n.id != slice.loop && (at.enclosing.empty() || at.enclosing.front()->id != slice.loop)) return;
      const auto* i = std::get_if<ir::Instr>(&n.value);
      if (i != nullptr && i->op == Opcode::get) slice.actions[n.id] = SliceAction::fetch;
      else if (i == nullptr || (i->op >= Opcode::int_const && i->op <= Opcode::real_element) ||
               i->op == Opcode::exit_loop)
        slice.actions[n.id] = SliceAction::run;
    };
    analysis::visit(p.main, path, mark);
    plan.slices.push_back(std::move(slice));
  }
  std::string refused() const { return refusal(p, p, plan); }
  ir::NodeId id(Opcode op, int skip = 0) { return nth(p, op, skip).id; }
  std::map<ir::NodeId, SliceAction>& actions() { return plan.slices[0].actions; }
};

}  // namespace

TEST_CASE("effects that others see must stay") {
  CHECK_THAT(without("print \"x\"", Opcode::print_string), Contains("`print_string` was dropped"));
  CHECK_THAT(without("collective x += y", Opcode::collective_sum), Contains("`collective_sum` was dropped"));
  CHECK_THAT(without("set_persistent d \"d\"", Opcode::set_persistent), Contains("`set_persistent` was dropped"));
  CHECK_THAT(without("delete d", Opcode::erase_array), Contains("`erase_array` was dropped"));
  CHECK_THAT(without(nest("execute return_ovl t[i,j]"), Opcode::execute), Contains("`execute` was dropped"));
  CHECK_THAT(without("if m == 1\nstop\nendif", Opcode::stop), Contains("`stop` was dropped"));
  const ir::Program before = test::lower(declarations, "print \"x\"");
  ir::Program after = before;
  nth(after, Opcode::print_string).value = ir::Instr{Opcode::gpu_on, {}};
  CHECK_THAT(refusal(before, after, {}), Contains("test.sialx:19:1"));
}

TEST_CASE("what gave a block its value must stay while the block is read") {
  CHECK_THAT(without(nest("t[i,j] = 1.0\nput d[i,j] = t[i,j]"), Opcode::block_fill),
             Contains("`t[i,j]` is read, and what gave it its value is gone"));
  CHECK(without(nest("t[i,j] = 1.0\nt[i,j] = 2.0\nput d[i,j] = t[i,j]"), Opcode::block_fill).empty());  // a dead store
  CHECK_THAT(without(nest("t[i,j] = 1.0\nt[i,j] *= 2.0\nput d[i,j] = t[i,j]"), Opcode::block_fill),
             Contains("`t[i,j]` is read"));
}

TEST_CASE("barriers go only where nothing is at stake") {
  const std::string put = "pardo i, j\nput d[i,j] = 1.0\nendpardo i, j\n",
                    get = "pardo i, j\nget d[i,j]\nt[i,j] = d[i,j]\nendpardo i, j\n";
  CHECK_THAT(without(put + "sip_barrier\n" + get, Opcode::barrier),
             Contains("a barrier was dropped between uses of `d`"));
  CHECK_THAT(without(get + "sip_barrier\n" + put, Opcode::barrier), Contains("between uses of `d`"));
  CHECK(without(put + "sip_barrier\nserver_barrier\n" + get, Opcode::barrier, 0).empty());
  CHECK(without(put + "sip_barrier\nserver_barrier\n" + get, Opcode::barrier, 1).empty());
  CHECK(without(get + "sip_barrier\n" + get, Opcode::barrier).empty());
  CHECK_THAT(without("do n\n" + put + "sip_barrier\n" + get + "sip_barrier\nenddo n", Opcode::barrier, 1),
             Contains("between uses of `d`"));
  // Both of a pair: the first takes the second's excuse away.
  const ir::Program before = test::lower(declarations, put + "sip_barrier\nserver_barrier\n" + get);
  ir::Program after = before;
  REQUIRE(erase(after.main, nth(after, Opcode::barrier).id));
  REQUIRE(erase(after.main, nth(after, Opcode::barrier).id));
  CHECK_THAT(refusal(before, after, {}), Contains("between uses of `d`"));
  // A private change of a fetched block ends at the barrier.
  CHECK_THAT(without("do i\ndo j\nget d[i,j]\nd[i,j] *= 2.0\nenddo j\nenddo i\nsip_barrier\n" + get, Opcode::barrier),
             Contains("between uses of `d`"));
}

TEST_CASE("all copies of an array are kept only where nobody changes it") {
  const auto kept = [](const std::string& statements, KeepCopies how) {
    const ir::Program before = test::lower(declarations, statements);
    ir::Program after = before;
    const auto barrier = static_cast<std::ptrdiff_t>(&nth(after, Opcode::barrier) - after.main.data());
    const auto array = std::get<ir::Block>(std::get<ir::Instr>(nth(after, Opcode::get).value).operands[0]).array;
    after.main.insert(after.main.begin() + barrier,
                      {after.n_nodes++, after.main[static_cast<std::size_t>(barrier)].place,
                       ir::Instr{Opcode::keep_copies, {array, ir::Imm{static_cast<std::int32_t>(how)}}}});
    return refusal(before, after, {});
  };
  const std::string get = "do i\ndo j\nget d[i,j]\nenddo j\nenddo i\n",
                    put = "pardo i, j\nput d[i,j] = 1.0\nendpardo i, j\n";
  CHECK(kept(get + "sip_barrier\n" + get, KeepCopies::unchanged).empty());
  CHECK_THAT(kept(get + put + "sip_barrier\n" + get, KeepCopies::unchanged),
             Contains("copies of `d` are kept over a phase that may change it"));
  CHECK(kept(get + put + "sip_barrier\n" + get, KeepCopies::used).empty());
  CHECK(kept(get + put + "sip_barrier\n" + get, KeepCopies::compared).empty());
}

TEST_CASE("values are given up only where nobody uses them") {
  const auto given_up = [](const std::string& statements) {
    const ir::Program before = test::lower(declarations, statements);
    ir::Program after = before;
    const auto barrier = static_cast<std::ptrdiff_t>(&nth(after, Opcode::barrier) - after.main.data());
    const auto array = std::get<ir::Block>(std::get<ir::Instr>(nth(after, Opcode::put_scalar).value).operands[0]).array;
    after.main.insert(after.main.begin() + barrier + 1,
                      {after.n_nodes++, after.main[static_cast<std::size_t>(barrier)].place,
                       ir::Instr{Opcode::discard_values, {array}}});
    return refusal(before, after, {});
  };
  const std::string put = "pardo i, j\nput d[i,j] = 1.0\nendpardo i, j\n",
                    get = "pardo i, j\nget d[i,j]\nendpardo i, j\n";
  const auto used = Contains("values of `d` are given up that may be used later");
  CHECK(given_up(put + "sip_barrier\n").empty());
  CHECK(given_up(put + "sip_barrier\n" + put + "sip_barrier\n" + get).empty());
  CHECK(given_up(put + "sip_barrier\ndelete d\nsip_barrier\n" + get).empty());
  CHECK_THAT(given_up(put + "sip_barrier\n" + get), used);
  CHECK_THAT(given_up(put + "sip_barrier\nset_persistent d \"d\"\n"), used);
  const std::string half = "pardo i, j\nwhere i < j\nput d[i,j] = 1.0\nendpardo i, j\n";
  CHECK_THAT(given_up(put + "sip_barrier\n" + half + "sip_barrier\n" + get), used);
  CHECK_THAT(given_up(put + "sip_barrier\npardo i, j\nput d[i,j] += 1.0\nendpardo i, j\n"), used);
  CHECK_THAT(given_up(put + "sip_barrier\npardo i\nput d[i,i] = 1.0\nendpardo i\nsip_barrier\n" + get), used);
  CHECK_THAT(given_up(put + "sip_barrier\n" + put + get), used);  // no barrier between them
}

TEST_CASE("slices run pure control only") {
  CHECK(Sliced("pardo i, j\nget d[i,j]\nt[i,j] = d[i,j]\nendpardo i, j").refused().empty());
  Sliced block("pardo i, j\nget d[i,j]\nt[i,j] = d[i,j]\nendpardo i, j");
  block.actions()[block.id(Opcode::block_copy)] = SliceAction::run;
  CHECK_THAT(block.refused(), Contains("look-ahead runs `block_copy`"));
  Sliced put("pardo i, j\nget d[i,j]\nput e[i,j] = d[i,j]\nendpardo i, j");
  put.actions()[put.id(Opcode::put_block)] = SliceAction::fetch;
  CHECK_THAT(put.refused(), Contains("`put_block` is fetched"));
  put.actions()[put.id(Opcode::put_block)] = SliceAction::put;
  CHECK(put.refused().empty());
  put.actions()[put.id(Opcode::get)] = SliceAction::put;
  CHECK_THAT(put.refused(), Contains("`get` is foreseen as a put"));
  put.actions()[put.id(Opcode::get)] = SliceAction::fetch;
  put.actions()[put.plan.slices[0].loop] = SliceAction::put;
  CHECK_THAT(put.refused(), Contains("a loop or if is fetched"));
  Sliced outside("x = 1.0\npardo i, j\nget d[i,j]\nendpardo i, j");
  outside.actions()[outside.id(Opcode::real_const)] = SliceAction::run;
  CHECK_THAT(outside.refused(), Contains("not part of its loop"));
  Sliced none("pardo i, j\nget d[i,j]\nendpardo i, j");
  none.plan.slices[0].loop = none.id(Opcode::get);
  CHECK_THAT(none.refused(), Contains("which is no loop"));
}

TEST_CASE("slices read elements of statics that the loop leaves alone") {
  CHECK(Sliced("pardo i, n\nwhere (int)w[n] == i\nget d[i,i]\nendpardo i, n").refused().empty());
  CHECK(Sliced("do i\ndo n\nwhere (int)w[n] == i\nget d[i,i]\nv[n] = 1.0\nenddo n\nenddo i").refused().empty());
  CHECK_THAT(Sliced("do i\ndo n\nwhere (int)w[n] == i\nget d[i,i]\nw[n] = 1.0\nenddo n\nenddo i").refused(),
             Contains("look-ahead reads `w`"));
}

TEST_CASE("slices know what they need") {
  CHECK(Sliced("do i\nm = i + 1\ndo j\nif m == 2\nget d[i,j]\nendif\nenddo j\nenddo i").refused().empty());
  Sliced missing("do i\nm = i + 1\ndo j\nif m == 2\nget d[i,j]\nendif\nenddo j\nenddo i");
  missing.actions().erase(missing.id(Opcode::int_add));
  CHECK_THAT(missing.refused(), Contains("look-ahead needs int register"));
  Sliced where("pardo i, j\nwhere i < j\nget d[i,j]\nendpardo i, j");
  where.actions().erase(where.id(Opcode::int_compare));
  CHECK_THAT(where.refused(), Contains("look-ahead needs int register"));
  // Set behind the use: the next iteration reads it.
  Sliced carried("do i\nif m < 3\nget d[i,i]\nendif\nx = w[(index)i] * 2.0\nm = (int)x\nenddo i");
  CHECK(carried.refused().empty());
  carried.actions().erase(carried.id(Opcode::int_round));
  CHECK_THAT(carried.refused(), Contains("look-ahead needs int register"));
  carried.actions()[carried.id(Opcode::int_round)] = SliceAction::stop;
  CHECK(carried.refused().empty());  // it gives up there instead
}

TEST_CASE("slices span no meeting of ranks, and fetch nothing that was just put") {
  CHECK_THAT(Sliced("do i\ndo j\nget d[i,j]\nenddo j\nsip_barrier\nenddo i").refused(),
             Contains("a slice spans a place where ranks meet"));
  CHECK_THAT(Sliced("do i\ndo j\nput d[i,j] = 1.0\nget d[i,j]\nenddo j\nenddo i").refused(),
             Contains("a block that was put just before"));
  CHECK(Sliced("do i\ndo j\nput e[i,j] = 1.0\nget d[i,j]\nenddo j\nenddo i").refused().empty());
}
