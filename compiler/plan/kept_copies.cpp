#include "compiler/plan/kept_copies.h"

#include <algorithm>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "compiler/analysis/phases.h"
#include "compiler/plan/traffic.h"

// Why it is right. A copy shows the block as it was in the phase in which it was fetched. It is still the block's value behind a barrier
// if nobody has changed the array between the last barrier and this one; Phases tells that from the text: every statement that some run
// may execute in the phase, through calls and around loops, and since all ranks meet at the same barriers, that is what any rank may have
// done. put in every form, delete, destroy and restore count as changes of the whole array. In the new phase the copy is as
// good as one fetched in it: another rank's change of a block that this rank gets would break the phase rule, and this rank's own change
// throws the kept copy away. A use without a get stays an error, an absent block is asked for again, and --check and --store=copy
// keep nothing: all that is the store's part.

namespace sial::plan {
namespace {

class Keeper {
 public:
  Keeper(ir::Program& program, Plan& plan) : p_(program), plan_(plan), traffic_(program), phases_(program) {}

  void run() {
    remote_.resize(p_.arrays.size());
    for (std::size_t a = 0; a < p_.arrays.size(); ++a) remote_[a] = is_remote(p_.arrays[a].kind);
    read_program();
    solve();
    decide();
    if (!kept_.empty())
      analysis::for_each_body(p_, [&](ir::Body& body, const analysis::Path&) { insert(body); });
  }

 private:
  struct Edge {
    const ir::Node* barrier = nullptr;
    analysis::Path path;
    analysis::PhaseId phase = 0;  // that ends
    std::int32_t from = 0, to = 0;
  };

  /// Phases of a procedure and of its callers meet at calls: one class.
  std::int32_t find(std::int32_t x) {
    while (class_[static_cast<std::size_t>(x)] != x) x = class_[static_cast<std::size_t>(x)] = class_[static_cast<std::size_t>(class_[static_cast<std::size_t>(x)])];
    return x;
  }
  void join(std::int32_t a, std::int32_t b) { class_[static_cast<std::size_t>(find(a))] = find(b); }

  void read_program() {
    class_.resize(phases_.count());
    std::iota(class_.begin(), class_.end(), 0);
    std::map<ir::NodeId, analysis::PhaseId> behind;
    for (std::size_t q = 0; q < phases_.count(); ++q)
      for (const ir::Node* n : phases_.begins(static_cast<analysis::PhaseId>(q)))
        if (n != nullptr) behind[n->id] = static_cast<analysis::PhaseId>(q);
    analysis::visit(p_, [&](const ir::Node& n, const analysis::Path& path) {
      const auto* i = std::get_if<ir::Instr>(&n.value);
      if (i == nullptr || (i->op != Opcode::barrier && i->op != Opcode::call)) return;
      const analysis::PhaseId before = phases_.of(n.id);
      const auto after = behind.find(n.id);
      if (i->op == Opcode::call) {
        const std::int32_t proc = std::get<ir::ProcId>(i->operands[0]).row;
        join(before, phases_.entry(proc));
        join(after == behind.end() ? before : after->second, phases_.exit(proc));
      } else if (after != behind.end()) {
        edges_.push_back({&n, path, before, before, after->second});
      }
    });
    for (Edge& e : edges_) {
      e.from = find(e.from);
      e.to = find(e.to);
    }
  }

  void solve() {
    const std::size_t n = phases_.count() * p_.arrays.size();
    held_.assign(n, 0);
    wanted_.assign(n, 0);
    for (std::size_t q = 0; q < phases_.count(); ++q)
      for (const analysis::ArrayTouch& t : phases_.touches(static_cast<analysis::PhaseId>(q)))
        if (t.own.fetched && remote_[static_cast<std::size_t>(t.array)]) {
          const std::size_t at = slot(find(static_cast<std::int32_t>(q)), t.array);
          held_[at] = wanted_[at] = 1;
        }
    for (bool changed = true; changed;) {
      changed = false;
      for (const Edge& e : edges_)
        for (std::size_t a = 0; a < p_.arrays.size(); ++a) {
          const auto array = static_cast<std::int32_t>(a);
          if (!remote_[a] || changed_in(e, array)) continue;
          const std::size_t from = slot(e.from, array), to = slot(e.to, array);
          if (held_[from] && !held_[to]) held_[to] = 1, changed = true;
          if (wanted_[to] && !wanted_[from]) wanted_[from] = 1, changed = true;
        }
    }
  }

  bool changed_in(const Edge& e, std::int32_t array) const { return phases_.may_put(e.phase, array); }
  std::size_t slot(std::int32_t phase, std::int32_t array) const {
    return static_cast<std::size_t>(phase) * p_.arrays.size() + static_cast<std::size_t>(array);
  }

  void decide() {
    for (const Edge& e : edges_)
      for (std::size_t a = 0; a < p_.arrays.size(); ++a) {
        const auto array = static_cast<std::int32_t>(a);
        if (!remote_[a] || !held_[slot(e.from, array)] || !wanted_[slot(e.to, array)]) continue;
        const std::string& name = p_.arrays[a].name;
        const bool changed = changed_in(e, array);
        if (!changed) kept_[e.barrier->id].push_back(array);
        plan_.remarks.push_back({changed ? RemarkKind::analysis : RemarkKind::passed, "kept-copies", changed ? "given-up" : "kept", e.barrier->place, array,
                                 changed ? fmt::format("fetched copies of `{}` are given up at the barrier: the array may be changed in the phase that ends", name)
                                         : fmt::format("fetched copies of `{}` are kept over the barrier: no rank can change the array in the phase that ends", name),
                                 "", {}, {}, traffic_.executions(e.path)});
      }
  }

  void insert(ir::Body& body) {
    for (std::size_t k = 0; k < body.size(); ++k) {
      const auto found = kept_.find(body[k].id);
      if (found == kept_.end()) continue;
      const SourcePlace place = body[k].place;
      for (const std::int32_t array : found->second) {
        body.insert(body.begin() + static_cast<std::ptrdiff_t>(k), make_node(p_, place, Opcode::keep_copies, {ir::ArrayId{array}}));
        ++k;
      }
    }
  }

  ir::Program& p_;
  Plan& plan_;
  Traffic traffic_;
  analysis::Phases phases_;
  std::vector<char> remote_;
  std::vector<std::int32_t> class_;
  std::vector<Edge> edges_;
  std::vector<char> held_, wanted_;  // by class of phases and array
  std::map<ir::NodeId, std::vector<std::int32_t>> kept_;
};

}  // namespace

void keep_copies(ir::Program& program, Plan& plan) { Keeper(program, plan).run(); }

}  // namespace sial::plan
