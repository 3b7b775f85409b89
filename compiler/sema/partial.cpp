#include "compiler/sema/partial.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/sema/accesses.h"
#include "compiler/sema/each_stmt.h"
#include "compiler/sema/flow.h"
#include "compiler/sema/patterns.h"
#include "compiler/sema/super_table.h"

namespace sial::sema {

namespace {

/// The share that a variable or array holds of a value that is spread over the ranks.
struct Share {
  enum class Stage : std::uint8_t {
    whole,
    ended,
    running
  };  // ended: the pardo that made it is over; running: this pardo makes it
  Stage stage = Stage::whole;
  bool accumulated = false;           // else set: what the last iteration of this rank left
  bool always = false;                // set in every iteration, whatever the conditions
  bool constant = false;              // set to the same value everywhere, so far
  const ast::Stmt* summed = nullptr;  // where the shares were summed up since; not part of the order
  SymbolId root = no_symbol;          // the variable or array that became partial
  const ast::Stmt* made = nullptr;    // the statement that made it so
  const ast::Stmt* filled =
      nullptr;  // of scalars: the statement that gave all ranks a value other than zero, which their shares begin with

  bool partial() const { return stage == Stage::ended && !constant; }
  int order() const { return 3 * static_cast<int>(stage) + (accumulated ? 2 : constant ? 0 : 1); }
  bool operator==(const Share&) const = default;
};

/// By symbol, in their order. Most hold nothing of a share and take no place: states are copied at every branch, loop
/// and call. A reference to a share is good until another symbol gets one.
class Shares {
 public:
  Share& operator[](SymbolId id) {
    const auto at = std::lower_bound(held_.begin(), held_.end(), id, before);
    return at != held_.end() && at->first == id ? at->second : held_.insert(at, {id, {}})->second;
  }
  const Share& operator[](SymbolId id) const {
    static const Share nothing;
    const auto at = std::lower_bound(held_.begin(), held_.end(), id, before);
    return at != held_.end() && at->first == id ? at->second : nothing;
  }
  auto begin() { return held_.begin(); }
  auto end() { return held_.end(); }
  auto begin() const { return held_.begin(); }
  auto end() const { return held_.end(); }
  bool operator==(const Shares& other) const { return held_ == other.held_ || (agrees(other) && other.agrees(*this)); }

 private:
  using Entry = std::pair<SymbolId, Share>;
  static bool before(const Entry& entry, SymbolId id) { return entry.first < id; }
  bool agrees(const Shares& other) const {
    return std::all_of(held_.begin(), held_.end(),
                       [&](const Entry& entry) { return entry.second == other[entry.first]; });
  }

  std::vector<Entry> held_;
};

class PartialDomain {
 public:
  struct State {
    bool live = true;
    bool parallel = false;  // inside a pardo whose iterations are shared out
    bool single = false;    // which has one iteration
    int depth = 0;          // conditions around this point within the pardo
    bool own = false;       // under a condition on the rank's number: what is done here is meant for this rank alone
    Shares shares;

    bool operator==(const State&) const = default;
    bool join(const State& other) {
      if (shares == other.shares) return false;
      bool changed = false;
      for (const auto& entry : other.shares) shares[entry.first];
      for (auto& [id, mine] : shares) changed |= join(mine, other.shares[id]);
      return changed;
    }

   private:
    static bool join(Share& mine, const Share& theirs) {
      bool changed = false;
      if (theirs.stage != Share::Stage::whole && mine.stage != Share::Stage::whole && mine.always && !theirs.always) {
        mine.always = false;
        changed = true;
      }
      if (mine.filled && !theirs.filled) {
        mine.filled = nullptr;
        changed = true;
      }
      if (!mine.summed && theirs.summed && theirs.stage == mine.stage) {
        mine.summed = theirs.summed;
        changed = true;
      }
      if (theirs.order() <= mine.order()) return changed;
      const bool always = mine.stage == Share::Stage::whole ? theirs.always : mine.always && theirs.always;
      const ast::Stmt* filled = mine.filled;
      mine = theirs;
      mine.always = always;
      mine.filled = filled;
      return true;
    }
  };

  PartialDomain(const CheckedProgram& program, Emitter& emitter) : program_(program), emitter_(emitter) {
    const auto look = [&](const ast::Stmt& stmt) {
      const auto* execute = std::get_if<ast::Execute>(&stmt.node);
      if (!execute) return;
      const std::string& name = program.symbol_of(execute->special).name;
      if (name == "enable_all_rank_print") every_rank_prints_ = true;
      if (name != "get_my_rank" || execute->args.empty()) return;
      if (const auto* rank = std::get_if<ast::Name>(&execute->args[0].node)) ranks_.insert(program.names.at(rank));
    };
    for (const Symbol& s : program.symbols)
      if (s.kind == SymbolKind::proc && s.reachable) for_each_stmt(s.proc->body, look);
    for (const ast::Module* module : program.bodies) for_each_stmt(module->statements, look);
  }

  State start() const { return {}; }

  void simple(const ast::Stmt& stmt, State& s) {
    if (const auto* scalar = std::get_if<ast::AssignName>(&stmt.node)) assign_scalar(stmt, *scalar, s);
    else if (const auto* block = std::get_if<ast::AssignBlock>(&stmt.node))
      assign_array(stmt, program_.names.at(&block->target.array), block->op, *block->value, s);
    else if (const auto* region = std::get_if<ast::AssignRegion>(&stmt.node))
      assign_array(stmt, program_.names.at(&region->target.array), region->op, *region->value, s);
    else if (const auto* put = std::get_if<ast::Put>(&stmt.node)) put_value(stmt, *put, s);
    else if (const auto* collective = std::get_if<ast::Collective>(&stmt.node)) collect(stmt, *collective, s);
    else if (const auto* agree = std::get_if<ast::AssertSame>(&stmt.node)) at(s, agree->scalar) = {};
    else if (const auto* broadcast = std::get_if<ast::Broadcast>(&stmt.node)) at(s, broadcast->array) = {};
    else if (const auto* print = std::get_if<ast::Print>(&stmt.node)) print_value(*print, s);
    else if (const auto* execute = std::get_if<ast::Execute>(&stmt.node)) run_special(stmt, *execute, s);
    else if (const auto* allocate = std::get_if<ast::Allocate>(&stmt.node)) at(s, allocate->array) = {};
    else if (const auto* part = std::get_if<ast::AllocateRegion>(&stmt.node)) at(s, part->region.array) = {};
    else if (const auto* persistent = std::get_if<ast::Persistent>(&stmt.node)) persist(*persistent, s);
  }

  void branch(const ast::Stmt&, const ast::If& node, State& s) {
    for (const ast::Expr* side : {node.condition.left.get(), node.condition.right.get()}) {
      for_each_variable(program_, *side, [&](SymbolId v) { s.own = s.own || ranks_.count(v) > 0; });
      condition(*side, s);
    }
    ++s.depth;
  }

  void merge(const ast::Stmt&, const State& before, State& a, const State& b) {
    a.depth = before.depth;
    a.own = before.own;
    if (b.live) a.join(b);
  }

  void iteration(const ast::Stmt& loop, State& s, const State*) {
    last_.erase(&loop);
    if (!shared_out(loop)) return;
    s.parallel = true;
    s.single = unmentioned(program_, loop, {}).empty();
    s.depth = 0;
  }

  void where(const ast::Stmt&, const ast::Relation& relation, State& s) {
    for (const ast::Expr* side : {relation.left.get(), relation.right.get()}) condition(*side, s);
  }

  void next(const ast::Stmt& loop, const State& before, State& s) {
    restore(before, s);
    last_[&loop] = s.shares;
  }

  // A serial loop that overwrites the blocks of an array is taken to reach all of them: to execute at least one
  // iteration.
  void leave(const ast::Stmt& loop, const State& before, State& s) {
    const bool alone = !shared_out(loop) || unmentioned(program_, loop, {}).empty();
    if (const auto last = last_.find(&loop); last != last_.end() && alone)
      for (const auto& [id, share] : before.shares)
        if (share.stage == Share::Stage::ended && std::as_const(last->second)[id].stage == Share::Stage::whole)
          s.shares[id] = {};
    if (!before.parallel) end_pardo(s);
    restore(before, s);
  }

  void departs(const ast::Stmt&, State&) {}
  void returned(const ast::Stmt&, const State& before, State& s) { restore(before, s); }

 private:
  static void restore(const State& before, State& s) {
    s.parallel = before.parallel;
    s.single = before.single;
    s.depth = before.depth;
    s.own = before.own;
  }

  /// A pardo, but not one whose iterations every rank executes.
  static bool shared_out(const ast::Stmt& loop) {
    const auto* pardo = std::get_if<ast::PardoLoop>(&loop.node);
    return pardo && pardo->pragma != "SequentialPardoLoop";
  }

  static void end_pardo(State& s) {
    for (auto& [id, share] : s.shares)
      if (share.stage == Share::Stage::running) share.stage = Share::Stage::ended;
  }

  Share& at(State& s, const ast::Name& name) const { return s.shares[program_.names.at(&name)]; }
  const Share& of(const State& s, SymbolId id) const { return s.shares[id]; }

  bool tracked(SymbolId array) const {
    const Symbol& s = program_.symbol(array);
    return s.kind == SymbolKind::array &&
           (s.array_kind == ast::ArrayKind::static_ || s.array_kind == ast::ArrayKind::local);
  }

  /// The first share that an expression is made of, of pardos that are over.
  Share share_of(const ast::Expr& e, const State& s) const {
    Share found;
    for_each_variable(program_, e, [&](SymbolId v) {
      if (!found.partial() && of(s, v).partial()) found = of(s, v);
    });
    for (const Access& access : accesses(program_, e))
      if (!found.partial() && of(s, access.array).partial()) found = of(s, access.array);
    return found;
  }

  /// Whether an expression depends on the iteration: on blocks, indices, or values this pardo made.
  bool varies(const ast::Expr& e, const State& s) const {
    bool found = false;
    for_each_variable(program_, e, [&](SymbolId v) { found = found || of(s, v).stage == Share::Stage::running; });
    return found || !accesses(program_, e).empty() || has_index(e);
  }

  bool has_index(const ast::Expr& e) const {
    if (const auto* name = std::get_if<ast::NameExpr>(&e.node))
      return program_.symbol_of(name->name).kind == SymbolKind::index;
    if (const auto* unary = std::get_if<ast::Unary>(&e.node)) return has_index(*unary->operand);
    if (const auto* cast = std::get_if<ast::Cast>(&e.node)) return has_index(*cast->operand);
    if (const auto* binary = std::get_if<ast::Binary>(&e.node))
      return has_index(*binary->left) || has_index(*binary->right);
    if (const auto* paren = std::get_if<ast::Paren>(&e.node)) return has_index(*paren->inner);
    return false;
  }

  void assign_scalar(const ast::Stmt& stmt, const ast::AssignName& assign, State& s) {
    const SymbolId target = program_.names.at(&assign.target);
    nonlinear(*assign.value, s);
    if (s.parallel) use_arrays(*assign.value, s);
    Share& mine = s.shares[target];
    bool again = assign.op != ast::AssignOp::set;
    for_each_variable(program_, *assign.value, [&](SymbolId v) { again = again || v == target; });
    if (ranks_.count(target) > 0) return;
    const Share from = share_of(*assign.value, s);
    if (!s.parallel || s.single) {
      const bool fills = other_than_zero(*assign.value, s);
      if (from.partial() && !(again && mine.partial())) mine = from;
      else if (!again) mine = {};
      if (!s.parallel && !s.own && mine.stage == Share::Stage::whole && fills && assign.op != ast::AssignOp::multiply)
        mine.filled = &stmt;
    } else if (again) {
      added_again(stmt, mine);
      const ast::Stmt* filled = mine.filled;
      // What was set in this iteration and is added to is still this iteration's alone.
      if (mine.stage != Share::Stage::running)
        mine = {Share::Stage::running, true, false, false, nullptr, target, &stmt, filled};
      else if (mine.constant) mine = {Share::Stage::running, false, mine.always, false, nullptr, target, &stmt};
    } else {
      mine = {Share::Stage::running, false, s.depth == 0, !varies(*assign.value, s), nullptr, target, &stmt};
    }
  }

  void assign_array(const ast::Stmt& stmt, SymbolId target, ast::AssignOp op, const ast::Expr& value, State& s) {
    nonlinear(value, s);
    if (s.parallel) use_arrays(value, s);
    const Share from = share_of(value, s);
    Share& mine = s.shares[target];
    if (s.parallel && !s.single && tracked(target)) {
      const auto* literal = std::get_if<ast::RealLit>(&value.node);
      if (op == ast::AssignOp::set && literal && literal->value == 0.0) mine = {};
      else if (op != ast::AssignOp::multiply) {
        if (op != ast::AssignOp::set) added_again(stmt, mine);
        mine = {Share::Stage::running, op != ast::AssignOp::set, false, false, nullptr, target, &stmt};
      }
    } else if (from.partial()) {
      if (!(op != ast::AssignOp::set && mine.partial())) mine = from;
    } else if (op == ast::AssignOp::set) {
      mine = {};
    }
  }

  void put_value(const ast::Stmt& stmt, const ast::Put& put, State& s) {
    nonlinear(*put.value, s);
    if (s.parallel) use_arrays(*put.value, s);
    if (put.op == ast::AssignOp::add && !s.parallel) return sum_up(stmt, *put.value, s);
    use(*put.value, s, put.op == ast::AssignOp::add ? "is put by one rank for all" : "is put as if it were the whole");
  }

  void collect(const ast::Stmt& stmt, const ast::Collective& collective, State& s) {
    const auto* name = std::get_if<ast::NameExpr>(&collective.value->node);
    if (name && !s.parallel) {
      const Share& share = of(s, program_.names.at(&name->name));
      if (share.partial() && !share.accumulated && share.always && share.root == program_.names.at(&name->name) &&
          program_.symbol(share.root).kind == SymbolKind::scalar && reported_.insert(share.made).second) {
        Diagnostic& d = emitter_.report(
            Code::W_PARTIAL_SCALAR, collective.value->span,
            fmt::format(
                "`collective` sums what the last iteration of each rank left in `{0}`: the pardo sets `{0}` and does not add to it",
                name->name.text),
            fmt::format("set `{0}` to 0.0 before the pardo and add to it there: `{0} += ..`", name->name.text));
        d.notes.push_back({share.made->span, fmt::format("`{}` is set here", name->name.text)});
      }
    }
    if (!s.parallel) sum_up(stmt, *collective.value, s);
    at(s, collective.target) = {};
    if (!s.parallel) at(s, collective.target).filled = &stmt;
  }

  /// A number other than zero, or what is made of a scalar that was given one.
  bool other_than_zero(const ast::Expr& e, const State& s) const {
    if (const auto* literal = std::get_if<ast::RealLit>(&e.node)) return literal->value != 0.0;
    if (const auto* literal = std::get_if<ast::IntLit>(&e.node)) return literal->value != 0;
    if (const auto* unary = std::get_if<ast::Unary>(&e.node)) return other_than_zero(*unary->operand, s);
    if (const auto* paren = std::get_if<ast::Paren>(&e.node)) return other_than_zero(*paren->inner, s);
    if (const auto* cast = std::get_if<ast::Cast>(&e.node)) return other_than_zero(*cast->operand, s);
    const auto* name = std::get_if<ast::NameExpr>(&e.node);
    return name && of(s, program_.names.at(&name->name)).filled != nullptr;
  }

  /// `collective` of a share, or `put +=` of it by every rank.
  void sum_up(const ast::Stmt& stmt, const ast::Expr& value, State& s) {
    const Share share = share_of(value, s);
    if (!share.partial() || !share.accumulated || s.own) return;
    Share& root = s.shares[share.root];
    if (share.filled && reported_.insert(share.made).second) {
      const Symbol& symbol = program_.symbol(share.root);
      Diagnostic& d = emitter_.report(
          Code::W_PARTIAL_SCALAR, stmt.span,
          fmt::format("this sum counts the value that `{}` has before the pardo once for each rank", symbol.text),
          fmt::format("set `{}` to 0.0 before the pardo, and add that value to the sum", symbol.text));
      d.notes.push_back({share.filled->span, "every rank gets the value here"});
    }
    if (root.stage == Share::Stage::ended && !root.summed) root.summed = &stmt;
  }

  /// A share that a pardo adds to although it still holds what was summed up: that is summed up once more.
  void added_again(const ast::Stmt& stmt, const Share& share) {
    if (share.stage != Share::Stage::ended || !share.summed || !again_.insert(share.root).second) return;
    const Symbol& root = program_.symbol(share.root);
    const bool array = root.kind == SymbolKind::array;
    Diagnostic& d = emitter_.report(
        Code::W_PARTIAL_AGAIN, stmt.span,
        fmt::format("a pardo adds to `{}`, which still holds its share of an earlier sum: that is counted again",
                    root.text),
        fmt::format("set `{}{}` to 0.0 before the pardo", root.text, array ? "[..]" : ""));
    d.notes.push_back({share.summed->span, "it is summed up here, and not set to another value since"});
  }

  void print_value(const ast::Print& print, State& s) {
    nonlinear(*print.value, s);
    if (every_rank_prints_) return;
    use(*print.value, s, "is printed");
  }

  void persist(const ast::Persistent& persistent, State& s) {
    if (persistent.restore) {
      at(s, persistent.item) = {};
      return;
    }
    const Share& share = at(s, persistent.item);
    report(share, persistent.item.span, "is saved", s, share.root == program_.names.at(&persistent.item));
  }

  void run_special(const ast::Stmt& stmt, const ast::Execute& execute, State& s) {
    const Symbol& special = program_.symbol_of(execute.special);
    static const std::set<std::string, std::less<>> harmless = {
        "get_my_rank", "one_arg_no_op",     "set_flags2", "compute_int_scratchmem", "compute_int_scratchmem_lowmem",
        "print_block", "print_static_array"};
    const bool prints = special.name.starts_with("print_");
    const bool quiet = prints ? every_rank_prints_ : harmless.count(special.name) > 0;
    const auto symbol = [&](const ast::Arg& arg) -> SymbolId {
      if (const auto* block = std::get_if<ast::Block>(&arg.node)) return program_.names.at(&block->array);
      if (const auto* region = std::get_if<ast::Region>(&arg.node)) return program_.names.at(&region->array);
      if (const auto* name = std::get_if<ast::Name>(&arg.node)) return program_.names.at(name);
      return no_symbol;
    };
    const bool copies =
        special.name == "return_sval" || special.name == "get_first_block_element";  // the share goes into a scalar
    Share copied;
    for (std::size_t i = 0; i < execute.args.size(); ++i) {
      const SymbolId id = symbol(execute.args[i]);
      if (id == no_symbol || special.signature[i] == 'w' || only_sets(special.name, i) || !of(s, id).partial())
        continue;
      if (copies) copied = of(s, id);
      else if (!quiet && !adds_to(special.name, i))
        report(of(s, id), execute.args[i].span, prints ? "is printed" : fmt::format("is used by `{}`", special.text), s,
               of(s, id).root == id);
    }
    if (quiet) return;
    for (std::size_t i = 0; i < execute.args.size(); ++i) {
      const SymbolId id = symbol(execute.args[i]);
      if (id == no_symbol || special.signature[i] == 'r') continue;
      Share& mine = s.shares[id];
      const bool scalar = program_.symbol(id).kind == SymbolKind::scalar;
      if (s.parallel && adds_to(special.name, i)) added_again(stmt, mine);
      if (s.parallel && !s.single && (scalar || tracked(id)))
        mine = {Share::Stage::running, !scalar, scalar && s.depth == 0, false, nullptr, id, &stmt};
      else if (copied.partial()) mine = copied;
      else if (special.signature[i] == 'w' || scalar || only_sets(special.name, i)) mine = {};
    }
  }

  /// Fock matrices that a super instruction adds to may be shares: they go on being such.
  static bool adds_to(const std::string& name, std::size_t argument) {
    return name.starts_with("compute_ubatch") && argument >= 3;
  }

  /// Arguments that programs declare `u` although the super instruction does not look at what they hold.
  static bool only_sets(const std::string& name, std::size_t argument) {
    static const std::set<std::pair<std::string_view, std::size_t>> list = {
        {"return_sval", 1},    {"get_first_block_element", 1},  {"check_dconf", 1},          {"return_diagonal", 1},
        {"eigen_calc", 1},     {"eigen_calc_sqr_inv", 1},       {"eigen_calc_sqr_inv", 2},   {"gen_eigen_calc", 1},
        {"gen_eigen_calc", 2}, {"gen_eigen_calc", 3},           {"compute_nn_repulsion", 0}, {"moi_nn_repulsion", 0},
        {"set_frag", 0},       {"compute_dipole_integrals", 1}, {"return_vpq", 1},           {"stripi", 1}};
    return list.count({name, argument}) > 0;
  }

  void condition(const ast::Expr& e, const State& s) {
    if (s.parallel) use_arrays(e, s);
    else use(e, s, "decides a condition");
  }

  void use(const ast::Expr& e, const State& s, std::string_view what) {
    const Share share = share_of(e, s);
    if (!share.partial()) return;
    bool direct = false;
    for_each_variable(program_, e, [&](SymbolId v) { direct = direct || v == share.root; });
    for (const Access& access : accesses(program_, e)) direct = direct || access.array == share.root;
    report(share, e.span, what, s, direct);
  }

  /// In a pardo one rank executes an iteration for all: shares in arrays are of no use there.
  void use_arrays(const ast::Expr& e, const State& s) {
    for (const Access& access : accesses(program_, e))
      if (tracked(access.array) && of(s, access.array).partial())
        report(of(s, access.array), access.span, "is read in another pardo, whose iterations may go to other ranks", s,
               of(s, access.array).root == access.array);
  }

  /// Products of shares, quotients and roots are not shares of the result.
  void nonlinear(const ast::Expr& e, const State& s) {
    if (const auto* paren = std::get_if<ast::Paren>(&e.node)) return nonlinear(*paren->inner, s);
    if (const auto* cast = std::get_if<ast::Cast>(&e.node)) return nonlinear(*cast->operand, s);
    if (const auto* unary = std::get_if<ast::Unary>(&e.node)) {
      if (unary->op == ast::UnaryOp::sqrt) use(*unary->operand, s, "is under a root");
      return nonlinear(*unary->operand, s);
    }
    const auto* binary = std::get_if<ast::Binary>(&e.node);
    if (!binary) return;
    const bool product = binary->op == ast::BinaryOp::multiply || binary->op == ast::BinaryOp::tensor;
    if (product && share_of(*binary->left, s).partial() && share_of(*binary->right, s).partial())
      use(*binary->left, s, "is multiplied by another share");
    if (binary->op == ast::BinaryOp::divide) use(*binary->right, s, "is a divisor");
    if (binary->op == ast::BinaryOp::power) use(e, s, "is raised to a power");
    nonlinear(*binary->left, s);
    nonlinear(*binary->right, s);
  }

  /// `direct`: the expression names the partial variable itself, not another one that got its value.
  void report(const Share& share, Span span, std::string_view what, const State& s, bool direct) {
    if (!share.partial() || s.own || !reported_.insert(share.made).second) return;
    const Symbol& root = program_.symbol(share.root);
    const bool array = root.kind == SymbolKind::array;
    const std::string subject =
        direct ? fmt::format("`{}`", root.text) : fmt::format("a value made of `{}`", root.text);
    const std::string has = array               ? "has only what its own iterations of a pardo wrote"
                            : share.accumulated ? "has only what its own iterations of a pardo added"
                                                : "has what the last of its own iterations of a pardo left";
    const char* sum = root.name == "total" ? "whole" : "total";
    const std::string fix =
        array
            ? fmt::format(
                  "put the blocks into a distributed array, or sum the shares: every rank executes `put sum[..] += {}[..]` behind the pardo, then barrier and get",
                  root.text)
        : root.kind == SymbolKind::int_
            ? fmt::format(
                  "count in a scalar, sum the shares behind the pardo with `collective {1} += {0}`, and use `{1}`",
                  root.text, sum)
        : share.accumulated
            ? fmt::format(
                  "sum the shares behind the pardo, `collective {1} += {0}` with `{1}` set to 0.0 before, and use `{1}`",
                  root.text, sum)
            : fmt::format(
                  "add to it with `{0} += ..`, sum the shares behind the pardo with `collective {1} += {0}`, and use `{1}`",
                  root.text, sum);
    Diagnostic& d = emitter_.report(array ? Code::W_PARTIAL_ARRAY : Code::W_PARTIAL_SCALAR, span,
                                    fmt::format("{} {}, but each rank {}", subject, what, has), fix);
    d.notes.push_back({share.made->span, fmt::format("`{}` is {} here, in a pardo", root.text,
                                                     share.accumulated ? "added to"
                                                     : array           ? "written"
                                                                       : "set")});
  }

  const CheckedProgram& program_;
  Emitter& emitter_;
  std::set<SymbolId> ranks_;  // scalars that hold the rank's number
  bool every_rank_prints_ = false;
  std::map<const ast::Stmt*, Shares> last_;  // at the end of a loop's iteration
  std::set<const ast::Stmt*> reported_;
  std::set<SymbolId> again_;
};

}  // namespace

void warn_partial_values(const CheckedProgram& program, Emitter& emitter) {
  PartialDomain domain(program, emitter);
  FlowWalker<PartialDomain>(program, domain).run(domain.start());
}

}  // namespace sial::sema
