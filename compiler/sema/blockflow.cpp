#include "compiler/sema/blockflow.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "compiler/sema/accesses.h"
#include "compiler/sema/fixes.h"
#include "compiler/sema/flow.h"
#include "compiler/sema/patterns.h"

namespace sial::sema {

namespace {

class BlockDomain {
 public:
  enum class Written : std::uint8_t { no, perhaps, yes };
  struct TempState {
    Written written = Written::no;
    const ast::Stmt* branch = nullptr;  // perhaps: the `if` only one branch of which writes it; null: no clear place
    int depth = 0;                      // number of ifs around that `if`
    bool operator==(const TempState&) const = default;
  };
  struct Record {  // of a put or a get
    const ast::Stmt* stmt = nullptr;
    const ast::Stmt* pardo = nullptr;
    bool over = false;  // the pardo has ended since: the one that runs now may be the same, but its iterations go to
                        // other ranks
    SymbolId moved = no_symbol;  // a serial loop over this index, which names the block, has gone on since
    bool operator==(const Record&) const = default;
  };
  using Flags = std::vector<unsigned char>;  // bytes: joined at every branch and loop, and faster than bits
  struct State {
    bool live = true;
    int depth = 0;  // ifs around this point
    const ast::Stmt* pardo = nullptr;
    std::vector<TempState> temps;  // by slot
    Flags fetched;                 // by slot of remote arrays: perhaps fetched, put or written since the last barrier
    Flags restored;                // likewise: perhaps restored since the last barrier
    Flags deleted;                 // likewise: certainly deleted, and not put or restored since
    std::vector<Record> puts;      // since the last barrier: in pardos, and accumulates of all ranks
    std::vector<Record> gets;      // since the last barrier

    bool operator==(const State&) const = default;
    bool join(const State& other) {
      bool changed = join_remote(other);
      for (std::size_t i = 0; i < temps.size(); ++i) {
        if (temps[i] == other.temps[i]) continue;
        const TempState unclear{Written::perhaps, nullptr, 0};
        changed = changed || !(temps[i] == unclear);
        temps[i] = unclear;
      }
      return changed;
    }
    bool join_remote(const State& other) {
      bool changed = false;
      if (fetched != other.fetched || restored != other.restored || deleted != other.deleted)
        for (std::size_t i = 0; i < fetched.size(); ++i) {
          changed = changed || (other.fetched[i] && !fetched[i]) || (other.restored[i] && !restored[i]);
          fetched[i] = fetched[i] || other.fetched[i];
          restored[i] = restored[i] || other.restored[i];
          changed = changed || (deleted[i] && !other.deleted[i]);
          deleted[i] = deleted[i] && other.deleted[i];
        }
      changed = add_all(puts, other.puts) || changed;
      return add_all(gets, other.gets) || changed;
    }
    static bool add_all(std::vector<Record>& records, const std::vector<Record>& more) {
      bool changed = false;
      // What both begin with, mostly all, is known without a search.
      auto record = std::mismatch(more.begin(), more.end(), records.begin(), records.end()).first;
      for (; record != more.end(); ++record) changed = add(records, *record) || changed;
      return changed;
    }
    static bool add(std::vector<Record>& records, const Record& record) {
      // Each put and get is compared with these: a phase with more of them is looked at in part, so that time stays in
      // proportion to its length.
      constexpr std::size_t most = 100;
      if (records.size() == most || std::find(records.begin(), records.end(), record) != records.end()) return false;
      records.push_back(record);
      return true;
    }
  };

  // States are copied at every branch, so temps and remote arrays get dense slots of their own.
  BlockDomain(const CheckedProgram& program, Emitter& emitter)
      : program_(program), emitter_(emitter), slots_(program.symbols.size()) {
    for (const Symbol& s : program.symbols) {
      if (s.kind == SymbolKind::proc) record_conditions(s.proc->body);
      if (s.kind != SymbolKind::array) continue;
      if (s.array_kind == ast::ArrayKind::temp) slots_[static_cast<std::size_t>(s.id)] = temps_++;
      else if (s.remote()) slots_[static_cast<std::size_t>(s.id)] = remotes_++;
    }
    for (const ast::Module* module : program.bodies) record_conditions(module->statements);
  }

  State start() const {
    State s;
    s.temps.resize(temps_);
    s.fetched.resize(remotes_);
    s.restored.resize(remotes_);
    s.deleted.resize(remotes_);
    return s;
  }

  void simple(const ast::Stmt& stmt, State& s) {
    if (std::holds_alternative<ast::Barrier>(stmt.node) || std::holds_alternative<ast::Section>(stmt.node)) {
      std::fill(s.fetched.begin(), s.fetched.end(), 0);
      std::fill(s.restored.begin(), s.restored.end(), 0);
      s.puts.clear();
      s.gets.clear();
      return;
    }
    if (const auto* erase = std::get_if<ast::Delete>(&stmt.node)) {
      const std::size_t slot = this->slot(program_.symbol_of(erase->array));
      s.deleted[slot] = true;
      deletes_[slot] = &stmt;
      return;
    }
    if (const auto* create = std::get_if<ast::Create>(&stmt.node)) {
      s.deleted[this->slot(program_.symbol_of(create->array))] = false;
      return;
    }
    if (const auto* persistent = std::get_if<ast::Persistent>(&stmt.node)) {
      const Symbol& item = program_.symbol_of(persistent->item);
      if (persistent->restore && item.kind == SymbolKind::array && item.remote()) {
        s.restored[slot(item)] = true;
        restores_[slot(item)] = &stmt;
        s.deleted[slot(item)] = false;
      }
      return;
    }
    if (std::holds_alternative<ast::GpuOp>(stmt.node)) return;  // a hint, which blocks that are not there ignore
    for (const Access& access : accesses(program_, stmt)) visit(stmt, access, s);
  }

  void branch(const ast::Stmt& stmt, const ast::If& node, State& s) {
    for (const Access& access : accesses(program_, node.condition)) visit(stmt, access, s);
    ++s.depth;
  }

  void merge(const ast::Stmt& stmt, const State& before, State& a, const State& b) {
    a.depth = before.depth;
    if (!b.live) return;
    a.join_remote(b);
    for (std::size_t i = 0; i < a.temps.size(); ++i) {
      if (a.temps[i] == b.temps[i]) continue;
      if (a.temps[i].written == Written::yes && b.temps[i].written == Written::yes) continue;
      a.temps[i] = {Written::perhaps, &stmt, before.depth};
    }
  }

  void iteration(const ast::Stmt& loop, State& s, const State*) {
    if (std::holds_alternative<ast::PardoLoop>(loop.node)) s.pardo = &loop;
  }

  void where(const ast::Stmt& loop, const ast::Relation& relation, State& s) {
    for (const Access& access : accesses(program_, relation)) visit(loop, access, s);
  }

  // Temps first written in an iteration die at its end.
  void next(const ast::Stmt& loop, const State& before, State& s) {
    restore(before, s, true);
    if (const auto* serial = std::get_if<ast::DoLoop>(&loop.node)) goes_on(program_.names.at(&serial->index), s);
    else if (const auto* sub = std::get_if<ast::SubLoop>(&loop.node)) goes_on(program_.names.at(&sub->index), s);
  }
  void leave(const ast::Stmt& loop, const State& before, State& s) {
    restore(before, s, true);
    if (const auto* serial = std::get_if<ast::DoLoop>(&loop.node))
      return comes_to_rest(program_.names.at(&serial->index), s);
    if (const auto* sub = std::get_if<ast::SubLoop>(&loop.node))
      return comes_to_rest(program_.names.at(&sub->index), s);
    if (!std::holds_alternative<ast::PardoLoop>(loop.node)) return;
    for (std::vector<Record>* records : {&s.puts, &s.gets}) {
      std::vector<Record> ended;
      for (Record record : *records) {
        record.over = record.over || record.pardo == &loop;
        State::add(ended, record);
      }
      *records = std::move(ended);
    }
  }
  void departs(const ast::Stmt&, State&) {}
  void returned(const ast::Stmt&, const State& before, State& s) { restore(before, s, false); }

 private:
  /// The labels of a block of the program; made once, since every put is compared with many others.
  const std::vector<Label>& names_of(const ast::Block& block) const {
    const auto [entry, added] = labels_.try_emplace(&block);
    if (added) entry->second = labels_of(program_, block);
    return entry->second;
  }

  std::size_t slot(const Symbol& array) const { return slots_[static_cast<std::size_t>(array.id)]; }

  static void restore(const State& before, State& s, bool temps) {
    s.depth = before.depth;
    s.pardo = before.pardo;
    if (temps) s.temps = before.temps;
  }

  void visit(const ast::Stmt& stmt, const Access& access, State& s) {
    const Symbol& array = program_.symbol(access.array);
    if (array.array_kind == ast::ArrayKind::temp) visit_temp(stmt, access, array, s);
    else if (array.remote()) visit_remote(stmt, access, array, s);
  }

  void visit_temp(const ast::Stmt& stmt, const Access& access, const Symbol& array, State& s) {
    TempState& temp = s.temps[slot(array)];
    if (access.read && temp.written != Written::yes) {
      const bool never = temp.written == Written::no;
      const bool perhaps =
          temp.branch && s.depth <= temp.depth;  // a read under another condition may well agree with the first
      if ((never || perhaps) && reported_.emplace(access.span.begin, access.array).second) {
        const bool update = access.write && !std::holds_alternative<ast::Execute>(stmt.node);
        Diagnostic& d = emitter_.report(
            Code::W_TEMP_UNSET, access.span,
            never ? fmt::format("the temp `{}` is {} before it is written in this iteration", array.text,
                                update ? "changed" : "read")
                  : fmt::format(
                        "the temp `{}` may be {} before it is written: only one branch of the `if` above writes it",
                        array.text, update ? "changed" : "read"),
            update ? fmt::format("`+=` does not start from zero: set `{}[..] = 0.0` first", array.text)
                   : "a temp dies at the end of the iteration in which it was first written");
        if (temp.branch) d.notes.push_back({temp.branch->header_span, "this is the `if`"});
        else d.notes.push_back({array.span, fmt::format("`{}` is declared here", array.text)});
      }
    }
    if (access.read || access.write) temp = {Written::yes, nullptr, 0};
  }

  void visit_remote(const ast::Stmt& stmt, const Access& access, const Symbol& array, State& s) {
    const std::size_t slot = this->slot(array);
    const bool served = array.array_kind == ast::ArrayKind::served;
    if (access.fetch) {
      if (s.deleted[slot] && reported_.emplace(access.span.begin, access.array).second) {
        Diagnostic& d =
            emitter_.report(Code::W_PHASE_DELETED, access.span,
                            fmt::format("`{}` is deleted, and not put since: a run that comes here stops", array.text),
                            fmt::format("fetch before `{}`, or put the block again", served ? "destroy" : "delete"));
        d.notes.push_back({deletes_[slot]->span, "it is deleted here"});
      }
      if (s.restored[slot] && reported_.emplace(access.span.begin, access.array).second)
        emitter_
            .report(
                Code::W_RESTORE_GET, access.span,
                fmt::format("`{}` was restored in this phase; its blocks are there after the next barrier", array.text),
                "put a barrier behind `restore_persistent`")
            .fix(insert_below(restores_[slot]->span, served ? "server_barrier" : "sip_barrier"));
      for (const Record& record : s.puts) check_get(stmt, access, array, record, s);
      s.fetched[slot] = true;
      State::add(s.gets, {&stmt, s.pardo});
    } else if (access.put || (access.write && !access.read)) {
      s.fetched[slot] = true;
      if (!access.put) return;
      s.deleted[slot] = false;
      if (never(stmt, s.pardo)) return;
      for (const Record& record : s.gets) check_put(stmt, access, array, record, s);
      for (const Record& record : s.puts) check_puts(stmt, access, array, record, s);
      // Outside of pardos all ranks execute a put. That of one rank alone stands under a condition.
      if (s.pardo || (access.op == ast::AssignOp::add && s.depth == 0)) State::add(s.puts, {&stmt, s.pardo});
    } else if (access.read && !s.fetched[slot] && access.block) {
      s.fetched[slot] = true;
      if (!reported_.emplace(access.span.begin, access.array).second) return;
      Diagnostic& d = emitter_.report(
          Code::W_PHASE_NO_GET, access.span,
          fmt::format("no `{}` of `{}` since the last barrier leads here", served ? "request" : "get", array.text),
          fmt::format("fetch the block first: `{} {}`", served ? "request" : "get", array.text + "[..]"));
      d.notes.push_back({array.span, fmt::format("`{}` is declared here as a {} array", array.text,
                                                 served ? "served" : "distributed")});
      // Not above a loop whose where clause reads the block: the loop's indices have no values there.
      if (!is_loop(stmt)) d.fix(insert_above(stmt.span, (served ? "request " : "get ") + text_of(*access.block)));
    }
  }

  // Whether blocks that two iterations put and fetch are never the same: each index of the pardo names both at one
  // place.
  bool own_block(const ast::Stmt& pardo, const std::vector<Label>& put, const std::vector<Label>& fetched) const {
    if (!unmentioned(program_, pardo, put).empty()) return false;
    const auto& indices = std::get<ast::PardoLoop>(pardo.node).indices;
    return std::all_of(indices.begin(), indices.end(), [&](const ast::Name& name) {
      const SymbolId index = program_.names.at(&name);
      bool named = false, alike = false;
      for (std::size_t i = 0; i < put.size(); ++i) {
        named = named || put[i].index == index;
        alike = alike || (put[i].index == index && put[i] == fetched[i]);
      }
      return alike || !named;
    });
  }

  // A get and a put that meet twice, in one iteration and around the loop, are one mistake.
  bool first_time(const ast::Stmt* a, const ast::Stmt* b) {
    return phases_.emplace(std::min(a->id, b->id), std::max(a->id, b->id)).second;
  }

  static const ast::Block& block_of(const ast::Stmt& stmt) {
    if (const auto* put = std::get_if<ast::Put>(&stmt.node)) return put->block;
    return std::get<ast::Get>(stmt.node).block;
  }

  // The blocks that a serial loop's index names are others in its next iteration.
  void goes_on(SymbolId index, State& s) const {
    const auto moves = [&](const Record& record) {
      if (record.moved != no_symbol) return false;  // an outer loop that has gone on stays noted
      const std::vector<Label>& names = names_of(block_of(*record.stmt));
      return std::any_of(names.begin(), names.end(), [&](const Label& label) { return label.index == index; });
    };
    for (std::vector<Record>* records : {&s.puts, &s.gets}) {
      if (std::none_of(records->begin(), records->end(), moves)) continue;
      std::vector<Record> moved;
      for (Record record : *records) {
        if (moves(record)) record.moved = index;
        State::add(moved, record);
      }
      *records = std::move(moved);
    }
  }

  // After the loop its index means nothing: the records stand for the blocks of all its iterations.
  static void comes_to_rest(SymbolId index, State& s) {
    for (std::vector<Record>* records : {&s.puts, &s.gets}) {
      if (std::none_of(records->begin(), records->end(), [&](const Record& r) { return r.moved == index; })) continue;
      std::vector<Record> rested;
      for (Record record : *records) {
        if (record.moved == index) record.moved = no_symbol;
        State::add(rested, record);
      }
      *records = std::move(rested);
    }
  }

  bool moved_on(const Record& record, const std::vector<Label>& labels) const {
    if (record.moved == no_symbol) return false;
    const std::vector<Label>& before = names_of(block_of(*record.stmt));
    for (std::size_t i = 0; i < labels.size(); ++i)
      if (labels[i].index == record.moved && labels[i] == before[i]) return true;
    return false;
  }

  // A condition under which a statement is executed: a where clause, or an `if` around it, negated in its else branch.
  struct Clause {
    const ast::Relation* relation = nullptr;
    bool negated = false;
  };

  void record_conditions(const ast::Body& body) {
    for (const ast::StmtPtr& stmt : body) {
      if (!clauses_.empty() &&
          (std::holds_alternative<ast::Put>(stmt->node) || std::holds_alternative<ast::Get>(stmt->node)))
        conditions_[stmt.get()] = clauses_;
      const std::size_t outside = clauses_.size();
      if (const auto* branch = std::get_if<ast::If>(&stmt->node)) {
        clauses_.push_back({&branch->condition, false});
        record_conditions(branch->then_body);
        clauses_.back().negated = true;
        record_conditions(branch->else_body);
      } else if (const auto* loop = std::get_if<ast::DoLoop>(&stmt->node)) {
        for (const ast::Relation& where : loop->wheres) clauses_.push_back({&where});
        record_conditions(loop->body);
      } else if (const auto* sub = std::get_if<ast::SubLoop>(&stmt->node)) {
        for (const ast::Relation& where : sub->wheres) clauses_.push_back({&where});
        record_conditions(sub->body);
      } else if (const auto* pardo = std::get_if<ast::PardoLoop>(&stmt->node)) {
        record_conditions(pardo->body);
      } else if (const auto* section = std::get_if<ast::Section>(&stmt->node)) {
        for (const ast::StmtPtr& pardo : section->body) sectioned_.insert(pardo.get());
        record_conditions(section->body);
      } else if (const auto* gpu = std::get_if<ast::GpuSection>(&stmt->node)) {
        record_conditions(gpu->body);
      }
      clauses_.resize(outside);
    }
  }

  // Sides of a relation that mean the same wherever the same block is meant: indices that name it, predefined ints,
  // literals.
  struct Side {
    SymbolId symbol = no_symbol;
    std::int64_t literal = 0;
    bool known = false;
    bool operator==(const Side&) const = default;
  };
  Side side(const ast::Expr& e, const std::vector<Label>& labels) const {
    if (const auto* literal = std::get_if<ast::IntLit>(&e.node)) return {no_symbol, literal->value, true};
    const auto* name = std::get_if<ast::NameExpr>(&e.node);
    if (!name) return {};
    const Symbol& s = program_.symbol_of(name->name);
    const bool names_block =
        std::any_of(labels.begin(), labels.end(), [&](const Label& label) { return label.index == s.id; });
    return {s.id, 0, names_block || (s.kind == SymbolKind::int_ && s.predefined)};
  }

  /// Whether no pair of values meets both relations: `i < j` and `i >= j`, `i == 1` and `i == 2`.
  bool exclude(const Clause& a, const Clause& b, const std::vector<Label>& labels) const {
    constexpr int less = 1, equal = 2, greater = 4;
    const auto order_of = [](ast::RelOp op) {
      switch (op) {
        case ast::RelOp::lt: return less;
        case ast::RelOp::le: return less | equal;
        case ast::RelOp::gt: return greater;
        case ast::RelOp::ge: return greater | equal;
        case ast::RelOp::eq: return equal;
        case ast::RelOp::ne: return less | greater;
      }
      return less | equal | greater;
    };
    const auto orders = [&](const Clause& clause) {
      return clause.negated ? (less | equal | greater) & ~order_of(clause.relation->op) : order_of(clause.relation->op);
    };
    const Side left = side(*a.relation->left, labels), right = side(*a.relation->right, labels);
    const Side left_b = side(*b.relation->left, labels), right_b = side(*b.relation->right, labels);
    if (!left.known || !right.known || !left_b.known || !right_b.known) return false;
    const int mine = orders(a), theirs = orders(b);
    if (left == left_b && right == right_b) return (mine & theirs) == 0;
    if (left == right_b && right == left_b)
      return (mine & ((theirs & equal) | (theirs & less ? greater : 0) | (theirs & greater ? less : 0))) == 0;
    return left == left_b && right.symbol == no_symbol && right_b.symbol == no_symbol && mine == equal &&
           theirs == equal;
  }

  /// Whether two statements that name blocks alike never mean the same one, since the conditions around them exclude
  /// each other.
  bool apart(const Record& record, const ast::Stmt& stmt, const std::vector<Label>& labels, const State& s) const {
    if (names_of(block_of(*record.stmt)) != labels) return false;
    const std::vector<Clause> mine = clauses_of(stmt, s.pardo), theirs = clauses_of(*record.stmt, record.pardo);
    return std::any_of(mine.begin(), mine.end(), [&](const Clause& a) {
      return std::any_of(theirs.begin(), theirs.end(), [&](const Clause& b) { return exclude(a, b, labels); });
    });
  }

  /// Whether a condition on an index of literal bounds keeps the statement from ever being executed.
  bool never(const ast::Stmt& stmt, const ast::Stmt* pardo) const {
    const std::vector<Clause> clauses = clauses_of(stmt, pardo);
    return std::any_of(clauses.begin(), clauses.end(), [&](const Clause& c) {
      const auto* name = std::get_if<ast::NameExpr>(&c.relation->left->node);
      const auto* literal = std::get_if<ast::IntLit>(&c.relation->right->node);
      if (!name || !literal || c.negated) return false;
      const Symbol& index = program_.symbol_of(name->name);
      if (index.kind != SymbolKind::index || index.lo.symbol != no_symbol || index.hi.symbol != no_symbol) return false;
      switch (c.relation->op) {
        case ast::RelOp::lt: return index.lo.literal >= literal->value;
        case ast::RelOp::le: return index.lo.literal > literal->value;
        case ast::RelOp::gt: return index.hi.literal <= literal->value;
        case ast::RelOp::ge: return index.hi.literal < literal->value;
        case ast::RelOp::eq: return literal->value < index.lo.literal || literal->value > index.hi.literal;
        case ast::RelOp::ne: return false;
      }
      return false;
    });
  }

  /// Clauses around the statement in its own procedure, and those of the pardo, which may be around a call.
  std::vector<Clause> clauses_of(const ast::Stmt& stmt, const ast::Stmt* pardo) const {
    std::vector<Clause> result;
    if (const auto known = conditions_.find(&stmt); known != conditions_.end()) result = known->second;
    if (pardo)
      for (const ast::Relation* where : program_.pardos.at(pardo).wheres) result.push_back({where});
    return result;
  }

  /// Why blocks of one pardo and the next statement meet: it is another pardo, or the same in the next iteration of a
  /// loop around it.
  static std::string_view place(const Record& record, const State& s) {
    return record.over && record.pardo != nullptr && record.pardo == s.pardo
               ? "in the previous iteration of the loop around it"
               : "in the same phase";
  }

  static std::string remedy(const Record& record, const State& s) {
    if (record.pardo != s.pardo || record.pardo == nullptr) return "put a barrier between them";
    return record.over ? "put a barrier behind the pardo, inside the loop around it"
                       : "split the pardo and put a barrier between";
  }

  static bool is_loop(const ast::Stmt& stmt) {
    return std::holds_alternative<ast::DoLoop>(stmt.node) || std::holds_alternative<ast::SubLoop>(stmt.node) ||
           std::holds_alternative<ast::PardoLoop>(stmt.node);
  }

  /// The barrier that remedy() asks for, where it can be a line of its own that all workers come to.
  void add_barrier(Diagnostic& diagnostic, const Record& record, const ast::Stmt& stmt, const Symbol& array,
                   const State& s) const {
    const char* barrier = array.array_kind == ast::ArrayKind::served ? "server_barrier" : "sip_barrier";
    if (record.pardo && record.pardo == s.pardo) {
      if (record.over && !sectioned_.contains(s.pardo)) diagnostic.fix(insert_below(s.pardo->span, barrier));
      return;
    }
    if (s.pardo ? !sectioned_.contains(s.pardo) : s.depth == 0 && !sectioned_.contains(record.pardo))
      diagnostic.fix(insert_above(s.pardo ? s.pardo->header_span : stmt.span, barrier));
  }

  void check_get(const ast::Stmt& stmt, const Access& access, const Symbol& array, const Record& record,
                 const State& s) {
    const ast::Block& put = block_of(*record.stmt);
    if (program_.names.at(&put.array) != array.id || moved_on(record, names_of(*access.block)) ||
        apart(record, stmt, names_of(*access.block), s))
      return;
    // Within one iteration a worker may use its own block; only another block of the array is somebody else's.
    if (s.pardo && !record.over && record.pardo == s.pardo &&
        own_block(*s.pardo, names_of(put), names_of(*access.block)))
      return;
    if (!first_time(record.stmt, &stmt)) return;
    Diagnostic& d = emitter_.report(Code::W_PHASE_GET_AFTER_PUT, access.span,
                                    fmt::format("`{}` is put by {} {}: blocks of other workers may be old or new here",
                                                array.text, record.pardo ? "a pardo" : "all ranks", place(record, s)),
                                    remedy(record, s));
    d.notes.push_back(
        {record.stmt->span,
         fmt::format("the {} is here", std::get<ast::Put>(record.stmt->node).prepare ? "prepare" : "put")});
    add_barrier(d, record, stmt, array, s);
  }

  // Zeroed by some iterations and added to by others: what was added first is lost.
  void check_puts(const ast::Stmt& stmt, const Access& access, const Symbol& array, const Record& record,
                  const State& s) {
    const auto& earlier = std::get<ast::Put>(record.stmt->node);
    const std::vector<Label>& labels = names_of(*access.block);
    if (program_.names.at(&earlier.block.array) != array.id ||
        (earlier.op == ast::AssignOp::add) == (access.op == ast::AssignOp::add))
      return;
    if (names_of(earlier.block) != labels || moved_on(record, labels) || apart(record, stmt, labels, s)) return;
    if ((!s.pardo && access.op != ast::AssignOp::add) || (s.pardo == record.pardo && !record.over)) return;
    if (!first_time(record.stmt, &stmt)) return;
    const bool adds = access.op == ast::AssignOp::add;
    Diagnostic& d =
        emitter_.report(Code::W_PHASE_MIXED_PUTS, access.span,
                        fmt::format("blocks of `{}` are {} here and {} {}: a slower worker may {} last", array.text,
                                    adds ? "added to" : "replaced", adds ? "replaced" : "added to", place(record, s),
                                    adds ? "replace them" : "add to them"),
                        remedy(record, s));
    d.notes.push_back({record.stmt->span, fmt::format("they are {} here", adds ? "replaced" : "added to")});
    add_barrier(d, record, stmt, array, s);
  }

  // Of get and put in one iteration, and of what one worker does outside of pardos, the order is the program's.
  void check_put(const ast::Stmt& stmt, const Access& access, const Symbol& array, const Record& record,
                 const State& s) {
    const ast::Block& got = block_of(*record.stmt);
    if (program_.names.at(&got.array) != array.id || moved_on(record, names_of(*access.block)) ||
        apart(record, stmt, names_of(*access.block), s))
      return;
    if ((!s.pardo && !record.pardo) || (s.pardo && s.pardo == record.pardo && !record.over)) return;
    if (!first_time(record.stmt, &stmt)) return;
    Diagnostic& d = emitter_.report(
        Code::W_PHASE_PUT_AFTER_GET, access.span,
        fmt::format("`{}` is fetched {}: workers that are still there may get the old block or this one", array.text,
                    place(record, s)),
        remedy(record, s));
    d.notes.push_back(
        {record.stmt->span,
         fmt::format("the {} is here", std::get<ast::Get>(record.stmt->node).request ? "request" : "get")});
    add_barrier(d, record, stmt, array, s);
  }

  const CheckedProgram& program_;
  Emitter& emitter_;
  mutable std::unordered_map<const ast::Block*, std::vector<Label>> labels_;
  std::vector<std::size_t> slots_;  // by symbol
  std::size_t temps_ = 0, remotes_ = 0;
  std::map<std::size_t, const ast::Stmt*> deletes_, restores_;  // by slot
  std::set<const ast::Stmt*> sectioned_;                        // pardos of sections, which hold no barriers
  std::set<std::pair<std::uint32_t, SymbolId>> reported_;
  std::set<std::pair<ast::NodeId, ast::NodeId>> phases_;
  std::vector<Clause> clauses_;                                 // around the statement that record_conditions() is at
  std::map<const ast::Stmt*, std::vector<Clause>> conditions_;  // around each put and get that has some
};

}  // namespace

void follow_blocks(const CheckedProgram& program, Emitter& emitter) {
  BlockDomain domain(program, emitter);
  FlowWalker<BlockDomain>(program, domain).run(domain.start());
}

}  // namespace sial::sema
