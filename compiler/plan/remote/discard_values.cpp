#include "compiler/plan/remote/discard_values.h"

#include <map>

#include <fmt/format.h>

#include "compiler/analysis/home_lifetime.h"
#include "compiler/plan/remote/remote_access.h"

// Why it is right. HomeLifetimes says that no rank uses what the array holds when the barrier ends: on every path from
// there the array is deleted, wholly replaced, or the program ends without saving it, before anybody reads it or adds
// to it. All ranks have passed their last use when one of them comes out of the barrier. The store tells values from
// before the barrier from those that faster ranks have put since by the phase in which they were put.

namespace sial::plan {
namespace {

class Discarder {
 public:
  Discarder(ir::Program& program, Plan& plan) : p_(program), plan_(plan), traffic_(program), lifetimes_(program) {}

  void run() {
    analysis::visit(p_, [&](const ir::Node& n, const analysis::Path& path) {
      const auto* i = std::get_if<ir::Instr>(&n.value);
      if (i != nullptr && i->op == Opcode::barrier) decide(n, path);
    });
    if (!dead_.empty()) analysis::for_each_body(p_, [&](ir::Body& body, const analysis::Path&) { insert(body); });
  }

 private:
  /// Arrays that the phase uses for the last time; for others it was said at an earlier barrier.
  void decide(const ir::Node& barrier, const analysis::Path& path) {
    const analysis::Phases& phases = lifetimes_.phases();
    for (const analysis::ArrayTouch& t : phases.all_touches(phases.of(barrier.id))) {
      if (!analysis::is_remote_array(p_, t.array) || !(t.home.any() || t.own.any()) || t.home.freed) continue;
      if (!lifetimes_.dead_after(barrier.id, t.array)) continue;
      dead_[barrier.id].push_back(t.array);
      plan_.remarks.push_back(
          {RemarkKind::passed,
           "discard-values",
           "discarded",
           barrier.place,
           t.array,
           fmt::format(
               "what `{}` holds is not used behind the barrier: with `--spill` it leaves memory without being written",
               analysis::array_name(p_, t.array)),
           "",
           {},
           {},
           traffic_.executions(path)});
    }
  }

  void insert(ir::Body& body) {
    for (std::size_t k = 0; k < body.size(); ++k) {
      const auto found = dead_.find(body[k].id);
      if (found == dead_.end()) continue;
      const SourcePlace place = body[k].place;
      for (const ArrayId array : found->second)
        body.insert(body.begin() + static_cast<std::ptrdiff_t>(++k),
                    make_node(p_, place, Opcode::discard_values, {array}));
    }
  }

  ir::Program& p_;
  Plan& plan_;
  Traffic traffic_;
  const analysis::HomeLifetimes lifetimes_;
  std::map<ir::NodeId, std::vector<ArrayId>> dead_;  // by barrier
};

}  // namespace

void discard_values(ir::Program& program, Plan& plan) { Discarder(program, plan).run(); }

}  // namespace sial::plan
