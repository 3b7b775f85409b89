#include "compiler/plan/free_early.h"

#include <fmt/format.h>

#include "compiler/plan/local.h"

// Why it is right. `free_block t` stands behind the last statement of a list that uses t's array, when the same list has made t (a
// statement that replaces the whole block stands further up), liveness says that on no path the value is needed, and t is certainly of
// the iteration of the innermost loop around the list: no loop further out can have made it. Then
//  - nobody reads it: a read on any path, also one that would be an error, counts as a use;
//  - t is made again, if at all, in a later iteration or behind the loop, where the block of before would have been gone as well. Were
//    it of a loop further out, a block made again in this loop would end with this loop's iteration instead of living on.
// A temp that has meanwhile been freed otherwise is no error for `free_block`.

namespace sial::plan {
namespace {

bool makes_blocks(const ir::Program& p, const ir::Node& n) {
  const ir::Instr* i = instr_of(n);
  if (i == nullptr || i->op == Opcode::call) return true;  // loops, branches, procedures: most likely
  for (const analysis::ArrayUse& u : analysis::array_uses(p, *i))
    if (u.writes() && u.side == analysis::Side::own && u.block != nullptr && u.intent == Intent::write) return i->op != Opcode::free_block;
  return false;
}

bool free_in_body(Local& l, ir::Body& body, const analysis::Path& path) {
  bool changed = false;
  for (std::size_t at = 1; at + 1 < body.size(); ++at) {
    const ir::Instr* i = instr_of(body[at]);
    if (i == nullptr || i->op == Opcode::free_block) continue;
    std::vector<ir::Block> last;
    bool worth_it = false;
    for (std::size_t k = at + 1; k < body.size() && !worth_it; ++k) worth_it = makes_blocks(l.program(), body[k]);
    for (std::size_t k = 0; k < i->operands.size() && worth_it; ++k)
      if (l.last_use(body, path, at, k)) last.push_back(*block_of(*i, k));
    for (const ir::Block& b : last) {
      l.remark(RemarkKind::passed, "freed-early", body[at], path, b, fmt::format("the memory of {} is free for what the iteration makes after its last use", l.text(b)));
      body.insert(body.begin() + static_cast<std::ptrdiff_t>(at) + 1, l.make(body[at].place, Opcode::free_block, {with_intent(b, Intent::write)}));
      changed = true;
    }
  }
  return changed;
}

}  // namespace

void free_early(ir::Program& program, Plan& plan) {
  Local l(program, plan, "free-early");
  analysis::for_each_body(program, [&](ir::Body& body, const analysis::Path& path) { free_in_body(l, body, path); });
}

}  // namespace sial::plan
