#include "compiler/analysis/home_lifetime.h"

#include <algorithm>
#include <map>
#include <utility>

#include "compiler/analysis/ranges.h"
#include "runtime/core/base/fault_injection.h"

namespace sial::analysis {
namespace {

/// Arrays by row.
using Arrays = std::vector<char>;

void unite(Arrays& a, const Arrays& b) {
  for (std::size_t k = 0; k < a.size(); ++k) a[k] |= b[k];
}

/// Effects of a stretch of code, seen from its beginning: arrays whose old values it may use, and those whose old
/// values nobody can use after it.
struct Flow {
  Arrays used, replaced;
  explicit Flow(std::size_t arrays) : used(arrays), replaced(arrays) {}
  void use(ArrayId array) { used[array.at()] = 1; }
  void replace(ArrayId array) {
    used[array.at()] = 0;
    replaced[array.at()] = 1;
  }
  void use_all() { std::fill(used.begin(), used.end(), char{1}); }
  /// `first` runs before this.
  void precede(const Flow& first) {
    for (std::size_t k = 0; k < used.size(); ++k) {
      used[k] = static_cast<char>(first.used[k] | (used[k] & ~first.replaced[k] & 1));
      replaced[k] |= first.replaced[k];
    }
  }
};

const ir::Instr* instruction(const ir::Node& n) { return std::get_if<ir::Instr>(&n.value); }

/// The statements that give values to each remote array: all its puts, and whether anything else does.
class Writers {
 public:
  explicit Writers(const ir::Program& program) : p_(program), puts_(program.arrays.size()), others_(puts_.size()) {
    for (std::size_t a = 0; a < others_.size(); ++a) others_[a] = p_.arrays[a].predefined ? 1 : 0;  // the job
    for (const ir::Procedure& proc : p_.procs) look(proc.body);
    look(p_.main);
  }
  /// The puts of an array whose values come from puts that replace blocks only; 0: others give it values as well.
  std::size_t puts(ArrayId array) const { return others_[array.at()] ? 0 : puts_[array.at()]; }

 private:
  void look(const ir::Body& body) {
    for_each_instr(body, [&](const ir::Instr& i, const ir::Node&) {
      for (const ArrayUse& u : array_uses(p_, i)) {
        if (u.side != Side::home || !u.writes() || i.op == Opcode::erase_array) continue;
        if (op_class(i.op) == OpClass::put && u.intent == Intent::write) ++puts_[u.array.at()];
        else others_[u.array.at()] = 1;
      }
    });
  }

  const ir::Program& p_;
  std::vector<std::size_t> puts_;
  std::vector<char> others_;
};

/// The arrays of which a loop nest replaces every block that exists: those of which it puts all blocks, and those that
/// have their values from this nest only, which puts the same blocks each time.
class ReplacedByNest {
 public:
  ReplacedByNest(const ir::Program& program, Summaries& summaries, const Phases& phases)
      : p_(program), summaries_(summaries), phases_(phases), writers_(program) {}

  std::vector<ArrayId> find(const ir::Node& nest) {
    const auto& loop = std::get<ir::Loop>(nest.value);
    const Summary& all = summaries_.of_node(nest);
    if (all.barrier || all.leaves || all.ends_job) return {};
    bool leaves = false;  // an exit of a loop within the nest
    for_each_instr(loop.body, [&](const ir::Instr& i, const ir::Node&) { leaves |= i.op == Opcode::exit_loop; });
    if (leaves) return {};
    indices_.clear();
    found_.clear();
    same_.clear();
    follow(loop);
    for (const auto& [array, puts] : same_)
      if (puts == writers_.puts(array)) found_.push_back(array);
    const std::vector<ArrayTouch>& touches = phases_.all_touches(phases_.of(nest.id));
    std::erase_if(found_, [&](ArrayId array) {
      const auto used = [&](const ArrayTouch& t) {
        return t.array == array && (t.home.read || t.home.accumulated || t.own.read);
      };
      return std::any_of(touches.begin(), touches.end(), used);
    });
    return found_;
  }

 private:
  void follow(const ir::Loop& loop) {
    if (loop.kind == LoopKind::sub) return;
    const bool always = std::exchange(always_, always_ && loop.wheres.empty());
    indices_.insert(indices_.end(), loop.indices.begin(), loop.indices.end());
    const bool same = std::all_of(loop.wheres.begin(), loop.wheres.end(), [&](const ir::Where& w) {
      return depends_on_indices(w.code.data(), w.code.data() + w.code.size(), w.condition);
    });
    if (same) follow(loop.body);
    indices_.resize(indices_.size() - loop.indices.size());
    always_ = always;
  }

  void follow(const ir::Body& body) {
    for (const ir::Node& n : body) {
      if (const auto* inner = std::get_if<ir::Loop>(&n.value)) follow(*inner);
      if (const auto* branch = std::get_if<ir::If>(&n.value);
          branch && depends_on_indices(body.data(), &n, branch->condition)) {
        const bool always = std::exchange(always_, false);
        follow(branch->then_body);
        follow(branch->else_body);
        always_ = always;
      }
      const ir::Instr* i = instruction(n);
      if (i == nullptr || op_class(i->op) != OpClass::put) continue;
      const auto* block = std::get_if<ir::Block>(&i->operands[0]);
      if (block == nullptr || block->intent != Intent::write || !names_blocks_of_nest(*block)) continue;
      ++same_[block->array];
      if ((always_ || fault_enabled(Fault::discard_replaced_in_part)) && puts_all(*block))
        found_.push_back(block->array);
    }
  }

  /// Whether the condition is decided by indices of the nest and literals: the same way at each execution of it.
  bool depends_on_indices(const ir::Node* first, const ir::Node* last, std::int32_t condition) const {
    const Comparison c = comparison_of(first, last, condition);
    const auto decided = [&](const Comparison::Side& side) {
      return side.known || (side.index != no_index && is_open(side.index));
    };
    return c.on_ints && decided(c.left) && decided(c.right);
  }
  bool is_open(IndexId index) const { return std::find(indices_.begin(), indices_.end(), index) != indices_.end(); }

  /// By whole segments that loops of the nest decide.
  bool names_blocks_of_nest(const ir::Block& block) const {
    return std::all_of(block.entries.begin(), block.entries.end(), [&](const RefEntry& e) {
      return e.index != no_index && !e.as_simple && p_.indices[e.index.at()].parent == no_index && is_open(e.index);
    });
  }

  /// Every block of the array is named once by the iterations of the loops that are open.
  bool puts_all(const ir::Block& block) const {
    const ArrayRow& array = p_.arrays[block.array.at()];
    std::vector<IndexId> named;
    for (std::size_t d = 0; d < block.entries.size(); ++d) {
      const IndexRow &row = p_.indices[block.entries[d].index.at()], &declared = p_.indices[array.dims[d].at()];
      if (row.kind != declared.kind || !(row.lo == declared.lo) || !(row.hi == declared.hi)) return false;
      named.push_back(block.entries[d].index);
    }
    std::sort(named.begin(), named.end());
    std::vector<IndexId> open = indices_;
    std::sort(open.begin(), open.end());
    return named == open;  // so that no index stands twice, and no other loop decides whether there is an iteration
  }

  const ir::Program& p_;
  Summaries& summaries_;
  const Phases& phases_;
  const Writers writers_;
  bool always_ = true;                   // no condition stands between the nest and here
  std::vector<IndexId> indices_;         // of the loops that are open
  std::vector<ArrayId> found_;           // of which all blocks are put
  std::map<ArrayId, std::size_t> same_;  // puts that name the same blocks at each execution
};

/// Backwards. What loops and procedures use is found first, callees first (summarise); then every body is walked with
/// what is used after it, callers first (record).
class Walk {
 public:
  using Facts = std::unordered_map<ir::NodeId, Arrays>;
  /// Fills `used` after each barrier.
  Walk(const ir::Program& program, const Phases& phases, Facts& used)
      : p_(program), used_(used), calls_(program), summaries_(program), nests_(program, summaries_, phases) {
    procs_.assign(p_.procs.size(), Flow(size()));
    after_.assign(p_.procs.size(), Arrays(size()));
  }

  void run() {
    for (std::size_t q = 0; q < p_.procs.size(); ++q) {
      proc_ = static_cast<std::int32_t>(q);
      Flow& flow = procs_[q];
      walk(p_.procs[q].body, flow);
      bool returns = false;
      for_each_instr(p_.procs[q].body, [&](const ir::Instr& i, const ir::Node&) { returns |= i.op == Opcode::ret; });
      if (returns) std::fill(flow.replaced.begin(), flow.replaced.end(), char{0});
      const std::vector<std::int32_t>& callees = calls_.callees(proc_);
      if (std::find(callees.begin(), callees.end(), proc_) != callees.end())  // goes on after a call within it
        std::fill(after_[q].begin(), after_[q].end(), char{1});
    }
    proc_ = -1;
    Flow unused(size());
    walk(p_.main, unused);  // its loops

    recording_ = true;
    record(-1, p_.main, saved());
    for (std::size_t q = p_.procs.size(); q-- > 0;) record(static_cast<std::int32_t>(q), p_.procs[q].body, after_[q]);
  }

 private:
  std::size_t size() const { return p_.arrays.size(); }

  /// Arrays that the end of the program saves.
  Arrays saved() const {
    Arrays list(size());
    const auto mark = [&](const ir::Instr& i, const ir::Node&) {
      if (!effects_of(p_, i).persistent) return;
      for (const ArrayUse& u : array_uses(p_, i)) list[u.array.at()] = 1;
    };
    for_each_instr(p_.main, mark);
    for (const ir::Procedure& proc : p_.procs) for_each_instr(proc.body, mark);
    return list;
  }

  void record(std::int32_t proc, const ir::Body& body, const Arrays& after) {
    proc_ = proc;
    end_ = after;
    Flow flow(size());
    flow.used = after;
    walk(body, flow);
  }

  void walk(const ir::Body& body, Flow& flow) {
    for (auto n = body.rbegin(); n != body.rend(); ++n) node(*n, flow);
  }

  void node(const ir::Node& n, Flow& flow) {
    if (const ir::Instr* i = instruction(n)) return instr(n, *i, flow);
    if (const auto* loop = std::get_if<ir::Loop>(&n.value)) return this->loop(n, *loop, flow);
    if (const auto* branch = std::get_if<ir::If>(&n.value)) return this->branch(*branch, flow);
    walk(std::get<ir::Section>(n.value).body, flow);
  }

  /// A replacement within a branch counts there only: a rank that takes another one does not do its share.
  void branch(const ir::If& branch, Flow& flow) {
    Flow then = flow, otherwise = flow;
    walk(branch.then_body, then);
    walk(branch.else_body, otherwise);
    unite(flow.used, then.used);
    unite(flow.used, otherwise.used);
  }

  void loop(const ir::Node& n, const ir::Loop& loop, Flow& flow) {
    auto known = loops_.find(n.id);
    if (known == loops_.end()) {
      Flow body(size());
      walk(loop.body, body);
      for (auto w = loop.wheres.rbegin(); w != loop.wheres.rend(); ++w) walk(w->code, body);
      std::fill(body.replaced.begin(), body.replaced.end(), char{0});  // there may be no iteration
      for (const ArrayId array : nests_.find(n))
        if (!body.used[array.at()]) body.replaced[array.at()] = 1;
      known = loops_.emplace(n.id, std::move(body)).first;
    }
    if (recording_) {
      Flow inside(size());
      inside.used = flow.used;
      unite(inside.used, known->second.used);  // of later iterations
      const Arrays at_end = inside.used;
      exits_.push_back(&at_end);
      walk(loop.body, inside);
      exits_.pop_back();
    }
    flow.precede(known->second);
  }

  void instr(const ir::Node& n, const ir::Instr& i, Flow& flow) {
    const Effects e = effects_of(p_, i);
    if (recording_ && e.barrier) {
      const auto [at, first] = used_.try_emplace(n.id, flow.used);
      if (!first) unite(at->second, flow.used);
    }
    switch (i.op) {
      case Opcode::call: return call(std::get<ir::ProcId>(i.operands[0]).row, flow);
      case Opcode::exit_loop:  // goes on after the loop
        if (!exits_.empty()) unite(flow.used, *exits_.back());
        return;
      case Opcode::ret:
        if (recording_) unite(flow.used, end_);
        return;
      default: break;
    }
    if (e.lists_blocks || e.reads_by_name || e.writes_by_name) flow.use_all();
    for (const ArrayUse& u : array_uses(p_, i)) {
      if (!is_remote_array(p_, u.array)) continue;
      if (i.op == Opcode::erase_array) flow.replace(u.array);
      else if (u.reads() && !fault_enabled(Fault::discard_used)) flow.use(u.array);
    }
  }

  void call(std::int32_t proc, Flow& flow) {
    if (proc == proc_) return flow.use_all();  // calls itself
    if (recording_) unite(after_[static_cast<std::size_t>(proc)], flow.used);
    flow.precede(procs_[static_cast<std::size_t>(proc)]);
  }

  const ir::Program& p_;
  Facts& used_;
  CallGraph calls_;
  Summaries summaries_;
  ReplacedByNest nests_;
  std::vector<Flow> procs_;    // by procedure
  std::vector<Arrays> after_;  // by procedure: used after some call of it
  std::unordered_map<ir::NodeId, Flow> loops_;
  std::vector<const Arrays*> exits_;  // what is used after the loops that are open
  Arrays end_;                        // and after the body
  std::int32_t proc_ = -1;
  bool recording_ = false;
};

}  // namespace

HomeLifetimes::HomeLifetimes(const ir::Program& program) : phases_(program) { Walk(program, phases_, used_).run(); }

bool HomeLifetimes::dead_after(ir::NodeId barrier, ArrayId array) const {
  const auto found = used_.find(barrier);
  return found != used_.end() && found->second[array.at()] == 0;
}

}  // namespace sial::analysis
