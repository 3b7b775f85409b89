#include "compiler/plan/remote/idle_barriers.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "compiler/analysis/phases.h"
#include "compiler/plan/remote/remote_access.h"
#include "runtime/core/base/fault_injection.h"

// Why it is right. A barrier completes puts, drops what is held and begins a phase. Right after another one there is
// nothing to complete or drop, and the phase it would begin is the one that has just begun. Both stand in the same list
// of statements with only arithmetic on ints and scalars and printing in between, so every rank that executes one
// executes the other: the ranks' sequences of collectives lose the same member. The first one stays, with whatever
// hangs on it (checkpoints, pardo counters): no state that a checkpoint holds differs between the two places but for
// scalars, which it saves either way.

namespace sial::plan {
namespace {

bool is_barrier(const ir::Node& n) {
  const auto* i = std::get_if<ir::Instr>(&n.value);
  return i != nullptr && i->op == Opcode::barrier;
}

class Idle {
 public:
  Idle(ir::Program& program, Plan& plan) : p_(program), plan_(plan), traffic_(program), phases_(program) {}

  void run() {
    analysis::for_each_body(p_, [&](ir::Body& body, const analysis::Path& path) { look_at(body, path); });
    if (!dropped_.empty())
      analysis::for_each_body(p_, [&](ir::Body& body, const analysis::Path&) {
        std::erase_if(body, [&](const ir::Node& n) { return dropped_.contains(n.id); });
      });
    point_out();
  }

 private:
  /// Nothing here can tell whether a phase has begun.
  bool quiet(const ir::Node& n) const {
    if (fault_enabled(Fault::idle_barrier_needed) && !is_barrier(n)) return true;
    if (const auto* i = std::get_if<ir::Instr>(&n.value)) {
      if (!is_arithmetic(i->op) && op_class(i->op) != OpClass::output) return false;
      const auto uses = analysis::array_uses(p_, *i);
      return std::none_of(uses.begin(), uses.end(),
                          [&](const analysis::ArrayUse& u) { return analysis::is_remote_array(p_, u.array); });
    }
    if (const auto* b = std::get_if<ir::If>(&n.value)) {
      const auto all = [&](const ir::Body& body) {
        return std::all_of(body.begin(), body.end(), [&](const ir::Node& x) { return quiet(x); });
      };
      return all(b->then_body) && all(b->else_body);
    }
    return false;
  }

  /// The place of the barrier that every execution of the statement ends with.
  const ir::Node* last_barrier(const ir::Node& n, int depth = 0) const {
    if (is_barrier(n)) return &n;
    const auto* i = std::get_if<ir::Instr>(&n.value);
    if (i == nullptr || i->op != Opcode::call || depth > 16) return nullptr;
    const std::int32_t proc = std::get<ir::ProcId>(i->operands[0]).row;
    if (phases_.entry(proc) == phases_.exit(proc))
      return nullptr;  // no barrier, or one that calls itself: its phases are not told apart
    const ir::Body& body = p_.procs[static_cast<std::size_t>(proc)].body;
    bool returns = false;
    analysis::for_each_instr(body, [&](const ir::Instr& x, const ir::Node&) { returns |= x.op == Opcode::ret; });
    if (returns) return nullptr;
    for (auto at = body.rbegin(); at != body.rend(); ++at)
      if (!quiet(*at)) return last_barrier(*at, depth + 1);
    return nullptr;
  }

  void look_at(const ir::Body& body, const analysis::Path& path) {
    const ir::Node* before = nullptr;
    for (const ir::Node& n : body) {
      if (is_barrier(n) && before != nullptr) {
        dropped_.insert(n.id);
        plan_.remarks.push_back({RemarkKind::passed,
                                 "idle-barriers",
                                 "dropped",
                                 n.place,
                                 no_array,
                                 fmt::format("the barrier is left out: nothing remote happens since the one at {}",
                                             place_text(p_, before->place, n.place)),
                                 "",
                                 {},
                                 {},
                                 traffic_.executions(path)});
      } else if (!quiet(n)) {
        before = last_barrier(n);
      }
    }
  }

  void point_out() {
    const analysis::Phases phases(p_);
    analysis::visit(p_, [&](const ir::Node& n, const analysis::Path& path) {
      if (!is_barrier(n)) return;
      for (const analysis::ArrayTouch& t : phases.all_touches(phases.of(n.id)))
        if (t.home.any()) return;
      plan_.remarks.push_back(
          {RemarkKind::analysis,
           "idle-barriers",
           "nothing-to-order",
           n.place,
           no_array,
           "no distributed or served array is used in the phase that ends at this barrier",
           "leave the barrier out, unless it orders something that the program's text does not show",
           {},
           {},
           traffic_.executions(path)});
    });
  }

  ir::Program& p_;
  Plan& plan_;
  Traffic traffic_;
  const analysis::Phases phases_;  // before anything is dropped
  std::set<ir::NodeId> dropped_;
};

}  // namespace

void drop_idle_barriers(ir::Program& program, Plan& plan) { Idle(program, plan).run(); }

}  // namespace sial::plan
