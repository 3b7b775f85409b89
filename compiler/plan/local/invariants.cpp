#include "compiler/plan/local/invariants.h"

#include <algorithm>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "compiler/plan/local/local.h"
#include "runtime/core/base/fault_injection.h"

// Why it is right. Statement N assigns temp T in a loop L (or in loops directly inside it). It is turned into
//     todo = 1;  L ... { if todo { N; keep T for L; todo = 0 } ... }
// which computes T where the first iteration does and leaves it for the others, to the end of the iteration around L.
// They find what they would have computed, when
//   1. no block operand of N names an index of L or of a loop between L and N, and its factor is a literal or a
//      variable that L does not assign;
//   2. nothing in L writes an operand on this rank. A get counts as a write, as it may fetch a block anew after a put
//      of this rank, unless it stands in N's own list in front of it, where the first iteration has done it too, and L
//      puts nothing to the array; a barrier in L counts where an operand is remote;
//   3. N is the only statement in L that writes T, and T is read in N's own list after it only (calls and inner loops
//      there included): whoever reads T has come past N in the same iteration, as before;
//   4. T is used nowhere else in the program, so that nobody can see that it lives longer, or find it where it had been
//      gone.
// An iteration that does not come to N (no trip, a false where clause, an early exit) computes nothing, so errors are
// those of the program as written, at the same place.

namespace sial::plan {
namespace {

bool assigns(const ir::Instr& i) {
  if (!has(i.op, op::elementwise) && op_cost(i.op) != OpCost::product) return false;
  return block_of(i, 0)->intent == Intent::write && block_of(i, 1) != nullptr;
}

class Hoist {
 public:
  explicit Hoist(Local& l) : l_(l) {}

  void list(ir::Body& body, bool section) {
    for (std::size_t at = 0; at < body.size(); ++at) {
      auto* loop = std::get_if<ir::Loop>(&body[at].value);
      if (loop != nullptr && !section) {
        std::vector<IndexId> indices = loop->indices;
        ir::Body around;  // code in front of the loop
        search(body[at], *loop, loop->body, indices, 1, around);
        body.insert(body.begin() + static_cast<std::ptrdiff_t>(at), around.begin(), around.end());
        at += around.size();
        path_.enclosing.push_back(&body[at]);
        list(std::get<ir::Loop>(body[at].value).body, false);
        path_.enclosing.pop_back();
        continue;
      }
      path_.enclosing.push_back(&body[at]);
      if (loop != nullptr) list(loop->body, false);
      if (auto* branch = std::get_if<ir::If>(&body[at].value)) {
        list(branch->then_body, false);
        list(branch->else_body, false);
      }
      if (auto* s = std::get_if<ir::Section>(&body[at].value)) list(s->body, true);
      path_.enclosing.pop_back();
    }
  }

  void proc(std::int32_t id) { path_.proc = id; }

 private:
  /// Statements of `body`, `levels` loops inside of `outer` (itself included), that are the same in every iteration of
  /// `outer`.
  void search(const ir::Node& node, const ir::Loop& outer, ir::Body& body, std::vector<IndexId>& indices,
              std::int32_t levels, ir::Body& around) {
    for (std::size_t k = 0; k < body.size(); ++k) {
      if (auto* inner = std::get_if<ir::Loop>(&body[k].value)) {
        const std::size_t before = indices.size();
        indices.insert(indices.end(), inner->indices.begin(), inner->indices.end());
        search(node, outer, inner->body, indices, levels + 1, around);
        indices.resize(before);
        continue;
      }
      const ir::Instr* i = instr_of(body[k]);
      if (i == nullptr || !assigns(*i) || l_.kind(*block_of(*i, 0)) != ArrayKind::temp || depends(*i, indices))
        continue;
      const ir::Block target = *block_of(*i, 0);
      if (const std::string why = reason(outer, body, k, *i); !why.empty()) {
        if (levels == 1)
          l_.remark(RemarkKind::missed, "computed-again", body[k], path_to(node), target,
                    fmt::format("{} is the same in every iteration of the loop over {}, but {}", l_.text(target),
                                names(outer), why),
                    "move the statement in front of the loop, or give it a temp of its own");
        continue;
      }
      l_.remark(
          RemarkKind::passed, "computed-once", body[k], path_to(node), target,
          fmt::format("{} is the same in every iteration of the loop over {}: computed once, where it is first needed",
                      l_.text(target), names(outer)));
      const ir::IntReg todo{l_.new_int()};
      ir::If once;
      once.condition = todo.reg;
      const SourcePlace place = body[k].place;
      once.then_body.push_back(std::move(body[k]));
      once.then_body.push_back(
          l_.make(place, Opcode::keep_block, {with_intent(target, Intent::read), ir::Imm{levels}}));
      once.then_body.push_back(l_.make(place, Opcode::int_const, {todo, ir::Imm{0}}));
      body[k] = {new_id(l_.program()), place, std::move(once)};
      around.push_back(l_.make(node.place, Opcode::int_const, {todo, ir::Imm{1}}));
    }
  }

  analysis::Path path_to(const ir::Node& loop) const {
    analysis::Path path = path_;
    path.enclosing.push_back(&loop);
    return path;
  }

  std::string names(const ir::Loop& loop) const {
    std::string text;
    for (const IndexId i : loop.indices) text += (text.empty() ? "`" : "`, `") + l_.program().indices[i.at()].name;
    return text + "`";
  }

  bool depends(const ir::Instr& i, const std::vector<IndexId>& indices) const {
    for (const ir::Block* b : analysis::blocks_of(i))
      for (const RefEntry& e : b->entries)
        for (const IndexId index : indices)
          if (e.index == index || (e.index != no_index && l_.program().indices[e.index.at()].parent == index))
            return true;
    return false;
  }

  /// Why body[k] may not be carried out once; empty: it may.
  std::string reason(const ir::Loop& outer, const ir::Body& body, std::size_t k, const ir::Instr& i) {
    const ir::Block target = *block_of(i, 0);
    for (const analysis::RegisterUse& r : analysis::register_uses(i)) {
      if (!r.scalar || l_.constant(body, k, r.reg) != nullptr) continue;
      if (static_cast<std::size_t>(r.reg) >= l_.program().scalars.size()) return "its factor is computed anew";
      if (l_.writes_scalar(outer, r.reg) && !fault_enabled(Fault::once_factor_changes))
        return fmt::format("`{}` changes", l_.program().scalars[static_cast<std::size_t>(r.reg)].name);
    }
    if (!only_in(outer, target.array)) return fmt::format("{} is also used outside of the loop", l_.text(target));
    for (std::size_t operand = 1; operand < i.operands.size(); ++operand)
      if (const ir::Block* b = block_of(i, operand))
        if (std::string why = changes(outer, body, k, *b); !why.empty() && !fault_enabled(Fault::once_operand_changes))
          return why;
    return (uses_fit(outer.body, body, k, target.array) || fault_enabled(Fault::once_written_elsewhere)) &&
                   wheres_fit(outer, target.array)
               ? std::string()
               : fmt::format("{} is written or read elsewhere in the loop", l_.text(target));
  }

  /// All uses of the temp in the program are in the loop, none in a procedure (which might be called from elsewhere).
  bool only_in(const ir::Loop& loop, ArrayId array) {
    std::size_t inside = 0, everywhere = 0;
    bool lists = false;  // shows which blocks exist
    const auto count = [&](std::size_t& n) {
      return [&](const ir::Instr& i, const ir::Node&) {
        for (const analysis::ArrayUse& u : analysis::array_uses(l_.program(), i)) n += u.array == array;
        lists |= analysis::effects_of(l_.program(), i).lists_blocks;
      };
    };
    analysis::for_each_instr(loop.body, count(inside));
    analysis::for_each_instr(l_.program().main, count(everywhere));
    for (const ir::Procedure& q : l_.program().procs) analysis::for_each_instr(q.body, count(everywhere));
    return inside == everywhere && !lists;
  }

  /// Every statement that touches the array is body[k] or after it in the same list, and only body[k] writes.
  bool uses_fit(const ir::Body& list, const ir::Body& body, std::size_t k, ArrayId array) {
    for (std::size_t at = 0; at < list.size(); ++at) {
      const ir::Node& n = list[at];
      if (&list == &body && at == k) continue;
      if (!l_.touches(n, array)) continue;
      if (&list == &body && at > k) {
        if (l_.writes(n, array)) return false;
        continue;
      }
      const auto* inner = std::get_if<ir::Loop>(&n.value);
      if (inner == nullptr || !holds(inner->body, body) || !wheres_fit(*inner, array) ||
          !uses_fit(inner->body, body, k, array))
        return false;
    }
    return true;
  }

  static bool holds(const ir::Body& list, const ir::Body& body) {
    if (&list == &body) return true;
    return std::any_of(list.begin(), list.end(), [&](const ir::Node& n) {
      const auto* inner = std::get_if<ir::Loop>(&n.value);
      return inner != nullptr && holds(inner->body, body);
    });
  }

  bool wheres_fit(const ir::Loop& loop, ArrayId array) {
    return std::none_of(loop.wheres.begin(), loop.wheres.end(), [&](const ir::Where& w) {
      return std::any_of(w.code.begin(), w.code.end(), [&](const ir::Node& n) { return l_.touches(n, array); });
    });
  }

  /// Whether an iteration of the loop may leave another value, or none, in an operand.
  std::string changes(const ir::Loop& outer, const ir::Body& body, std::size_t k, const ir::Block& b) {
    const bool remote = analysis::is_remote_array(l_.program(), b.array);
    bool fetched_first = false;
    if (remote) {
      for (std::size_t at = 0; at < k; ++at)
        if (const ir::Instr* i = instr_of(body[at]);
            i != nullptr && i->op == Opcode::get && block_of(*i, 0)->array == b.array)
          fetched_first = true;
      if (l_.puts(outer, b.array)) return fmt::format("the loop puts blocks of {}", l_.text(b));
    }
    return writes_besides(outer.body, body, k, b, fetched_first)
               ? fmt::format("the loop may change or fetch {} anew", l_.text(b))
               : std::string();
  }

  bool writes_besides(const ir::Body& list, const ir::Body& body, std::size_t k, const ir::Block& b,
                      bool gets_allowed) {
    for (std::size_t at = 0; at < list.size(); ++at) {
      if (&list == &body && at == k) continue;
      const ir::Node& n = list[at];
      if (!l_.may_change(n, b)) continue;
      const ir::Instr* i = instr_of(n);
      if (gets_allowed && i != nullptr && i->op == Opcode::get && &list == &body && at < k) continue;
      const auto* inner = std::get_if<ir::Loop>(&n.value);
      if (inner == nullptr || !holds(inner->body, body) || writes_besides(inner->body, body, k, b, gets_allowed))
        return true;
    }
    return false;
  }

  Local& l_;
  analysis::Path path_;
};

}  // namespace

void compute_once(ir::Program& program, Plan& plan) {
  Local l(program, plan, "compute-once");
  Hoist hoist(l);
  for (std::size_t q = 0; q < program.procs.size(); ++q) {
    hoist.proc(static_cast<std::int32_t>(q));
    hoist.list(program.procs[q].body, false);
  }
  hoist.proc(-1);
  hoist.list(program.main, false);
}

}  // namespace sial::plan
