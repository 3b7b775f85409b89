#include "compiler/plan/remote/invariant_gets.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "compiler/plan/remote/remote_access.h"
#include "runtime/core/base/fault_injection.h"

// Why it is right. None of the get's indices is bound by the loop or inside of it, so it names one block for all
// iterations. The loop has no barrier, and this rank does not change the array at its home in it: after the first get
// every other one finds the block held and does nothing. So only the first is executed, where it stands: a flag that is
// up in front of the loop guards it. It is not moved, for the loop may have no iteration, a where clause or an if may
// keep every iteration away from it, and an exit may come before it. Pardos are left alone: their iterations are
// divided anew each time, and memory is planned for one of them.

namespace sial::plan {
namespace {

class Once {
 public:
  Once(ir::Program& program, Plan& plan) : p_(program), plan_(plan), traffic_(program), summaries_(program) {}

  void run() {
    analysis::visit(p_, [&](const ir::Node& n, const analysis::Path& path) {
      if (const auto* i = std::get_if<ir::Instr>(&n.value); i && i->op == Opcode::get)
        consider(n, std::get<ir::Block>(i->operands[0]), path);
    });
    if (!flags_.empty()) analysis::for_each_body(p_, [&](ir::Body& body, const analysis::Path&) { rewrite(body); });
  }

 private:
  void consider(const ir::Node& n, const ir::Block& block, const analysis::Path& path) {
    const ir::Node* over = nullptr;
    for (auto at = path.enclosing.rbegin(); at != path.enclosing.rend(); ++at) {
      const auto* loop = std::get_if<ir::Loop>(&(*at)->value);
      if (loop == nullptr) continue;
      if (loop->kind == LoopKind::pardo ||
          (names(block, loop->indices) && !fault_enabled(Fault::invariant_get_other_block)))
        break;
      const analysis::Summary& s = summaries_.of_node(**at);
      if ((s.barrier || s.may_put(block.array)) && !fault_enabled(Fault::invariant_get_changes)) {
        if (over == nullptr && s.may_put(block.array) && !s.barrier)
          plan_.remarks.push_back(
              {RemarkKind::missed,
               "invariant-gets",
               "array-changed-in-loop",
               n.place,
               block.array,
               fmt::format("`{}` is the same block in every iteration over {}, but the loop also changes `{}`",
                           analysis::text_of(p_, block), indices_text(p_, *loop),
                           analysis::array_name(p_, block.array)),
               "put into another array, or get the block before the loop if the changes are to others",
               bytes_of(p_, block),
               {},
               traffic_.executions(path)});
        break;
      }
      over = *at;
    }
    if (over == nullptr) return;
    flags_[n.id] = p_.n_int_registers;
    raised_[over->id].push_back(p_.n_int_registers++);
    plan_.remarks.push_back(
        {RemarkKind::passed,
         "invariant-gets",
         "once",
         n.place,
         block.array,
         fmt::format("`{}` is got once for the loop over {} ({})", analysis::text_of(p_, block),
                     indices_text(p_, std::get<ir::Loop>(over->value)), place_text(p_, over->place, n.place)),
         "",
         {},
         {},
         traffic_.executions(path)});
  }

  bool names(const ir::Block& block, const std::vector<IndexId>& indices) const {
    return std::any_of(block.entries.begin(), block.entries.end(), [&](const RefEntry& e) {
      const IndexId parent = p_.indices[e.index.at()].parent;
      return std::any_of(indices.begin(), indices.end(), [&](IndexId x) { return x == e.index || x == parent; });
    });
  }

  void rewrite(ir::Body& body) {
    for (std::size_t k = 0; k < body.size(); ++k) {
      const SourcePlace place = body[k].place;
      if (const auto flag = flags_.find(body[k].id); flag != flags_.end()) {
        ir::If guard;
        guard.condition = flag->second;
        guard.then_body.push_back(std::move(body[k]));
        guard.then_body.push_back(make_node(p_, place, Opcode::int_const, {ir::IntReg{flag->second}, ir::Imm{0}}));
        body[k] = {new_id(p_), place, std::move(guard)};
        flags_.erase(flag);
      }
      const auto raised = raised_.find(body[k].id);
      if (raised == raised_.end()) continue;
      for (const std::int32_t flag : raised->second) {
        body.insert(body.begin() + static_cast<std::ptrdiff_t>(k),
                    make_node(p_, place, Opcode::int_const, {ir::IntReg{flag}, ir::Imm{1}}));
        ++k;
      }
      raised_.erase(raised);
    }
  }

  ir::Program& p_;
  Plan& plan_;
  Traffic traffic_;
  analysis::Summaries summaries_;
  std::map<ir::NodeId, std::int32_t> flags_;                // by get
  std::map<ir::NodeId, std::vector<std::int32_t>> raised_;  // by loop
};

}  // namespace

void get_once(ir::Program& program, Plan& plan) { Once(program, plan).run(); }

}  // namespace sial::plan
