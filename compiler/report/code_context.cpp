#include "compiler/report/code_context.h"

#include <algorithm>
#include <map>

#include "compiler/report/lines.h"
#include "runtime/core/bytecode/calls.h"
#include "runtime/core/bytecode/layout.h"

namespace sial::report {
namespace {

/// Pairs of indices that the comparison behind a condition orders, looking back from it through straight code.
void add_relation(const Module& m, std::int32_t pc, Context& context) {
  const std::int32_t condition = m.code[static_cast<std::size_t>(pc)].a;
  std::map<std::int32_t, IndexId> index_in;  // by int register
  std::int32_t left = -1, right = -1;
  for (std::int32_t at = pc - 1; at >= 0 && pc - at < 8; --at) {
    const Instruction& in = m.code[static_cast<std::size_t>(at)];
    if (in.op == Opcode::int_compare && in.a == condition && left < 0) {
      if (static_cast<Relop>(in.d) == Relop::ne) return;
      left = in.b, right = in.c;
    }
    if (in.op == Opcode::int_index) index_in.emplace(in.a, IndexId(in.b));
  }
  const auto a = index_in.find(left), b = index_in.find(right);
  if (a != index_in.end() && b != index_in.end()) context.relations.insert(std::minmax(a->second, b->second));
}

}  // namespace

std::int32_t Context::loop_of(IndexId index) const {
  for (std::size_t l = loops.size(); l-- > 0;) {
    const std::vector<IndexId>& indices = module->loops[static_cast<std::size_t>(loops[l])].indices;
    if (std::find(indices.begin(), indices.end(), index) != indices.end()) return loops[l];
  }
  return -1;
}

double Context::part_visited(std::span<const IndexSize> sizes) const {
  double part = 1;
  for (const auto& [a, b] : relations) {
    if (loop_of(a) < 0 || loop_of(b) < 0) continue;
    const double n = std::max(1.0, sizes[a.at()].count);
    part *= (n + 1) / (2 * n);
  }
  return part;
}

CodeContext::CodeContext(const Module& module) : m_(module) {}

Context CodeContext::of(std::int32_t pc) const {
  Context context;
  context.module = &m_;
  std::set<std::int32_t> procs;
  around(pc, context, procs);
  return context;
}

void CodeContext::around(std::int32_t pc, Context& context, std::set<std::int32_t>& procs) const {
  std::int32_t begin = m_.main_entry, end = static_cast<std::int32_t>(m_.code.size());
  for (std::size_t p = 0; p < m_.procs.size(); ++p) {
    const ProcRow& proc = m_.procs[p];
    if (pc < proc.entry || pc >= proc.end || !procs.insert(static_cast<std::int32_t>(p)).second) continue;
    begin = proc.entry, end = proc.end;
    for (std::size_t at = 0; at < m_.code.size(); ++at)
      if (m_.code[at].op == Opcode::call && m_.code[at].a == static_cast<std::int32_t>(p))
        around(static_cast<std::int32_t>(at), context, procs);
  }
  std::vector<std::int32_t> loops;
  for (std::size_t l = 0; l < m_.loops.size(); ++l)
    if (m_.loops[l].begin < pc && pc < m_.loops[l].end) loops.push_back(static_cast<std::int32_t>(l));
  std::sort(loops.begin(), loops.end(), [&](std::int32_t a, std::int32_t b) {
    return m_.loops[static_cast<std::size_t>(a)].begin < m_.loops[static_cast<std::size_t>(b)].begin;
  });
  for (const std::int32_t l : loops) {
    if (std::find(context.loops.begin(), context.loops.end(), l) == context.loops.end()) context.loops.push_back(l);
    const LoopRow& row = m_.loops[static_cast<std::size_t>(l)];
    for (std::int32_t at = row.begin; at < row.body; ++at)
      if (m_.code[static_cast<std::size_t>(at)].op == Opcode::where) add_relation(m_, at, context);
  }
  for (std::int32_t at = begin; at < pc; ++at) {
    const Instruction& in = m_.code[static_cast<std::size_t>(at)];
    if (in.op == Opcode::jump_unless && in.b > pc && in.b <= end) add_relation(m_, at, context);
  }
}

template <class Test>
bool CodeContext::any_instruction(std::int32_t loop, Test test) const {
  const LoopRow& row = m_.loops[static_cast<std::size_t>(loop)];
  return any_with_calls(m_, row.begin, row.end, [&](std::int32_t, const Instruction& in, bool) { return test(in); });
}

bool CodeContext::writes_array(std::int32_t loop, ArrayId array) const {
  return any_instruction(loop, [&](const Instruction& in) {
    bool writes = opcode_info(in.op)->operands[0] == OperandKind::array && operand_intent(in, 0) == Intent::write &&
                  ArrayId(in.a) == array;
    for_each_use(m_, in,
                 [&](ArrayId used, Deed deed) { writes |= used == array && deed != Deed::read && deed != Deed::get; });
    return writes;
  });
}

bool CodeContext::writes_scalar(std::int32_t loop, std::int32_t scalar) const {
  return any_instruction(loop, [&](const Instruction& in) {
    if (in.op == Opcode::execute) {
      for (std::int32_t k = in.b; k < in.b + in.c; ++k) {
        const ArgRow& arg = m_.args[static_cast<std::size_t>(k)];
        if (arg.kind == ArgKind::scalar && arg.id == scalar && arg.intent != Intent::read) return true;
      }
      return false;
    }
    const OpcodeInfo& info = *opcode_info(in.op);
    const auto values = operands_of(in);
    for (std::size_t p = 0; p < 4; ++p)
      if ((info.operands[p] == OperandKind::sout || info.operands[p] == OperandKind::svar ||
           (info.operands[p] == OperandKind::item && info.access[p] == OperandAccess::out && in.a == 0)) &&
          values[p] == scalar)
        return true;
    return false;
  });
}

}  // namespace sial::report
