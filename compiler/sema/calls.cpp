#include "compiler/sema/calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "compiler/ast/build.h"

namespace sial::sema {

namespace {

using IndexSet = std::set<SymbolId>;

class CallGraph {
 public:
  CallGraph(CheckedProgram& program, const std::vector<Routine>& routines, Emitter& emitter)
      : program_(program),
        routines_(routines),
        emitter_(emitter),
        avail_(routines.size()),
        busy_(routines.size()),
        reachable_(routines.size(), false),
        pardo_via_(routines.size()) {
    for (std::size_t r = 0; r < routines.size(); ++r)
      if (routines[r].proc != no_symbol) by_proc_[routines[r].proc] = r;
  }

  void run() {
    find_reachable();
    if (!check_depth()) return;  // what follows takes the square of the depth
    solve();
    for (std::size_t r = 0; r < routines_.size(); ++r) {
      check_pardo(r);
      if (!reachable_[r]) continue;
      check_unbound(r);
      check_busy(r);
    }
  }

 private:
  struct Site {
    std::size_t caller;
    const CallSite* call;
  };

  void find_reachable() {
    std::vector<std::size_t> work;
    for (std::size_t r = 0; r < routines_.size(); ++r) {
      if (routines_[r].proc != no_symbol) continue;
      reachable_[r] = true;
      work.push_back(r);
    }
    while (!work.empty()) {
      const std::size_t r = work.back();
      work.pop_back();
      for (const CallSite& call : routines_[r].calls) {
        const auto callee = by_proc_.find(call.proc);
        if (callee == by_proc_.end() || reachable_[callee->second]) continue;
        reachable_[callee->second] = true;
        work.push_back(callee->second);
      }
    }
    for (std::size_t r = 0; r < routines_.size(); ++r) {
      if (!reachable_[r]) continue;
      for (const CallSite& call : routines_[r].calls)
        if (const auto callee = by_proc_.find(call.proc); callee != by_proc_.end())
          sites_[callee->second].push_back({r, &call});
      if (routines_[r].proc == no_symbol) continue;
      program_.symbols[static_cast<std::size_t>(routines_[r].proc)].reachable = true;
      program_.procs.push_back(routines_[r].proc);
    }
  }

  // Later passes follow calls by calls of their own.
  bool check_depth() {
    std::vector<int> depth(routines_.size(), 0);  // of calls below; 0: not known yet
    std::vector<char> open(routines_.size(), 0);
    struct Frame {
      std::size_t routine, next;
      int deepest;
    };
    for (std::size_t first = 0; first < routines_.size(); ++first) {
      if (!reachable_[first] || depth[first] > 0) continue;
      std::vector<Frame> stack{{first, 0, 0}};
      open[first] = 1;
      while (!stack.empty()) {
        Frame& frame = stack.back();
        const std::vector<CallSite>& calls = routines_[frame.routine].calls;
        if (frame.next == calls.size()) {
          depth[frame.routine] = frame.deepest + 1;
          open[frame.routine] = 0;
          stack.pop_back();
          continue;
        }
        const CallSite& call = calls[frame.next];
        const auto callee = by_proc_.find(call.proc);
        if (callee == by_proc_.end() || open[callee->second]) {
          ++frame.next;
        } else if (depth[callee->second] == 0) {
          open[callee->second] = 1;
          stack.push_back({callee->second, 0, 0});
        } else {
          frame.deepest = std::max(frame.deepest, depth[callee->second]);
          ++frame.next;
          if (frame.deepest < max_nesting) continue;
          emitter_.report(Code::E_NESTING, call.span,
                          fmt::format("calls are nested more than {} procedures deep", max_nesting),
                          "call the inner procedures from a procedure further out, one after the other");
          return false;
        }
      }
    }
    return true;
  }

  // avail_: indices bound around every call (greatest solution; nullopt is "all"). busy_: bound around some call.
  void solve() {
    for (std::size_t r = 0; r < routines_.size(); ++r)
      if (routines_[r].proc == no_symbol) avail_[r] = IndexSet{};
    for (bool changed = true; changed;) {
      changed = false;
      for (const auto& [r, sites] : sites_) {
        std::optional<IndexSet> avail;
        IndexSet busy;
        for (const Site& site : sites) {
          busy.insert(site.call->bound.begin(), site.call->bound.end());
          busy.insert(busy_[site.caller].begin(), busy_[site.caller].end());
          if (!avail_[site.caller]) continue;
          IndexSet here = *avail_[site.caller];
          here.insert(site.call->bound.begin(), site.call->bound.end());
          if (!avail) {
            avail = std::move(here);
          } else {
            IndexSet both;
            std::set_intersection(avail->begin(), avail->end(), here.begin(), here.end(),
                                  std::inserter(both, both.begin()));
            avail = std::move(both);
          }
        }
        if (avail != avail_[r] || busy != busy_[r]) {
          avail_[r] = std::move(avail);
          busy_[r] = std::move(busy);
          changed = true;
        }
      }
    }
    // In a pardo through calls: remember one call that leads there.
    for (bool changed = true; changed;) {
      changed = false;
      for (const auto& [r, sites] : sites_) {
        if (pardo_via_[r]) continue;
        for (const Site& site : sites) {
          if (!site.call->pardo && !pardo_via_[site.caller]) continue;
          pardo_via_[r] = site;
          changed = true;
          break;
        }
      }
    }
  }

  const Symbol& symbol(SymbolId id) const { return program_.symbol(id); }

  void check_unbound(std::size_t r) {
    const Routine& routine = routines_[r];
    std::set<std::pair<SymbolId, const ast::Body*>> reported;
    for (const FreeIndex& use : routine.free_indices) {
      if (!avail_[r] || avail_[r]->count(use.index) > 0) continue;
      if (!reported.emplace(use.index, routine.proc == no_symbol ? use.place : nullptr).second) continue;
      const std::string& name = symbol(use.index).text;
      const bool sub = symbol(use.index).kind == SymbolKind::subindex;
      const std::string loop = sub ? fmt::format("`do {} in {}`", name, symbol(symbol(use.index).parent).text)
                                   : fmt::format("`do {}`", name);
      if (routine.proc == no_symbol) {
        Diagnostic& d = emitter_.report(Code::E_UNBOUND, use.span,
                                        fmt::format("`{}` has no value here: no loop around binds it", name),
                                        fmt::format("put this inside {}{}", loop, sub ? "" : " or a pardo"));
        d.notes.push_back({symbol(use.index).span, fmt::format("`{}` is declared here", name)});
        continue;
      }
      Diagnostic& d =
          emitter_.report(Code::E_UNBOUND, use.span,
                          fmt::format("`{}` has no value here: procedure `{}` is called where no loop binds it", name,
                                      symbol(routine.proc).text),
                          fmt::format("put the call inside {}, or the loop into the procedure", loop));
      record_unbound_call(d, r, use.index);
    }
  }

  void record_unbound_call(Diagnostic& d, std::size_t r, SymbolId index) {
    std::set<std::size_t> seen;
    while (routines_[r].proc != no_symbol && seen.insert(r).second) {
      const auto sites = sites_.find(r);
      if (sites == sites_.end()) return;
      const Site* offending = nullptr;
      for (const Site& site : sites->second) {
        const bool here = std::find(site.call->bound.begin(), site.call->bound.end(), index) != site.call->bound.end();
        if (!here && avail_[site.caller] && avail_[site.caller]->count(index) == 0) {
          offending = &site;
          break;
        }
      }
      if (!offending) return;
      d.notes.push_back({offending->call->span, fmt::format("`{}` is called here without a loop over `{}`",
                                                            symbol(routines_[r].proc).text, symbol(index).text)});
      r = offending->caller;
    }
  }

  void check_busy(std::size_t r) {
    for (const Binding& binding : routines_[r].bindings) {
      if (busy_[r].count(binding.index) == 0) continue;
      const std::string& name = symbol(binding.index).text;
      Diagnostic& d =
          emitter_.report(Code::E_INDEX_BUSY, binding.span,
                          fmt::format("this loop over `{}` runs inside another loop over it, through a call", name),
                          "declare a second index with the same range for one of the loops");
      std::size_t at = r;
      std::set<std::size_t> seen;
      while (seen.insert(at).second) {
        const auto sites = sites_.find(at);
        if (sites == sites_.end()) break;
        const Site* through = nullptr;
        bool direct = false;
        for (const Site& site : sites->second) {
          direct = std::find(site.call->bound.begin(), site.call->bound.end(), binding.index) != site.call->bound.end();
          if (direct || busy_[site.caller].count(binding.index) > 0) {
            through = &site;
            break;
          }
        }
        if (!through) break;
        d.notes.push_back(
            {through->call->span, fmt::format("`{}` is called here{}", symbol(routines_[at].proc).text,
                                              direct ? fmt::format(", inside a loop over `{}`", name) : "")});
        if (direct) break;
        at = through->caller;
      }
    }
  }

  static const char* word(const ast::Stmt& stmt, CollectiveKind kind) {
    switch (kind) {
      case CollectiveKind::pardo: return "pardo";
      case CollectiveKind::section: return "section";
      case CollectiveKind::barrier: return std::get<ast::Barrier>(stmt.node).server ? "server_barrier" : "sip_barrier";
      case CollectiveKind::create: return "create";
      case CollectiveKind::erase: return std::get<ast::Delete>(stmt.node).destroy ? "destroy" : "delete";
      case CollectiveKind::collective: return "collective";
      case CollectiveKind::assert_same: return "assert_same";
      case CollectiveKind::broadcast: return "broadcast_from";
      case CollectiveKind::persistent:
        return std::get<ast::Persistent>(stmt.node).restore ? "restore_persistent" : "set_persistent";
    }
    return "statement";
  }

  static Code code(CollectiveKind kind) {
    switch (kind) {
      case CollectiveKind::pardo: return Code::E_PARDO_NEST;
      case CollectiveKind::section:
      case CollectiveKind::barrier: return Code::E_PARDO_BARRIER;
      case CollectiveKind::create:
      case CollectiveKind::erase: return Code::E_PARDO_CREATE;
      case CollectiveKind::broadcast:
      case CollectiveKind::persistent: return Code::E_PARDO_COLLECTIVE;
      case CollectiveKind::collective:
      case CollectiveKind::assert_same: return Code::W_PARDO_COLLECTIVE;
    }
    return Code::E_PARDO_COLLECTIVE;
  }

  static const char* remedy(CollectiveKind kind) {
    switch (kind) {
      case CollectiveKind::pardo: return "name all indices in one pardo, or make the inner loop a `do`";
      case CollectiveKind::section: return "a section ends like a barrier: put it behind `endpardo`";
      case CollectiveKind::barrier:
        return "put the barrier behind `endpardo`; workers are in different iterations here";
      default: return "all workers must reach it together: put it behind `endpardo`";
    }
  }

  void check_pardo(std::size_t r) {
    for (const CollectiveUse& use : routines_[r].collectives) {
      if (!use.pardo && !(reachable_[r] && pardo_via_[r])) continue;
      // Nothing happens at a `create`: the original refuses it only where it stands in the pardo itself.
      const bool harmless = !use.pardo && use.kind == CollectiveKind::create;
      Diagnostic& d =
          emitter_.report(harmless ? Code::W_PARDO_COLLECTIVE : code(use.kind), use.stmt->header_span,
                          use.pardo ? fmt::format("`{}` inside a pardo", word(*use.stmt, use.kind))
                                    : fmt::format("`{}` inside a pardo, through the call of `{}`",
                                                  word(*use.stmt, use.kind), symbol(routines_[r].proc).text),
                          remedy(use.kind));
      if (use.pardo && use.kind == CollectiveKind::barrier)
        d.fix(offered({"move the barrier behind `endpardo`",
                       {{Edit::What::remove_lines, use.stmt->span},
                        {Edit::What::line_below, use.pardo->span, word(*use.stmt, use.kind)}}}));
      const ast::Stmt* pardo = use.pardo;
      std::size_t at = r;
      std::set<std::size_t> seen;
      while (!pardo && pardo_via_[at] && seen.insert(at).second) {
        d.notes.push_back(
            {pardo_via_[at]->call->span, fmt::format("`{}` is called here", symbol(routines_[at].proc).text)});
        pardo = pardo_via_[at]->call->pardo;
        at = pardo_via_[at]->caller;
      }
      if (pardo) d.notes.push_back({pardo->header_span, "the pardo begins here"});
    }
  }

  CheckedProgram& program_;
  const std::vector<Routine>& routines_;
  Emitter& emitter_;
  std::unordered_map<SymbolId, std::size_t> by_proc_;
  std::map<std::size_t, std::vector<Site>> sites_;  // reachable calls of each procedure
  std::vector<std::optional<IndexSet>> avail_;
  std::vector<IndexSet> busy_;
  std::vector<bool> reachable_;
  std::vector<std::optional<Site>> pardo_via_;
};

}  // namespace

void check_calls(CheckedProgram& program, const std::vector<Routine>& routines, Emitter& emitter) {
  CallGraph(program, routines, emitter).run();
}

}  // namespace sial::sema
