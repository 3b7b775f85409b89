#include "compiler/plan/local/free_early.h"

#include <fmt/format.h>

#include "compiler/plan/local/local.h"

// Why it is right. `free_block t` stands after the last statement of a list that uses t's array, when the same list
// has made t (a statement that replaces the whole block stands further up), liveness says that on no path the value is
// needed, and t is certainly of the iteration of the innermost loop around the list: no loop further out can have made
// it. Then
//   - nobody reads it: a read on any path, also one that would be an error, counts as a use;
//   - t is made again, if at all, in a later iteration or after the loop, where the block of before would have been
//     gone as well. Were it of a loop further out, a block made again in this loop would end with this loop's iteration
//     instead of living on.
// A temp that has meanwhile been freed otherwise is no error for `free_block`.

namespace sial::plan {
namespace {

bool makes_blocks(const ir::Program& p, const ir::Node& n) {
  const ir::Instr* i = instr_of(n);
  if (i == nullptr || i->op == Opcode::call) return true;  // loops, branches, procedures: most likely
  for (const analysis::ArrayUse& u : analysis::array_uses(p, *i))
    if (u.writes() && u.side == analysis::Side::own && u.block != nullptr && u.intent == Intent::write)
      return i->op != Opcode::free_block;
  return false;
}

void free_in_body(Local& l, ir::Body& body, const analysis::Path& path) {
  std::size_t making = body.size();  // after the last statement that makes a block, nothing is gained
  while (making > 0 && !makes_blocks(l.program(), body[making - 1])) --making;
  if (making < 3) return;
  Local::LastUses last(l, body, path);
  std::vector<std::pair<std::size_t, ir::Node>> freed;  // after which statement
  for (std::size_t at = 1; at + 1 < making; ++at) {
    const ir::Instr* i = instr_of(body[at]);
    if (i == nullptr || i->op == Opcode::free_block) continue;
    for (std::size_t k = 0; k < i->operands.size(); ++k) {
      if (!last.is_last(at, k)) continue;
      const ir::Block& b = *block_of(*i, k);
      l.remark(RemarkKind::passed, "freed-early", body[at], path, b,
               fmt::format("the memory of {} is free for what the iteration makes after its last use", l.text(b)));
      freed.emplace_back(at, l.make(body[at].place, Opcode::free_block, {with_intent(b, Intent::write)}));
    }
  }
  if (freed.empty()) return;
  ir::Body with;
  with.reserve(body.size() + freed.size());
  auto next = freed.begin();
  for (std::size_t at = 0; at < body.size(); ++at) {
    with.push_back(std::move(body[at]));
    for (; next != freed.end() && next->first == at; ++next) with.push_back(std::move(next->second));
  }
  body = std::move(with);
}

}  // namespace

void free_early(ir::Program& program, Plan& plan) {
  Local l(program, plan, "free-early");
  analysis::for_each_body(program, [&](ir::Body& body, const analysis::Path& path) { free_in_body(l, body, path); });
}

}  // namespace sial::plan
