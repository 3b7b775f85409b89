#include "compiler/plan/remote/retained_copies.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "compiler/analysis/phases.h"
#include "compiler/plan/remote/remote_access.h"
#include "runtime/core/base/fault_injection.h"

// Why it is right. A copy shows the block as it was in the phase in which it was fetched. There are three reasons to
// have it still after a barrier, and the pass chooses the strongest that holds for all of an array's copies:
//   unchanged  nobody has changed the array between the last barrier and this one; Phases tells that from the text:
//              every statement that some run may execute in the phase, through calls and around loops, and since all
//              ranks meet at the same barriers, that is what any rank may have done. put in every form, delete, destroy
//              and restore change the whole array.
//   used       the array may be changed, but a block that this rank got in the phase was changed by nobody else in it,
//              nor one that this rank has put: the phase rule (runtime/core/store/README.md) allows neither. Copies of
// other
//              blocks go.
//   compared   these too stay, where the text puts to few of the array's blocks per phase: the next get asks their
//              owner whether they have changed, and has them sent if so. That needs no promise at all, but pays only if
//              most have not.
// In the new phase the copy is as good as one fetched in it: another rank's change of a block that this rank gets would
// break the phase rule, and this rank's own change throws the retained copy away. A use without a get stays an error,
// an absent block is asked for again, and --check and --store=copy keep nothing: all that is the store's part.

namespace sial::plan {
namespace {

class Keeper {
 public:
  Keeper(ir::Program& program, Plan& plan) : p_(program), plan_(plan), traffic_(program), phases_(program) {}

  void run() {
    remote_.resize(p_.arrays.size());
    in_parts_.assign(p_.arrays.size(), -1);
    for (std::size_t a = 0; a < p_.arrays.size(); ++a) remote_[a] = is_remote(p_.arrays[a].kind);
    read_program();
    solve();
    decide();
    if (!retained_.empty()) analysis::for_each_body(p_, [&](ir::Body& body, const analysis::Path&) { insert(body); });
    announce();
  }

 private:
  struct Edge {
    const ir::Node* barrier = nullptr;
    analysis::Path path;
    analysis::PhaseId phase;  // that ends
    std::int32_t from = 0, to = 0;
  };

  /// Phases of a procedure and of its callers meet at calls: one class.
  std::int32_t find(std::int32_t x) {
    while (class_[static_cast<std::size_t>(x)] != x)
      x = class_[static_cast<std::size_t>(x)] = class_[static_cast<std::size_t>(class_[static_cast<std::size_t>(x)])];
    return x;
  }
  void join(std::int32_t a, std::int32_t b) { class_[static_cast<std::size_t>(find(a))] = find(b); }

  void read_program() {
    class_.resize(phases_.count());
    std::iota(class_.begin(), class_.end(), 0);
    std::map<ir::NodeId, analysis::PhaseId> phase_after;
    for (std::size_t q = 0; q < phases_.count(); ++q)
      for (const ir::Node* n : phases_.begins(analysis::PhaseId(q)))
        if (n != nullptr) phase_after[n->id] = analysis::PhaseId(q);
    analysis::visit(p_, [&](const ir::Node& n, const analysis::Path& path) {
      const auto* i = std::get_if<ir::Instr>(&n.value);
      if (i == nullptr) return;
      if (op_class(i->op) == OpClass::put) {
        const auto& block = std::get<ir::Block>(i->operands[0]);
        signed char& parts = in_parts_[block.array.at()];
        parts = parts != 0 && in_part(block, path) ? 1 : 0;
      }
      if (i->op != Opcode::barrier && i->op != Opcode::call) return;
      const analysis::PhaseId before = phases_.of(n.id);
      const auto after = phase_after.find(n.id);
      if (i->op == Opcode::call) {
        const std::int32_t proc = std::get<ir::ProcId>(i->operands[0]).row;
        join(before.number(), phases_.entry(proc).number());
        join((after == phase_after.end() ? before : after->second).number(), phases_.exit(proc).number());
      } else if (after != phase_after.end()) {
        edges_.push_back({&n, path, before, before.number(), after->second.number()});
      }
    });
    for (Edge& e : edges_) {
      e.from = find(e.from);
      e.to = find(e.to);
    }
  }

  /// A put that reaches one value of some index at a time, as the text has it: `where m == slot`.
  bool in_part(const ir::Block& block, const analysis::Path& path) const {
    for (const ir::Node* n : path.enclosing) {
      const auto* loop = std::get_if<ir::Loop>(&n->value);
      if (loop == nullptr) continue;
      const bool of_block = std::any_of(loop->indices.begin(), loop->indices.end(), [&](IndexId x) {
        return std::any_of(block.entries.begin(), block.entries.end(), [&](const RefEntry& e) { return e.index == x; });
      });
      if (of_block && std::any_of(loop->wheres.begin(), loop->wheres.end(), selects_one)) return true;
    }
    return false;
  }

  static bool selects_one(const ir::Where& where) {
    bool equal = false;
    analysis::for_each_instr(where.code, [&](const ir::Instr& i, const ir::Node&) {
      for (const ir::Operand& o : i.operands)
        if (const auto* relation = std::get_if<Relop>(&o)) equal |= *relation == Relop::eq;
    });
    return equal;
  }

  void solve() {
    const std::size_t n = phases_.count() * p_.arrays.size();
    touched_.assign(n, 0);
    put_.assign(p_.arrays.size(), 0);
    wanted_.assign(n, 0);
    for (std::size_t q = 0; q < phases_.count(); ++q)
      for (const analysis::ArrayTouch& t : phases_.touches(analysis::PhaseId(q))) {
        if (!remote_[t.array.at()]) continue;
        const std::size_t at = slot(find(static_cast<std::int32_t>(q)), t.array);
        if (t.own.fetched) wanted_[at] = 1;
        if (t.own.fetched || t.home.replaced) touched_[at] = 1;
        if (t.home.replaced) put_[t.array.at()] = 1;
      }
    held_ = touched_;
    for (bool changed = true; changed;) {
      changed = false;
      for (const Edge& e : edges_)
        for (std::size_t a = 0; a < p_.arrays.size(); ++a) {
          const ArrayId array(a);
          if (!remote_[a]) continue;
          const bool all = way(e, array) != KeepCopies::used;
          const std::size_t from = slot(e.from, array), to = slot(e.to, array);
          if ((all ? held_ : touched_)[from] && !held_[to]) held_[to] = 1, changed = true;
          if (all && wanted_[to] && !wanted_[from]) wanted_[from] = 1, changed = true;
        }
    }
  }

  KeepCopies way(const Edge& e, ArrayId array) const {
    if (!phases_.may_put(e.phase, array) || fault_enabled(Fault::kept_array_changes)) return KeepCopies::unchanged;
    return in_parts_[array.at()] > 0 ? KeepCopies::compared : KeepCopies::used;
  }
  std::size_t slot(std::int32_t phase, ArrayId array) const {
    return static_cast<std::size_t>(phase) * p_.arrays.size() + array.at();
  }

  void decide() {
    for (const Edge& e : edges_)
      for (std::size_t a = 0; a < p_.arrays.size(); ++a) {
        const ArrayId array(a);
        if (!remote_[a] || !held_[slot(e.from, array)] || !wanted_[slot(e.to, array)]) continue;
        const KeepCopies how = way(e, array);
        const bool stay = how != KeepCopies::used || touched_[slot(e.from, array)];
        if (stay) retained_[e.barrier->id].emplace_back(array, how);
        if (stay && how != KeepCopies::unchanged && put_[a]) announced_.insert(array);
        plan_.remarks.push_back({stay ? RemarkKind::passed : RemarkKind::analysis,
                                 "kept-copies",
                                 name_of(how, stay),
                                 e.barrier->place,
                                 array,
                                 fmt::format(fmt::runtime(text_of(how, stay)), p_.arrays[a].name),
                                 "",
                                 {},
                                 {},
                                 traffic_.executions(e.path)});
      }
  }

  static const char* name_of(KeepCopies how, bool stay) {
    if (!stay) return "given-up";
    return how == KeepCopies::unchanged ? "kept" : how == KeepCopies::used ? "used-kept" : "compared";
  }
  static const char* text_of(KeepCopies how, bool stay) {
    if (!stay)
      return "fetched copies of `{}` are given up at the barrier: the array may be changed in the phase that ends, and no block of it is got there";
    switch (how) {
      case KeepCopies::unchanged:
        return "fetched copies of `{}` are kept over the barrier: no rank can change the array in the phase that ends";
      case KeepCopies::used:
        return "copies of the blocks of `{}` that a rank gets or puts in the phase that ends are kept over the barrier: no other rank may change them";
      default:
        return "fetched copies of `{}` are kept over the barrier: the next get asks their owner whether they have changed, and only then for the data";
    }
  }

  void insert(ir::Body& body) {
    for (std::size_t k = 0; k < body.size(); ++k) {
      const auto found = retained_.find(body[k].id);
      if (found == retained_.end()) continue;
      const SourcePlace place = body[k].place;
      for (const auto& [array, how] : found->second) {
        body.insert(body.begin() + static_cast<std::ptrdiff_t>(k),
                    make_node(p_, place, Opcode::keep_copies, {array, ir::Imm{static_cast<std::int32_t>(how)}}));
        ++k;
      }
    }
  }

  /// The store holds on to a rank's own puts once it knows that they are wanted: from the beginning.
  void announce() {
    if (p_.main.empty()) return;
    const SourcePlace place = p_.main.front().place;
    for (const ArrayId array : announced_)
      p_.main.insert(p_.main.begin(), make_node(p_, place, Opcode::keep_copies,
                                                {array, ir::Imm{static_cast<std::int32_t>(KeepCopies::used)}}));
  }

  ir::Program& p_;
  Plan& plan_;
  Traffic traffic_;
  analysis::Phases phases_;
  std::vector<char> remote_, put_;  // by array
  std::set<ArrayId> announced_;
  std::vector<signed char>
      in_parts_;  // by array: whether all its puts reach one part of it at a time; -1: there are none
  std::vector<std::int32_t> class_;
  std::vector<Edge> edges_;
  std::vector<char> touched_, held_,
      wanted_;  // by class of phases and array: got or put in it, there at its end, of use in it or later
  std::map<ir::NodeId, std::vector<std::pair<ArrayId, KeepCopies>>> retained_;
};

}  // namespace

void keep_copies(ir::Program& program, Plan& plan) { Keeper(program, plan).run(); }

}  // namespace sial::plan
