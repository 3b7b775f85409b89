#include "compiler/analysis/phases.h"

#include <algorithm>
#include <numeric>

namespace sial::analysis {

void normalise(std::vector<ArrayTouch>& touches) {
  std::stable_sort(touches.begin(), touches.end(),
                   [](const ArrayTouch& a, const ArrayTouch& b) { return a.array < b.array; });
  std::size_t n = 0;
  for (std::size_t k = 0; k < touches.size(); ++k) {
    if (n > 0 && touches[n - 1].array == touches[k].array) {
      touches[n - 1].own.merge(touches[k].own);
      touches[n - 1].home.merge(touches[k].home);
    } else {
      touches[n++] = touches[k];
    }
  }
  touches.resize(n);
}

/// Walks the bodies once, callees first. Numbers are raw phases, joined as paths meet.
struct Phases::Builder {
  const ir::Program& p;
  Phases& out;
  Summaries summaries;
  std::vector<std::int32_t> parent{};              // union-find over raw phases
  std::vector<std::int32_t> proc{};                // by raw phase
  std::vector<const ir::Node*> begin{};            // by raw phase: the barrier before it
  std::vector<std::vector<ArrayTouch>> touched{};  // by raw phase
  std::vector<std::int32_t> entry{}, exit{};       // by procedure + 1
  struct Call {
    std::int32_t callee, before, after;
    auto operator<=>(const Call&) const = default;
  };
  std::vector<std::vector<Call>> calls{};  // by caller in the order walked: main is the last
  std::int32_t current_proc = -1, current_entry = -1;
  std::vector<std::int32_t> loop_exits{};  // phase after each open loop
  std::int32_t return_phase = -1;

  std::int32_t fresh(const ir::Node* from) {
    parent.push_back(static_cast<std::int32_t>(parent.size()));
    proc.push_back(current_proc);
    begin.push_back(from);
    touched.emplace_back();
    return parent.back();
  }

  std::int32_t find(std::int32_t x) {
    while (parent[static_cast<std::size_t>(x)] != x) {
      parent[static_cast<std::size_t>(x)] = parent[static_cast<std::size_t>(parent[static_cast<std::size_t>(x)])];
      x = parent[static_cast<std::size_t>(x)];
    }
    return x;
  }

  void join(std::int32_t a, std::int32_t b) {
    a = find(a), b = find(b);
    if (a == b) return;
    parent[static_cast<std::size_t>(std::max(a, b))] = std::min(a, b);  // the earlier number stays
  }

  void procedure(std::int32_t row, const ir::Body& nodes) {
    current_proc = row;
    calls.emplace_back();
    const std::int32_t in = current_entry = fresh(nullptr);
    return_phase = -1;
    const std::int32_t end = body(nodes, in);
    returns(end);
    entry.push_back(in);
    exit.push_back(return_phase);
  }

  void returns(std::int32_t at) {
    if (return_phase < 0) return_phase = at;
    else join(at, return_phase);
  }

  std::int32_t body(const ir::Body& nodes, std::int32_t at) {
    for (const ir::Node& n : nodes) at = node(n, at);
    return at;
  }

  void add(std::int32_t phase, const Summary& s) {
    auto& list = touched[static_cast<std::size_t>(phase)];
    list.insert(list.end(), s.arrays.begin(), s.arrays.end());
  }

  std::int32_t instr(const ir::Node& n, const ir::Instr& i, std::int32_t at) {
    switch (i.op) {
      case Opcode::call: {
        const std::int32_t callee = std::get<ir::ProcId>(i.operands[0]).row;
        if (callee == current_proc) {  // calls itself
          join(at, current_entry);
          returns(at);
          return at;
        }
        const std::int32_t callee_in = find(entry[static_cast<std::size_t>(callee) + 1]),
                           callee_out = find(exit[static_cast<std::size_t>(callee) + 1]);
        const std::int32_t after = callee_in == callee_out ? at : fresh(&n);
        calls.back().push_back({callee, at, after});
        return after;
      }
      case Opcode::exit_loop: join(at, loop_exits.back()); return fresh(nullptr);  // nothing comes after it
      case Opcode::ret: returns(at); return fresh(nullptr);
      case Opcode::stop: return fresh(nullptr);
      default: break;
    }
    add(at, summaries.of_instr(i));
    return effects_of(p, i).barrier ? fresh(&n) : at;
  }

  std::int32_t node(const ir::Node& n, std::int32_t at) {
    out.phase_of_node_[static_cast<std::size_t>(n.id)] = at;
    if (const auto* i = std::get_if<ir::Instr>(&n.value)) return instr(n, *i, at);
    if (const auto* l = std::get_if<ir::Loop>(&n.value)) {
      for (const ir::Where& w : l->wheres) body(w.code, at);
      loop_exits.push_back(at);  // a loop that has ended is where one that has not begun is: zero trips
      join(body(l->body, at), at);
      loop_exits.pop_back();
      return at;
    }
    if (const auto* b = std::get_if<ir::If>(&n.value)) {
      const std::int32_t then_end = body(b->then_body, at), else_end = body(b->else_body, at);
      join(then_end, else_end);
      return then_end;
    }
    body(std::get<ir::Section>(n.value).body, at);
    return fresh(&n);
  }

  static void append(std::vector<ArrayTouch>& to, const std::vector<ArrayTouch>& from) {
    to.insert(to.end(), from.begin(), from.end());
  }

  void run() {
    out.phase_of_node_.assign(static_cast<std::size_t>(p.n_nodes), 0);
    entry.push_back(0), exit.push_back(0);  // main: overwritten below
    for (std::size_t q = 0; q < p.procs.size(); ++q) procedure(static_cast<std::int32_t>(q), p.procs[q].body);
    procedure(-1, p.main);
    entry[0] = entry.back(), exit[0] = exit.back();
    entry.pop_back(), exit.pop_back();
    // Numbers of the classes, in the order of their first raw phase: program order.
    std::vector<std::int32_t> numbers(parent.size(), -1);
    for (std::size_t r = 0; r < parent.size(); ++r) {
      const auto root = static_cast<std::size_t>(find(static_cast<std::int32_t>(r)));
      if (numbers[root] < 0) {
        numbers[root] = static_cast<std::int32_t>(out.local_.size());
        out.local_.emplace_back();
        out.begins_.emplace_back();
        out.proc_.push_back(proc[r]);
      }
      out.phases_.emplace_back(numbers[root]);
      const auto id = static_cast<std::size_t>(numbers[root]);
      append(out.local_[id], touched[r]);
      if (begin[r] != nullptr) out.begins_[id].push_back(begin[r]);
    }
    for (const std::int32_t raw : entry) out.entry_.push_back(out.phases_[static_cast<std::size_t>(raw)]);
    for (const std::int32_t raw : exit) out.exit_.push_back(out.phases_[static_cast<std::size_t>(raw)]);
    spread();
  }

  /// Takes what callees do at their ends into the callers' phases, then what callers do around calls into the callees'.
  void spread() {
    std::vector<std::vector<std::size_t>> phases_of(calls.size());
    for (std::size_t id = 0; id < out.proc_.size(); ++id)
      phases_of[out.proc_[id] < 0 ? calls.size() - 1 : static_cast<std::size_t>(out.proc_[id])].push_back(id);
    for (std::size_t caller = 0; caller < calls.size(); ++caller) {
      for (Call& c : calls[caller]) {
        c.before = out.phases_[static_cast<std::size_t>(c.before)].number();
        c.after = out.phases_[static_cast<std::size_t>(c.after)].number();
      }
      std::sort(calls[caller].begin(), calls[caller].end());
      calls[caller].erase(std::unique(calls[caller].begin(), calls[caller].end()), calls[caller].end());
      for (const Call& c : calls[caller]) {
        append(out.local_[static_cast<std::size_t>(c.before)], out.local_[out.entry(c.callee).at()]);
        append(out.local_[static_cast<std::size_t>(c.after)], out.local_[out.exit(c.callee).at()]);
      }
      for (const std::size_t id : phases_of[caller]) normalise(out.local_[id]);
    }
    out.all_ = out.local_;
    for (std::size_t caller = calls.size(); caller-- > 0;) {
      for (const std::size_t id : phases_of[caller]) normalise(out.all_[id]);
      for (const Call& c : calls[caller]) {
        append(out.all_[out.entry(c.callee).at()], out.all_[static_cast<std::size_t>(c.before)]);
        append(out.all_[out.exit(c.callee).at()], out.all_[static_cast<std::size_t>(c.after)]);
      }
    }
  }
};

Phases::Phases(const ir::Program& program) { Builder{program, *this, Summaries(program)}.run(); }

bool Phases::may_put(PhaseId phase, ArrayId array) const {
  const auto& list = all_touches(phase);
  const auto at =
      std::lower_bound(list.begin(), list.end(), array, [](const ArrayTouch& t, ArrayId a) { return t.array < a; });
  return at != list.end() && at->array == array && at->home.written();
}

}  // namespace sial::analysis
