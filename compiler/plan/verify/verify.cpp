#include "compiler/plan/verify/verify.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "compiler/analysis/alias.h"
#include "compiler/analysis/home_lifetime.h"
#include "compiler/analysis/lifetime.h"
#include "compiler/analysis/phases.h"
#include "compiler/plan/slice/verify_slice.h"
#include "runtime/core/base/check.h"

namespace sial::plan {
namespace {

using namespace sial::analysis;

std::string_view name_of(Opcode op) { return opcode_info(op)->name; }

const ir::Instr* instruction_of(const ir::Node& n) { return std::get_if<ir::Instr>(&n.value); }

std::string place(const ir::Program& p, const ir::Node& n) {
  return fmt::format("node {} at {}:{}:{}", n.id, p.files.at(static_cast<std::size_t>(n.place.file)), n.place.line,
                     n.place.column);
}

class Verifier {
 public:
  Verifier(const ir::Program& before, const ir::Program& after, const Plan& plan)
      : before_(before), p_(after), plan_(plan) {
    visit(p_, [&](const ir::Node& n, const Path&) { after_nodes_[n.id] = &n; });
  }

  void run() {
    effects();
    barriers();
    last_uses();
    initialised();
    verify_slices(p_, plan_.slices);
  }

 private:
  /// All effects on the world and all collectives are there, under the same numbers and with the same operation.
  void effects() const {
    visit(before_, [&](const ir::Node& n, const Path&) {
      const ir::Instr* i = instruction_of(n);
      if (i == nullptr || i->op == Opcode::barrier) return;
      const Effects e = effects_of(before_, *i);
      if (!e.collective && !e.output && !e.persistent && !e.ends_job && op_class(i->op) != OpClass::execute) return;
      const auto kept = after_nodes_.find(n.id);
      const ir::Instr* now = kept == after_nodes_.end() ? nullptr : instruction_of(*kept->second);
      SIAL_CHECK(now != nullptr && now->op == i->op,
                 "plan: {}: `{}` was dropped or changed, and it has effects that others see", place(before_, n),
                 name_of(i->op));
    });
  }

  /// Barriers that are gone: the phases on both sides become one, in which no remote array may be both changed and
  /// otherwise used.
  void barriers() const {
    std::vector<const ir::Node*> gone;
    visit(before_, [&](const ir::Node& n, const Path&) {
      const ir::Instr* i = instruction_of(n);
      if (i != nullptr && i->op == Opcode::barrier && !after_nodes_.contains(n.id)) gone.push_back(&n);
    });
    if (gone.empty()) return;
    const Phases phases(before_);
    std::map<PhaseId, PhaseId> group;  // union of phases by the barriers that are gone
    const auto root = [&](PhaseId x) {
      while (group.contains(x) && group[x] != x) x = group[x];
      return x;
    };
    std::map<const ir::Node*, std::vector<PhaseId>> begun;
    for (std::size_t id = 0; id < phases.count(); ++id)
      for (const ir::Node* n : phases.begins(static_cast<PhaseId>(id))) begun[n].push_back(static_cast<PhaseId>(id));
    for (const ir::Node* n : gone)
      for (const PhaseId id : begun[n])
        if (const PhaseId from = root(id), to = root(phases.of(n->id)); from != to) group[from] = to;
    std::map<PhaseId, std::vector<PhaseId>> members;
    std::set<PhaseId> all;
    for (const auto& [a, b] : group) all.insert({a, b});
    for (const PhaseId id : all) members[root(id)].push_back(id);
    for (const auto& [first, list] : members) separate(phases, list, *gone.front());
  }

  /// Phases that have become one: no array is changed in one of them and otherwise used in another, nor changed
  /// privately in one and fetched in another.
  void separate(const Phases& phases, const std::vector<PhaseId>& list, const ir::Node& at) const {
    struct Users {
      std::size_t changed = 0, used = 0, privately = 0, fetched = 0, privately_and_fetched = 0;
    };  // phases that do so
    std::map<ArrayId, Users> users;
    for (const PhaseId phase : list)
      for (const ArrayTouch& t : phases.all_touches(phase)) {
        if (!is_remote_array(before_, t.array)) continue;
        Users& u = users[t.array];
        const bool privately = t.own.replaced || t.own.accumulated;
        u.changed += t.home.written();
        u.used += t.home.any();
        u.privately += privately;
        u.fetched += t.home.read;
        u.privately_and_fetched += privately && t.home.read;
      }
    for (const auto& [array, u] : users) {
      // Of two sets of phases, some member of one is not the only member of the other: unless one is empty or both are
      // the same single one.
      const bool both =
          u.privately > 0 && u.fetched > 0 && !(u.privately == 1 && u.fetched == 1 && u.privately_and_fetched == 1);
      SIAL_CHECK(!(u.changed > 0 && u.used > 1) && !both,
                 "plan: {}: a barrier was dropped between uses of `{}` that it separated", place(before_, at),
                 array_name(before_, array));
    }
  }

  /// Blocks that are freed have no later use; arrays whose copies are kept are not changed in the phase.
  void last_uses() {
    std::vector<std::pair<const ir::Node*, std::size_t>> freed;
    std::vector<const ir::Node*> kept, discarded;
    for (const auto& [id, n] : after_nodes_) {
      const ir::Instr* i = instruction_of(*n);
      if (i == nullptr) continue;
      if (name_of(i->op) == "free_block") freed.emplace_back(n, 0);
      if (name_of(i->op) == "keep_copies") kept.push_back(n);
      if (i->op == Opcode::discard_values) discarded.push_back(n);
    }
    if (!freed.empty() && !lifetimes_) lifetimes_.emplace(p_);
    for (const auto& [n, operand] : freed)
      SIAL_CHECK(lifetimes_->dead_after(n->id, operand), "plan: {}: `{}` is freed before its last use", place(p_, *n),
                 text_of(p_, std::get<ir::Block>(std::get<ir::Instr>(n->value).operands[operand])));
    check_discards(discarded);
    if (kept.empty()) return;
    const Phases phases(p_);
    for (const ir::Node* n : kept) {
      const ArrayId array = std::get<ArrayId>(instruction_of(*n)->operands[0]);
      const auto how = static_cast<KeepCopies>(std::get<ir::Imm>(instruction_of(*n)->operands[1]).value);
      SIAL_CHECK(is_remote_array(p_, array), "plan: {}: copies of `{}`, which is not remote, are kept", place(p_, *n),
                 array_name(p_, array));
      SIAL_CHECK(how != KeepCopies::unchanged || !phases.may_put(phases.of(n->id), array),
                 "plan: {}: copies of `{}` are kept over a phase that may change it", place(p_, *n),
                 array_name(p_, array));
    }
  }

  /// Values that are given up stand after a barrier after which nobody uses them.
  void check_discards(const std::vector<const ir::Node*>& discarded) {
    if (discarded.empty()) return;
    const HomeLifetimes lifetimes(p_);
    std::map<ir::NodeId, ir::NodeId> barriers;  // by node, of those that follow one in its list of statements
    const auto look = [&](const ir::Body& body) {
      const ir::Node* barrier = nullptr;
      for (const ir::Node& n : body) {
        const ir::Instr* i = instruction_of(n);
        if (i != nullptr && i->op == Opcode::discard_values && barrier != nullptr) barriers[n.id] = barrier->id;
        else barrier = i != nullptr && i->op == Opcode::barrier ? &n : nullptr;
      }
    };
    for (const ir::Procedure& proc : p_.procs) for_each_list(proc.body, look);
    for_each_list(p_.main, look);
    for (const ir::Node* n : discarded) {
      const ArrayId array = std::get<ArrayId>(instruction_of(*n)->operands[0]);
      const auto barrier = barriers.find(n->id);
      SIAL_CHECK(
          barrier != barriers.end() && is_remote_array(p_, array) && lifetimes.dead_after(barrier->second, array),
          "plan: {}: values of `{}` are given up that may be used later", place(p_, *n), array_name(p_, array));
    }
  }

  template <class F>
  static void for_each_list(const ir::Body& body, const F& f) {
    f(body);
    for (const ir::Node& n : body) {
      if (const auto* loop = std::get_if<ir::Loop>(&n.value)) for_each_list(loop->body, f);
      else if (const auto* section = std::get_if<ir::Section>(&n.value)) for_each_list(section->body, f);
      else if (const auto* branch = std::get_if<ir::If>(&n.value))
        for_each_list(branch->then_body, f), for_each_list(branch->else_body, f);
    }
  }

  /// Temps and locals that certainly held something when they were read still do. Only where nothing but the program's
  /// own instructions makes their blocks: what passes insert (blocks made at the first use, shared ones) has rules that
  /// the flow does not see.
  void initialised() {
    std::set<ArrayId> theirs;  // those that inserted instructions touch
    for (const auto& [id, n] : after_nodes_) {
      const ir::Instr* i = instruction_of(*n);
      if (i == nullptr || (id < before_.n_nodes && !has(i->op, op::planned))) continue;
      for (const ArrayUse& u : array_uses(p_, *i)) theirs.insert(u.array);
    }
    // What runs only once, in an if that a pass put around it, says nothing any more about what exists after it.
    visit(p_, [&](const ir::Node& n, const Path& path) {
      const ir::Instr* i = instruction_of(n);
      if (i == nullptr || std::none_of(path.enclosing.begin(), path.enclosing.end(),
                                       [&](const ir::Node* e) { return e->id >= before_.n_nodes; }))
        return;
      for (const ArrayUse& u : array_uses(p_, *i)) theirs.insert(u.array);
    });
    const Lifetimes was(before_);
    if (!lifetimes_) lifetimes_.emplace(p_);
    visit(before_, [&](const ir::Node& n, const Path&) {
      const ir::Instr* i = instruction_of(n);
      if (i == nullptr) return;
      for (const ArrayUse& u : array_uses(before_, *i)) {
        if (u.side != Side::own || u.block == nullptr || !u.reads() || theirs.contains(u.array) ||
            is_remote_array(before_, u.array))
          continue;
        if (!was.initialised(n.id, u.operand)) continue;
        const auto now = after_nodes_.find(n.id);
        const ir::Instr* j = now == after_nodes_.end() ? nullptr : instruction_of(*now->second);
        if (j == nullptr || j->op != i->op || u.operand >= j->operands.size()) continue;
        const auto* same = std::get_if<ir::Block>(&j->operands[u.operand]);
        if (same == nullptr || same->array != u.array || same->entries != u.block->entries) continue;
        SIAL_CHECK(lifetimes_->initialised(n.id, u.operand),
                   "plan: {}: `{}` is read, and what gave it its value is gone", place(p_, *now->second),
                   text_of(p_, u));
      }
    });
  }

  const ir::Program& before_;
  const ir::Program& p_;
  const Plan& plan_;
  std::map<ir::NodeId, const ir::Node*> after_nodes_;
  std::optional<Lifetimes> lifetimes_;
};

}  // namespace

void verify(const ir::Program& unoptimized, const ir::Program& program, const Plan& plan) {
  Verifier(unoptimized, program, plan).run();
}

}  // namespace sial::plan
