#include "compiler/sema/rank.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "compiler/sema/accesses.h"
#include "compiler/sema/flow.h"
#include "compiler/sema/super_table.h"

namespace sial::sema {

namespace {

// The certainty that a value differs between workers. `restored`: it does not where all workers restore the same from
// earlier programs, which the runtime knows. `perhaps` is enough to give up dynamic scheduling, which needs all workers
// to meet the same pardos with the same candidates; a warning needs `surely`.
using Level = std::uint8_t;
constexpr Level same = 0, restored = 1, perhaps = 2, surely = 3;

class RankDomain {
 public:
  struct State {
    bool live = true;
    std::vector<Level> levels;  // by symbol: scalars, ints, arrays
    Level control = same;       // of the conditions that decide whether this point is reached
    Level left = same;          // part of it that stays until the end of the iteration: an exit or return was possible
    bool departed = false;      // dead by exit or return, not by stop
    const ast::Stmt* pardo = nullptr;
    const ast::Relation* why = nullptr;  // the condition behind `control`; not part of the value

    bool operator==(const State& other) const {
      return live == other.live && levels == other.levels && control == other.control && left == other.left &&
             departed == other.departed && pardo == other.pardo;
    }
    bool join(const State& other) {
      bool changed = false;
      for (std::size_t i = 0; i < levels.size(); ++i) {
        if (levels[i] >= other.levels[i]) continue;
        levels[i] = other.levels[i];
        changed = true;
      }
      if (control < other.control) {
        control = other.control;
        why = other.why;
        changed = true;
      }
      if (left < other.left) {
        left = other.left;
        changed = true;
      }
      return changed;
    }
  };

  explicit RankDomain(CheckedProgram& program) : program_(program) {}

  void simple(const ast::Stmt& stmt, State& s) {
    if (const auto* scalar = std::get_if<ast::AssignName>(&stmt.node)) {
      Level& target = s.levels[id(scalar->target)];
      const Level value = std::max(level(*scalar->value, s), s.control);
      target = s.pardo ? surely : scalar->op == ast::AssignOp::set ? value : std::max(target, value);
    } else if (const auto* block = std::get_if<ast::AssignBlock>(&stmt.node)) {
      write_array(s, id(block->target.array), level(*block->value, s), block->op == ast::AssignOp::set);
    } else if (const auto* region = std::get_if<ast::AssignRegion>(&stmt.node)) {
      write_array(s, id(region->target.array), level(*region->value, s), true);
    } else if (const auto* collective = std::get_if<ast::Collective>(&stmt.node)) {
      meets(stmt, s);
      Level& target = s.levels[id(collective->target)];
      target = s.pardo ? surely : std::max(target, s.control);
    } else if (const auto* agree = std::get_if<ast::AssertSame>(&stmt.node)) {
      meets(stmt, s);
      s.levels[id(agree->scalar)] = s.pardo ? surely : s.control;
    } else if (const auto* broadcast = std::get_if<ast::Broadcast>(&stmt.node)) {
      meets(stmt, s);
      s.levels[id(broadcast->array)] = s.pardo ? surely : std::max(level(*broadcast->source, s), s.control);
    } else if (const auto* execute = std::get_if<ast::Execute>(&stmt.node)) {
      run_special(*execute, s);
    } else if (const auto* persistent = std::get_if<ast::Persistent>(&stmt.node)) {
      if (!persistent->restore) return;
      // Blocks of remote arrays are the same for all; of the rest every worker restores what it saved.
      const std::size_t item = id(persistent->item);
      s.levels[item] = std::max(
          program_.symbols[item].kind == SymbolKind::array && program_.symbols[item].remote() ? same : restored,
          s.control);
    } else if (std::holds_alternative<ast::Barrier>(stmt.node) || std::holds_alternative<ast::Section>(stmt.node) ||
               std::holds_alternative<ast::Delete>(stmt.node)) {
      meets(stmt, s);
    }
  }

  void branch(const ast::Stmt&, const ast::If& node, State& s) { control_by(node.condition, s); }

  void merge(const ast::Stmt&, const State& before, State& a, const State& b) {
    if (b.live) a.join(b);
    else if (b.departed) a.left = std::max(a.left, a.control);  // who is still here depends on the condition
    a.control = std::max(before.control, a.left);
    if (a.control == before.control) a.why = before.why;
  }

  void iteration(const ast::Stmt& loop, State& s, const State* exits) {
    const bool parallel = std::holds_alternative<ast::PardoLoop>(loop.node);
    if (parallel) depends(loop, exits ? perhaps : s.control);
    if (exits && s.control < exits->control) {
      s.control = exits->control;
      s.why = exits->why;
    }
    if (parallel) s.pardo = &loop;
  }

  void where(const ast::Stmt& loop, const ast::Relation& relation, State& s) {
    if (std::holds_alternative<ast::PardoLoop>(loop.node)) depends(loop, level(relation, s));
    control_by(relation, s);
  }

  void next(const ast::Stmt&, const State& before, State& s) { restore(before, s); }

  void leave(const ast::Stmt&, const State& before, State& s) {
    restore(before, s);
    s.control = std::max(s.control, returned_);
    s.left = std::max(s.left, returned_);
  }

  void departs(const ast::Stmt& stmt, State& s) {
    s.departed = true;
    if (!std::holds_alternative<ast::Return>(stmt.node)) return;
    if (s.pardo) depends(*s.pardo, perhaps);  // it ends this worker's share
    returned_ = std::max(returned_, s.control);
  }

  void returned(const ast::Stmt&, const State& before, State& s) { restore(before, s); }

  const std::map<const ast::Stmt*, Level>& dependent() const { return dependent_; }
  const std::map<const ast::Stmt*, const ast::Relation*>& divided() const { return divided_; }

 private:
  std::size_t id(const ast::Name& name) const { return static_cast<std::size_t>(program_.names.at(&name)); }

  static void restore(const State& before, State& s) {
    s.control = before.control;
    s.left = before.left;
    s.why = before.why;
    s.pardo = before.pardo;
    s.departed = false;
  }

  Level level(const ast::Expr& e, const State& s) const {
    Level result = same;
    for_each_variable(program_, e,
                      [&](SymbolId v) { result = std::max(result, s.levels[static_cast<std::size_t>(v)]); });
    for (const Access& access : accesses(program_, e))
      result = std::max(result, s.levels[static_cast<std::size_t>(access.array)]);
    return result;
  }

  Level level(const ast::Relation& relation, const State& s) const {
    return std::max(level(*relation.left, s), level(*relation.right, s));
  }

  void control_by(const ast::Relation& relation, State& s) const {
    if (const Level l = level(relation, s); l > s.control) {
      s.control = l;
      s.why = &relation;
    }
  }

  // Other blocks of the array may keep their values, so `=` takes the certainty away but not the suspicion.
  void write_array(State& s, std::size_t array, Level value, bool replace) const {
    Level& target = s.levels[array];
    value = std::max(value, s.control);
    target = s.pardo ? surely : std::max(value, replace ? std::min(target, perhaps) : target);
  }

  void run_special(const ast::Execute& execute, State& s) const {
    const Symbol& special = program_.symbol_of(execute.special);
    Level result = perhaps;
    if (special.name == "get_my_rank") result = surely;
    else if (table_signatures(special.name))
      result = same;  // those of the table see their arguments and the job's data alone
    const auto item = [&](const ast::Arg& arg) -> std::ptrdiff_t {
      if (const auto* block = std::get_if<ast::Block>(&arg.node)) return static_cast<std::ptrdiff_t>(id(block->array));
      if (const auto* region = std::get_if<ast::Region>(&arg.node))
        return static_cast<std::ptrdiff_t>(id(region->array));
      if (const auto* name = std::get_if<ast::Name>(&arg.node)) return static_cast<std::ptrdiff_t>(id(*name));
      return -1;
    };
    for (std::size_t i = 0; i < execute.args.size(); ++i)
      if (const auto which = item(execute.args[i]); which >= 0 && special.signature[i] != 'w')
        result = std::max(result, s.levels[static_cast<std::size_t>(which)]);
    for (std::size_t i = 0; i < execute.args.size(); ++i) {
      const auto which = item(execute.args[i]);
      if (which < 0 || special.signature[i] == 'r') continue;
      const auto symbol = static_cast<std::size_t>(which);
      if (program_.symbols[symbol].kind == SymbolKind::scalar)
        s.levels[symbol] = s.pardo ? surely : std::max(result, s.control);
      else write_array(s, symbol, result, special.signature[i] == 'w');
    }
  }

  void depends(const ast::Stmt& pardo, Level level) {
    if (level == same) return;
    Level& known = dependent_[&pardo];
    known = std::max(known, level);
  }

  void meets(const ast::Stmt& stmt, const State& s) {
    if (s.control == surely && !s.pardo) divided_.emplace(&stmt, s.why);
  }

  CheckedProgram& program_;
  std::map<const ast::Stmt*, Level> dependent_;
  std::map<const ast::Stmt*, const ast::Relation*> divided_;
  Level returned_ = same;
};

}  // namespace

void follow_ranks(CheckedProgram& program, Emitter& emitter) {
  RankDomain domain(program);
  RankDomain::State start;
  start.levels.assign(program.symbols.size(), same);
  if (!FlowWalker<RankDomain>(program, domain).run(std::move(start))) {
    for (auto& [stmt, info] : program.pardos) info.rank_dependence = RankDependence::possible;
    return;
  }
  for (const auto& [pardo, level] : domain.dependent())
    program.pardos.at(pardo).rank_dependence = level == restored ? RankDependence::saved : RankDependence::possible;
  std::vector<std::pair<const ast::Stmt*, const ast::Relation*>> places(domain.divided().begin(),
                                                                        domain.divided().end());
  std::sort(places.begin(), places.end(), [](const auto& a, const auto& b) { return a.first->id < b.first->id; });
  for (const auto& [stmt, why] : places) {
    Diagnostic& d = emitter.report(
        Code::W_BARRIER_BRANCH, stmt->header_span,
        "whether a worker comes here depends on values of its own; the others may wait for it for ever",
        "make the condition the same everywhere: `collective`, `assert_same` or `broadcast_from` its values first");
    if (why) d.notes.push_back({why->span, "this condition may differ between workers"});
  }
}

}  // namespace sial::sema
