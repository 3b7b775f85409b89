#include "compiler/sema/blockflow.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "compiler/sema/accesses.h"
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
  struct PutRecord {
    const ast::Stmt* put = nullptr;
    const ast::Stmt* pardo = nullptr;
    bool operator==(const PutRecord&) const = default;
  };
  struct State {
    bool live = true;
    int depth = 0;                       // ifs around this point
    const ast::Stmt* pardo = nullptr;
    std::vector<TempState> temps;        // by slot
    std::vector<bool> fetched;           // by slot of remote arrays: perhaps fetched, put or written since the last barrier
    std::vector<bool> restored;          // likewise: perhaps restored since the last barrier
    std::vector<PutRecord> puts;         // since the last barrier, in pardos

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
      for (std::size_t i = 0; i < fetched.size(); ++i) {
        changed = changed || (other.fetched[i] && !fetched[i]) || (other.restored[i] && !restored[i]);
        fetched[i] = fetched[i] || other.fetched[i];
        restored[i] = restored[i] || other.restored[i];
      }
      for (const PutRecord& record : other.puts) {
        if (std::find(puts.begin(), puts.end(), record) != puts.end()) continue;
        puts.push_back(record);
        changed = true;
      }
      return changed;
    }
  };

  // States are copied at every branch, so temps and remote arrays get dense slots of their own.
  BlockDomain(const CheckedProgram& program, Emitter& emitter) : program_(program), emitter_(emitter), slots_(program.symbols.size()) {
    for (const Symbol& s : program.symbols) {
      if (s.kind != SymbolKind::array) continue;
      if (s.array_kind == ast::ArrayKind::temp) slots_[static_cast<std::size_t>(s.id)] = temps_++;
      else if (s.remote()) slots_[static_cast<std::size_t>(s.id)] = remotes_++;
    }
  }

  State start() const {
    State s;
    s.temps.resize(temps_);
    s.fetched.resize(remotes_);
    s.restored.resize(remotes_);
    return s;
  }

  void simple(const ast::Stmt& stmt, State& s) {
    if (std::holds_alternative<ast::Barrier>(stmt.node) || std::holds_alternative<ast::Section>(stmt.node)) {
      std::fill(s.fetched.begin(), s.fetched.end(), false);
      std::fill(s.restored.begin(), s.restored.end(), false);
      s.puts.clear();
      return;
    }
    if (const auto* persistent = std::get_if<ast::Persistent>(&stmt.node)) {
      const Symbol& item = program_.symbol_of(persistent->item);
      if (persistent->restore && item.kind == SymbolKind::array && item.remote()) s.restored[slot(item)] = true;
      return;
    }
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
  void next(const ast::Stmt&, const State& before, State& s) { restore(before, s, true); }
  void leave(const ast::Stmt&, const State& before, State& s) { restore(before, s, true); }
  void departs(const ast::Stmt&, State&) {}
  void returned(const ast::Stmt&, const State& before, State& s) { restore(before, s, false); }

 private:
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
      const bool perhaps = temp.branch && s.depth <= temp.depth;  // a read under another condition may well agree with the first
      if ((never || perhaps) && reported_.emplace(access.span.begin, access.array).second) {
        const bool update = access.write && !std::holds_alternative<ast::Execute>(stmt.node);
        Diagnostic& d = emitter_.report(
            Code::W_TEMP_UNSET, access.span,
            never ? fmt::format("the temp `{}` is {} before it is written in this iteration", array.text, update ? "changed" : "read")
                  : fmt::format("the temp `{}` may be {} before it is written: only one branch of the `if` above writes it", array.text,
                                update ? "changed" : "read"),
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
      if (s.restored[slot] && reported_.emplace(access.span.begin, access.array).second)
        emitter_.report(Code::W_RESTORE_GET, access.span,
                        fmt::format("`{}` was restored in this phase; its blocks are there after the next barrier", array.text),
                        "put a barrier behind `restore_persistent`");
      for (const PutRecord& record : s.puts) check_phase(stmt, access, array, record, s);
      s.fetched[slot] = true;
    } else if (access.put || (access.write && !access.read)) {
      s.fetched[slot] = true;
      if (!access.put || !s.pardo) return;
      const PutRecord record{&stmt, s.pardo};
      if (std::find(s.puts.begin(), s.puts.end(), record) == s.puts.end()) s.puts.push_back(record);
    } else if (access.read && !s.fetched[slot] && access.block) {
      s.fetched[slot] = true;
      if (!reported_.emplace(access.span.begin, access.array).second) return;
      Diagnostic& d = emitter_.report(Code::W_PHASE_NO_GET, access.span,
                                      fmt::format("no `{}` of `{}` since the last barrier leads here", served ? "request" : "get", array.text),
                                      fmt::format("fetch the block first: `{} {}`", served ? "request" : "get", array.text + "[..]"));
      d.notes.push_back({array.span, fmt::format("`{}` is declared here as a {} array", array.text, served ? "served" : "distributed")});
    }
  }

  // Whether the put block belongs to one iteration alone, and the fetched one is named by the same pardo indices.
  bool own_block(const ast::Stmt& pardo, const std::vector<Label>& put, const std::vector<Label>& fetched) const {
    if (!unmentioned(program_, pardo, put).empty()) return false;
    const auto& indices = std::get<ast::PardoLoop>(pardo.node).indices;
    for (std::size_t i = 0; i < put.size(); ++i) {
      const bool parallel = std::any_of(indices.begin(), indices.end(),
                                        [&](const ast::Name& name) { return program_.names.at(&name) == put[i].index; });
      if (parallel && !(put[i] == fetched[i])) return false;
    }
    return true;
  }

  void check_phase(const ast::Stmt& stmt, const Access& access, const Symbol& array, const PutRecord& record, const State& s) {
    const auto& put = std::get<ast::Put>(record.put->node);
    if (program_.names.at(&put.block.array) != array.id) return;
    // Within one iteration a worker may use its own block; only another block of the array is somebody else's.
    if ((record.pardo == s.pardo && own_block(*s.pardo, labels_of(program_, put.block), labels_of(program_, *access.block))) || !phases_.emplace(record.put, &stmt).second)
      return;
    Diagnostic& d = emitter_.report(Code::W_PHASE_GET_AFTER_PUT, access.span,
                                    fmt::format("`{}` is put by a pardo in the same phase: blocks of other workers may be old or new here",
                                                array.text),
                                    record.pardo == s.pardo ? "split the pardo and put a barrier between" : "put a barrier between them");
    d.notes.push_back({record.put->span, fmt::format("the {} is here", put.prepare ? "prepare" : "put")});
  }

  const CheckedProgram& program_;
  Emitter& emitter_;
  std::vector<std::size_t> slots_;  // by symbol
  std::size_t temps_ = 0, remotes_ = 0;
  std::set<std::pair<std::uint32_t, SymbolId>> reported_;
  std::set<std::pair<const ast::Stmt*, const ast::Stmt*>> phases_;
};

}  // namespace

void follow_blocks(const CheckedProgram& program, Emitter& emitter) {
  BlockDomain domain(program, emitter);
  FlowWalker<BlockDomain>(program, domain).run(domain.start());
}

}  // namespace sial::sema
