#include "compiler/plan/remote/combined_puts.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "compiler/plan/remote/remote_access.h"

// Why it is right. Between two barriers a block that anyone adds to may only be added to, by anyone, or used by a
// single rank. Sums of contributions commute, so the order in which they arrive changes the result by rounding only
// (with --deterministic the store sends each by itself). Who might see the difference is the rank itself: its own get,
// put =, fill, increment or scale of the block sends the sum first, as do delete, restore, barrier and end of program.
// So every `put +=` may be combined. What the pass refuses is where the sum would be sent again and again: a loop that
// also gets, replaces or scales the array. A barrier ends a sum, so a loop with one inside does not count.

namespace sial::plan {
namespace {

bool is_addition(const ir::Instr& i) {
  return i.op == Opcode::put_block && std::get<SetOp>(i.operands[2]) == SetOp::add;
}

bool names(const ir::Program& p, const ir::Block& block, IndexId index) {
  return std::any_of(block.entries.begin(), block.entries.end(), [&](const RefEntry& e) {
    return e.index == index || (e.index != no_index && p.indices[e.index.at()].parent == index);
  });
}

class Combiner {
 public:
  Combiner(ir::Program& program, Plan& plan) : p_(program), plan_(plan), traffic_(program), summaries_(program) {}

  void run() {
    analysis::visit(p_, [&](const ir::Node& n, const analysis::Path& path) {
      if (const auto* i = std::get_if<ir::Instr>(&n.value); i && is_addition(*i)) consider(n, *i, path);
    });
    analysis::for_each_body(p_, [&](ir::Body& body, const analysis::Path& path) { rewrite(body, path); });
  }

 private:
  void consider(const ir::Node& n, const ir::Instr& i, const analysis::Path& path) {
    const auto& target = std::get<ir::Block>(i.operands[0]);
    const ir::Node* over = nullptr;
    const ir::Node* against = nullptr;  // a statement of the loop that would send the sums
    bool repeats = false, phases = false;
    traffic_.for_each_chain(path, [&](const std::vector<const ir::Node*>& loops) {
      for (const ir::Node* l : loops) {  // the outermost that will do
        const auto& loop = std::get<ir::Loop>(l->value);
        if (std::all_of(loop.indices.begin(), loop.indices.end(), [&](IndexId x) { return names(p_, target, x); }))
          continue;
        repeats = true;
        if (summaries_.of_node(*l).barrier) {
          phases = true;
          continue;
        }
        if (const ir::Node* other = sender(*l, target.array)) {
          against = other;
          continue;
        }
        if (!over) over = l;
        ends_.insert(l->id);
        return;
      }
    });
    const std::string text = "`" + analysis::text_of(p_, target) + "`";
    if (over) {
      combined_.insert(n.id);
      remark(RemarkKind::passed, "combined", n, path, target,
             fmt::format("contributions to {} are added up on each rank over the loop over {} ({}) and sent once", text,
                         indices_text(p_, std::get<ir::Loop>(over->value)), place_text(p_, over->place, n.place)),
             "");
    } else if (against) {
      remark(RemarkKind::missed, "array-used-in-loop", n, path, target,
             fmt::format(
                 "every contribution to {} is sent by itself: the loop also uses `{}` at {}, which has to see them",
                 text, analysis::array_name(p_, target.array), place_text(p_, against->place, n.place)),
             "move that use out of the loop, or add up in a temp or local array and put it behind the loop");
    } else if (repeats && phases) {
      remark(RemarkKind::analysis, "one-per-phase", n, path, target,
             fmt::format("{} gets one contribution per iteration between two barriers", text), "");
    } else {
      remark(RemarkKind::analysis, "one-per-block", n, path, target,
             fmt::format("each iteration adds to its own block of {}", text), "");
    }
  }

  /// A statement in the loop, or in what it calls, before which the store would have to send what it holds of the
  /// array.
  const ir::Node* sender(const ir::Node& loop, ArrayId array) {
    const auto [known, fresh] = senders_.try_emplace({loop.id, array}, nullptr);
    if (fresh) {
      std::set<std::int32_t> called;
      known->second = search(std::get<ir::Loop>(loop.value).body, array, called);
    }
    return known->second;
  }

  const ir::Node* search(const ir::Body& body, ArrayId array, std::set<std::int32_t>& called) {
    const ir::Node* found = nullptr;
    analysis::for_each_instr(body, [&](const ir::Instr& i, const ir::Node& n) {
      if (found) return;
      if (i.op == Opcode::call) {
        const std::int32_t proc = std::get<ir::ProcId>(i.operands[0]).row;
        if (called.insert(proc).second) found = search(p_.procs[static_cast<std::size_t>(proc)].body, array, called);
        return;
      }
      if (is_addition(i)) return;
      for (const analysis::ArrayUse& u : analysis::array_uses(p_, i))
        if (u.array == array && u.side == analysis::Side::home) found = &n;
    });
    return found;
  }

  void rewrite(ir::Body& body, const analysis::Path& path) {
    const bool in_section =
        !path.enclosing.empty() && std::holds_alternative<ir::Section>(path.enclosing.back()->value);
    for (std::size_t k = 0; k < body.size(); ++k) {
      if (combined_.contains(body[k].id)) {
        auto& i = std::get<ir::Instr>(body[k].value);
        i.op = Opcode::put_combined;
        i.operands.resize(2);
      }
      if (!ends_.contains(body[k].id) || in_section) continue;
      const SourcePlace end = std::get<ir::Loop>(body[k].value).end;
      ++k;
      body.insert(body.begin() + static_cast<std::ptrdiff_t>(k), make_node(p_, end, Opcode::relieve_sums, {}));
    }
  }

  void remark(RemarkKind kind, std::string name, const ir::Node& n, const analysis::Path& path, const ir::Block& target,
              std::string text, std::string advice) {
    RemarkRow row{kind,         "combined-puts",          std::move(name),   n.place,
                  target.array, std::move(text),          std::move(advice), {},
                  {},           traffic_.executions(path)};
    if (kind != RemarkKind::analysis) row.bytes = bytes_of(p_, target);
    plan_.remarks.push_back(std::move(row));
  }

  ir::Program& p_;
  Plan& plan_;
  Traffic traffic_;
  analysis::Summaries summaries_;
  std::set<ir::NodeId> combined_, ends_;
  std::map<std::pair<ir::NodeId, ArrayId>, const ir::Node*> senders_;
};

}  // namespace

void combine_puts(ir::Program& program, Plan& plan) { Combiner(program, plan).run(); }

}  // namespace sial::plan
