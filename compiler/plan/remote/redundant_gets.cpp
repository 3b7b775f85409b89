#include "compiler/plan/remote/redundant_gets.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "compiler/plan/remote/remote_access.h"
#include "runtime/core/base/fault_injection.h"

// Why it is right. A get does nothing when this rank has executed a get of the same block in the phase and not changed
// the block at its home since (a copy is not refreshed within a phase). The walk carries the references for which that
// is so: a get adds one; a put, fill, increment or scale of the array by this rank takes all of the array's away
// (another block's put may be the same block's: `x[i,j]`, `x[j,i]`), as do delete and restore; a barrier takes all. A
// loop may do in one iteration what an earlier one left, so what its body takes away is gone at its head, and a
// reference to its index means another block in the next iteration; what its body adds is gone after it, for it may
// not run. After an if stays what both branches leave. A call takes away what the procedure takes; a procedure starts
// with nothing. Changes by other ranks do not count: a copy does not show them, got once or twice.

namespace sial::plan {
namespace {

struct ValidCopy {
  const ir::Block* block = nullptr;
  SourcePlace place;
};
using State = std::vector<ValidCopy>;

bool same(const ir::Block& a, const ir::Block& b) { return a.array == b.array && a.entries == b.entries; }

class Dropper {
 public:
  Dropper(ir::Program& program, Plan& plan) : p_(program), plan_(plan), traffic_(program), summaries_(program) {}

  void run() {
    for (std::size_t k = 0; k < p_.procs.size(); ++k) {
      path_.proc = static_cast<std::int32_t>(k);
      State none;
      walk(p_.procs[k].body, none);
    }
    path_.proc = -1;
    State none;
    walk(p_.main, none);
    if (!redundant_.empty())
      analysis::for_each_body(p_, [&](ir::Body& body, const analysis::Path&) {
        std::erase_if(body, [&](const ir::Node& n) { return redundant_.contains(n.id); });
      });
  }

 private:
  void take(State& s, const analysis::Summary& what) const {
    if (what.barrier && !fault_enabled(Fault::redundant_get_after_barrier)) s.clear();
    if (fault_enabled(Fault::redundant_get_after_put)) return;
    std::erase_if(s, [&](const ValidCopy& h) { return what.may_put(h.block->array); });
  }

  void invalidate_indices(State& s, const std::vector<IndexId>& indices) const {
    std::erase_if(s, [&](const ValidCopy& h) {
      return std::any_of(h.block->entries.begin(), h.block->entries.end(), [&](const RefEntry& e) {
        const IndexId parent = p_.indices[e.index.at()].parent;
        return std::find_if(indices.begin(), indices.end(), [&](IndexId x) { return x == e.index || x == parent; }) !=
               indices.end();
      });
    });
  }

  void walk(const ir::Body& body, State& s) {
    for (const ir::Node& n : body) {
      if (const auto* i = std::get_if<ir::Instr>(&n.value)) {
        instr(n, *i, s);
        continue;
      }
      path_.enclosing.push_back(&n);
      if (const auto* l = std::get_if<ir::Loop>(&n.value)) {
        take(s, summaries_.of_node(n));
        invalidate_indices(s, l->indices);
        State inside = s;
        walk(l->body, inside);
      } else if (const auto* b = std::get_if<ir::If>(&n.value)) {
        State other = s;
        walk(b->then_body, s);
        walk(b->else_body, other);
        std::erase_if(s, [&](const ValidCopy& h) { return !find(other, *h.block); });
      } else {
        State inside;
        walk(std::get<ir::Section>(n.value).body, inside);
        s.clear();
      }
      path_.enclosing.pop_back();
    }
  }

  static const ValidCopy* find(const State& s, const ir::Block& block) {
    for (const ValidCopy& h : s)
      if (same(*h.block, block)) return &h;
    return nullptr;
  }

  void instr(const ir::Node& n, const ir::Instr& i, State& s) {
    if (i.op != Opcode::get) {
      take(s, summaries_.of_instr(i));
      return;
    }
    const auto& block = std::get<ir::Block>(i.operands[0]);
    const ValidCopy* held = find(s, block);
    if (!held) {
      s.push_back({&block, n.place});
      return;
    }
    redundant_.insert(n.id);
    plan_.remarks.push_back({RemarkKind::passed,
                             "redundant-gets",
                             "removed",
                             n.place,
                             block.array,
                             fmt::format("the get of `{}` is left out: the block is held since {}",
                                         analysis::text_of(p_, block), place_text(p_, held->place, n.place)),
                             "",
                             {},
                             {},
                             traffic_.executions(path_)});
  }

  ir::Program& p_;
  Plan& plan_;
  Traffic traffic_;
  analysis::Summaries summaries_;
  analysis::Path path_;
  std::set<ir::NodeId> redundant_;
};

}  // namespace

void drop_redundant_gets(ir::Program& program, Plan& plan) { Dropper(program, plan).run(); }

}  // namespace sial::plan
