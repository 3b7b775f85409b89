// Legality: a slice only ever reads, on a copy of the program's state, and asks for blocks; asking early changes
// nothing that a program can see, as long as
//   - the block is one that this rank will get in the same phase: slice_flow.h leaves out what it cannot know, and no
//     loop that has a slice contains a barrier or another synchronization of ranks;
//   - its value is the one that the get would find: the phase rule (runtime/core/store/README.md) keeps other ranks
// from
//     writing what this rank gets, and gets that this rank's own puts of the loop may come before are left to the
//     program (slice_sites.h);
//   - it does not count as a get: absence is reported, and the phase rule enforced, at the get itself.
// Puts are only foreseen: what they add to may be read from a tier of the home node early, where its value is the one
// that the put finds, whoever puts.
#include "compiler/plan/slice/access_slice.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "compiler/analysis/operands.h"
#include "compiler/plan/remote/remote_access.h"
#include "compiler/plan/slice/slice_flow.h"
#include "compiler/plan/slice/slice_sites.h"

namespace sial::plan {
namespace {

constexpr const char* pass_name = "access-slice";

class AccessSlices {
 public:
  AccessSlices(const ir::Program& program, Plan& plan)
      : p_(program), plan_(plan), summaries_(program), traffic_(program) {
    const auto remember = [&](const ir::Node& n, const analysis::Path&) { nodes_[n.id] = &n; };
    analysis::visit(p_, remember);
  }

  void run() {
    body(p_.main, {});
    while (!open_.empty()) {
      const std::int32_t proc = open_.back();
      open_.pop_back();
      entries_ = traffic_.entries(proc);
      body(p_.procs[static_cast<std::size_t>(proc)].body, {});
    }
  }

 private:
  struct Outside {
    std::vector<const ir::Loop*> loops;
    const ir::Node* synchronization = nullptr;
  };  // around; where ranks meet in the innermost

  // --- which loops
  void body(const ir::Body& nodes, const Outside& outside) {
    for (const ir::Node& n : nodes) {
      if (const auto* b = std::get_if<ir::If>(&n.value)) {
        body(b->then_body, outside);
        body(b->else_body, outside);
      } else if (const auto* s = std::get_if<ir::Section>(&n.value)) {
        body(s->body, outside);
      } else if (const auto* l = std::get_if<ir::Loop>(&n.value)) {
        const analysis::Summary& summary = summaries_.of_node(n);
        const bool meets = summary.barrier || summary.collective || summary.pardo;
        if (l->kind != LoopKind::pardo && meets) {
          Outside inside = outside;
          inside.loops.push_back(l);
          inside.synchronization = synchronization(l->body);
          body(l->body, inside);
        } else if (std::any_of(summary.arrays.begin(), summary.arrays.end(), [](const analysis::ArrayTouch& t) {
                     return t.own.fetched || t.home.replaced || t.home.accumulated;
                   })) {
          slice(n, *l, outside);
        }
      } else {
        instr(n, std::get<ir::Instr>(n.value), outside);
      }
    }
  }

  /// Outside of slices.
  void instr(const ir::Node& n, const ir::Instr& i, const Outside& outside) {
    if (i.op == Opcode::call) {
      const std::int32_t proc = std::get<ir::ProcId>(i.operands[0]).row;
      if (opened_.insert(proc).second) open_.push_back(proc);
    }
    if (op_class(i.op) != OpClass::fetch || outside.synchronization == nullptr) return;
    const ir::Block& block = std::get<ir::Block>(i.operands[0]);
    Cost runs = Cost::constant(1.0);
    for (const ir::Loop* l : outside.loops)
      for (const IndexId index : l->indices) runs = runs * Cost::count(index);
    remark(
        RemarkKind::missed, "ends-at-synchronization", n, block.array,
        fmt::format("`{}` is not fetched ahead of its loop over {}: look-ahead ends at {} at line {}", text(n),
                    names(*outside.loops.back()), what(*outside.synchronization), outside.synchronization->place.line),
        "put the gets between two such statements into a loop of their own", block_bytes(p_, block), runs);
  }

  /// The first statement of a loop at which ranks meet.
  const ir::Node* synchronization(const ir::Body& nodes) {
    for (const ir::Node& n : nodes) {
      const auto* l = std::get_if<ir::Loop>(&n.value);
      if (l != nullptr && l->kind == LoopKind::pardo) return &n;
      if (const auto* i = std::get_if<ir::Instr>(&n.value)) {
        const analysis::Summary s = summaries_.of_instr(*i);
        if (s.barrier || s.collective || s.pardo) return &n;
      } else if (std::holds_alternative<ir::Section>(n.value)) {
        return &n;
      } else if (l != nullptr) {
        if (const ir::Node* inner = synchronization(l->body)) return inner;
      } else if (const auto* b = std::get_if<ir::If>(&n.value)) {
        if (const ir::Node* inner = synchronization(b->then_body)) return inner;
        if (const ir::Node* inner = synchronization(b->else_body)) return inner;
      }
    }
    return nullptr;
  }

  bool gets(const ir::Node& n) {
    const analysis::Summary& summary = summaries_.of_node(n);
    return std::any_of(summary.arrays.begin(), summary.arrays.end(),
                       [](const analysis::ArrayTouch& t) { return t.own.fetched; });
  }

  // --- one slice
  void slice(const ir::Node& n, const ir::Loop& loop, const Outside& outside) {
    const std::optional<std::vector<Site>> sites = find_sites(p_, n);
    const char* const head = loop.kind == LoopKind::pardo ? "pardo" : "do";
    if (!sites) {
      if (!gets(n)) return;
      remark(
          RemarkKind::missed, "calls-without-end", n, no_array,
          fmt::format(
              "nothing is fetched ahead of `{} {}`: procedures called in it call themselves, or each other too often",
              head, names_of(p_, loop.indices)),
          "replace the recursion by a loop", {}, {});
      return;
    }
    std::set<ir::NodeId> left, several;  // left to the program; with more than one iteration to look ahead to
    std::map<ir::NodeId, const Site*> fed;
    for (const Site& site : *sites)
      if (!single(site)) several.insert(site.node->id);
    for (std::size_t s = 0; s < sites->size(); ++s) {
      const Site& site = (*sites)[s];
      const Site* put = op_class(site.instr->op) == OpClass::fetch ? put_before_get(p_, *sites, s) : nullptr;
      if (put != nullptr && left.insert(site.node->id).second) fed[site.node->id] = put;
      if (!several.contains(site.node->id)) left.insert(site.node->id);
    }
    const SliceFlow flow(p_, summaries_, n, left);
    if (flow.recursive()) return;  // find_sites has said so
    if (flow.fetches() || flow.puts()) plan_.slices.push_back({n.id, flow.actions()});

    std::set<ir::NodeId> ends;
    for (const Loss& l : flow.losses())
      if (l.kind == LossKind::abandoned || l.kind == LossKind::ended) ends.insert(l.node->id);
    const std::vector<Site> reached = ends.empty() ? *sites : *find_sites(p_, n, ends);
    for (const Loss& l : flow.losses())
      if (flow.fetches() && (l.kind == LossKind::abandoned || l.kind == LossKind::ended))
        abandons(l, n, loop, *sites, outside);

    std::set<ir::NodeId> said;
    for (const Site& site : *sites) {
      if (op_class(site.instr->op) != OpClass::fetch || !said.insert(site.node->id).second) continue;
      const ir::Block& block = std::get<ir::Block>(site.instr->operands[0]);
      Cost runs;
      for (const Site& other : *sites)
        if (other.node == site.node) runs += executions(other, outside.loops);
      const auto say = [&](RemarkKind kind, const char* name, const std::string& words, const std::string& advice) {
        remark(kind, name, *site.node, block.array, words, advice, block_bytes(p_, block), runs);
      };
      if (const auto found = fed.find(site.node->id); found != fed.end()) {
        say(RemarkKind::missed, "fed-by-put",
            fmt::format(
                "`{}` is not fetched ahead: `{}` at line {} may write the block in the same phase before it is got",
                text(*site.node), text(*found->second->node), found->second->node->place.line),
            "put into another array, or end the phase between put and get with a barrier");
      } else if (!several.contains(site.node->id)) {
        say(RemarkKind::missed, "one-iteration",
            fmt::format("`{}` is not fetched ahead: the range of {} has length 1, there is nothing to look ahead to",
                        text(*site.node), around(site)),
            "nothing, unless the range can be made longer by shorter segments");
      } else if (flow.actions().contains(site.node->id) &&
                 std::any_of(reached.begin(), reached.end(),
                             [&](const Site& r) { return r.node == site.node && !r.after_end; })) {
        say(RemarkKind::passed, "prefetched",
            fmt::format("`{}` is fetched ahead, over {}", text(*site.node), around(site)), "");
      } else {
        lost(flow, n, site, say);
      }
    }
  }

  /// Data decide here that iterations, or the loop, go on.
  void abandons(const Loss& loss, const ir::Node& root, const ir::Loop& loop, const std::vector<Site>& sites,
                const Outside& outside) {
    const bool ended = loss.kind == LossKind::ended;
    Cost bytes;  // what later iterations of the loops around it may get
    Cost runs = Cost::constant(1.0);
    for (const Site& s : sites)
      if (op_class(s.instr->op) == OpClass::fetch) bytes += block_bytes(p_, std::get<ir::Block>(s.instr->operands[0]));
    for (const ir::Loop* l : outside.loops)
      for (const IndexId i : l->indices) runs = runs * Cost::count(i);
    for (const IndexId i : loop.indices) runs = runs * Cost::count(i);
    remark(RemarkKind::missed, "gives-up", *loss.node, no_array,
           fmt::format("look-ahead of `{} {}` {} here: the condition depends on {}, and decides whether the {} goes on",
                       loop.kind == LoopKind::pardo ? "pardo" : "do", names_of(p_, loop.indices),
                       ended ? "ends" : "leaves the iteration", origin(loss, root), ended ? "loop" : "iteration"),
           "decide by ints, indices or elements of a static array that the loop does not write", bytes, runs);
  }

  /// A get that the slice does not come to.
  template <class Say>
  void lost(const SliceFlow& flow, const ir::Node& root, const Site& site, const Say& say) {
    const Loss* loss = nullptr;
    for (const Loss& l : flow.losses()) {
      const bool whole = l.kind == LossKind::no_slice;
      if (whole || (l.kind == LossKind::skipped && holds(*l.node, *site.node))) {
        loss = &l;
        break;
      }
    }
    for (const Loss& l : flow.losses())
      if (!loss && l.kind != LossKind::skipped) loss = &l;
    if (!loss) {
      say(RemarkKind::missed, "not-reached",
          fmt::format("`{}` is not fetched ahead: nothing in the program leads to it", text(*site.node)), "remove it");
      return;
    }
    const bool where = std::holds_alternative<ir::Loop>(loss->node->value);
    const std::string condition = fmt::format("the {} at line {} depends on {}", where ? "where clause" : "condition",
                                              loss->place.line, origin(*loss, root));
    const char* name =
        loss->kind == LossKind::abandoned || loss->kind == LossKind::ended ? "ends-at-exit" : "unknown-condition";
    const std::string then = loss->kind == LossKind::abandoned ? ", and decides whether the iteration goes on"
                             : loss->kind == LossKind::ended   ? ", and decides whether the loop goes on"
                                                               : "";
    say(RemarkKind::missed, name, fmt::format("`{}` is not fetched ahead: {}{}", text(*site.node), condition, then),
        where
            ? "use ints, indices or elements of a static array that the loop does not write in the where clause"
            : "get the block before the condition, or decide by ints, indices or elements of a static array that the loop does not write");
  }

  /// The construct contains the node, calls included.
  bool holds(const ir::Node& outer, const ir::Node& inner) {
    if (outer.id == inner.id) return true;
    bool found = false;
    const auto body = [&](const ir::Body& nodes) {
      for (const ir::Node& n : nodes) found = found || holds(n, inner);
    };
    if (const auto* l = std::get_if<ir::Loop>(&outer.value)) body(l->body);
    else if (const auto* b = std::get_if<ir::If>(&outer.value)) body(b->then_body), body(b->else_body);
    else if (const auto* s = std::get_if<ir::Section>(&outer.value)) body(s->body);
    else if (const auto& i = std::get<ir::Instr>(outer.value); i.op == Opcode::call)
      body(p_.procs[static_cast<std::size_t>(std::get<ir::ProcId>(i.operands[0]).row)].body);
    return found;
  }

  /// No job gives the loops of the slice around the site more than one iteration.
  bool single(const Site& site) const {
    for (const Site::Around& l : site.loops) {
      if (l.loop->kind == LoopKind::sub) return false;
      for (const IndexId i : l.loop->indices) {
        const IndexRow& row = p_.indices[i.at()];
        if (row.lo.symbolic || row.hi.symbolic) {
          if (!(row.lo == row.hi)) return false;
        } else if (row.lo.value < row.hi.value) {
          return false;
        }
      }
    }
    return true;
  }

  // --- words
  static std::string names_of(const ir::Program& p, const std::vector<IndexId>& indices) {
    std::string out;
    for (const IndexId i : indices) out += (out.empty() ? "" : ", ") + p.indices[i.at()].name;
    return out;
  }
  std::string names(const ir::Loop& l) const { return "`" + names_of(p_, l.indices) + "`"; }

  std::string around(const Site& site) const {
    std::string out;
    for (const Site::Around& l : site.loops)
      for (const IndexId i : l.loop->indices) {
        const IndexRow& row = p_.indices[i.at()];
        out += (out.empty() ? "`" : ", `") + row.name + "`";
        if (row.kind == IndexKind::sub) continue;
        const auto bound = [&](const Bound& b) {
          return b.symbolic ? p_.ints[static_cast<std::size_t>(b.value)].name : fmt::format("{}", b.value);
        };
        out += fmt::format(" = {}:{}", bound(row.lo), bound(row.hi));
      }
    return out;
  }

  /// A get or put as the program says it.
  std::string text(const ir::Node& n) const {
    const auto& i = std::get<ir::Instr>(n.value);
    const ir::Block& block = std::get<ir::Block>(i.operands[0]);
    const bool served = p_.arrays[block.array.at()].kind == ArrayKind::served;
    const bool put = op_class(i.op) == OpClass::put;
    return fmt::format("{} {}", put ? (served ? "prepare" : "put") : (served ? "request" : "get"),
                       analysis::text_of(p_, block));
  }

  std::string what(const ir::Node& n) const {
    if (std::holds_alternative<ir::Loop>(n.value)) return "the pardo";
    if (std::holds_alternative<ir::Section>(n.value)) return "the section";
    const auto& i = std::get<ir::Instr>(n.value);
    switch (i.op) {
      case Opcode::barrier: return "the barrier";
      case Opcode::collective_sum: return "the collective sum";
      case Opcode::call:
        return fmt::format("`call {}`",
                           p_.procs[static_cast<std::size_t>(std::get<ir::ProcId>(i.operands[0]).row)].name);
      default: return fmt::format("the statement that all ranks execute together");
    }
  }

  /// Why a condition cannot be known.
  std::string origin(const Loss& loss, const ir::Node& root) const {
    const auto found = nodes_.find(loss.origin);
    if (found == nodes_.end()) return "a value that is not known";
    const ir::Node& n = *found->second;
    const auto at = [&](const std::string& words) { return fmt::format("{} at line {}", words, n.place.line); };
    if (n.id == root.id) return "a variable that an earlier iteration changes behind a condition which is not known";
    if (std::holds_alternative<ir::Loop>(n.value) || std::holds_alternative<ir::If>(n.value))
      return at("a variable that is set under the condition");
    const auto& i = std::get<ir::Instr>(n.value);
    const std::vector<const ir::Block*> blocks = analysis::blocks_of(i);
    switch (i.op) {
      case Opcode::real_contract:
        return at(fmt::format("the product of `{}` and `{}`", analysis::text_of(p_, *blocks[0]),
                              analysis::text_of(p_, *blocks[1])));
      case Opcode::real_element: {
        const ArrayRow& array = p_.arrays[blocks[0]->array.at()];
        const std::string element = fmt::format("the element `{}`", analysis::text_of(p_, *blocks[0]));
        if (array.kind == ArrayKind::static_) return at(element + " of a static array that the loop writes, read");
        return at(fmt::format("{} of a {} array, read", element, array_kind_text(array.kind)));
      }
      case Opcode::execute:
        return at(fmt::format("the result of `execute {}`",
                              p_.specials[static_cast<std::size_t>(std::get<ir::SpecialId>(i.operands[0]).row)].name));
      case Opcode::call:
        return at(fmt::format("a variable that procedure `{}` sets",
                              p_.procs[static_cast<std::size_t>(std::get<ir::ProcId>(i.operands[0]).row)].name));
      default: return at("data");
    }
  }

  void remark(RemarkKind kind, const char* name, const ir::Node& n, ArrayId array, const std::string& words,
              const std::string& advice, const Cost& bytes, const Cost& runs) {
    RemarkRow row;
    row.kind = kind;
    row.pass = pass_name;
    row.name = name;
    row.place = n.place;
    row.array = array;
    row.text = words;
    row.advice = advice;
    row.bytes = bytes;
    row.executions = runs * entries_;
    plan_.remarks.push_back(std::move(row));
  }

  const ir::Program& p_;
  Plan& plan_;
  analysis::Summaries summaries_;
  Traffic traffic_;
  Cost entries_ = Cost::constant(1.0);  // of the procedure at hand
  std::map<ir::NodeId, const ir::Node*> nodes_;
  std::vector<std::int32_t> open_;
  std::set<std::int32_t> opened_;
};

}  // namespace

void access_slice(ir::Program& program, Plan& plan) { AccessSlices(program, plan).run(); }

}  // namespace sial::plan
