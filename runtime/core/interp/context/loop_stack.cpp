#include "runtime/core/interp/context/loop_stack.h"

#include <algorithm>

#include "runtime/core/checkpoint/pack.h"
#include "runtime/core/interp/context/registers.h"

namespace sial {
namespace {

/// The loops around an instruction of a verified module, outermost first.
std::vector<std::int32_t> loops_around(const Module& m, std::int32_t pc) {
  std::vector<std::int32_t> around;
  for (std::size_t l = 0; l < m.loops.size(); ++l)
    if (m.loops[l].begin < pc && pc <= m.loops[l].next) around.push_back(static_cast<std::int32_t>(l));
  std::sort(around.begin(), around.end(),
            [&](std::int32_t a, std::int32_t b) { return m.loops[a].begin < m.loops[b].begin; });
  return around;
}

/// -1: the main body.
std::int32_t procedure_of(const Module& m, std::int32_t pc) {
  for (std::size_t p = 0; p < m.procs.size(); ++p)
    if (m.procs[p].entry <= pc && pc < m.procs[p].end) return static_cast<std::int32_t>(p);
  return -1;
}

/// A frame as checkpoints have it.
struct SavedFrame {
  LoopFrame loop;
  TempLifetimes::Marks temps;
};

}  // namespace

std::vector<std::int32_t> LoopStack::call_places() const {
  std::vector<std::int32_t> places;
  for (const CallFrame& call : calls_) places.push_back(call.return_pc - 1);
  return places;
}

void LoopStack::write(Packer& packer, const std::vector<TempLifetimes::Marks>& marks) const {
  std::vector<SavedFrame> frames;
  for (std::size_t i = 0; i < loops_.size(); ++i) frames.push_back({loops_[i], marks[i]});
  packer.values(frames);
  packer.values(calls_);
}

std::vector<TempLifetimes::Marks> LoopStack::read(Unpacker& unpacker) {
  std::vector<TempLifetimes::Marks> marks;
  loops_.clear();
  for (const SavedFrame& frame : unpacker.values<SavedFrame>()) {
    loops_.push_back(frame.loop);
    marks.push_back(frame.temps);
  }
  calls_ = unpacker.values<CallFrame>();
  return marks;
}

bool LoopStack::fits(const RunContext& context, const Registers& registers, std::int32_t next_pc) const {
  const Module& m = context.module;
  std::vector<std::int32_t> expected;
  std::int32_t part = -1;
  for (std::size_t c = 0; c <= calls_.size(); ++c) {
    const bool last = c == calls_.size();
    const std::int64_t at = std::int64_t{last ? next_pc : calls_[c].return_pc} - 1;
    if (at < 0 || at + 1 >= std::ssize(m.code)) return false;
    const Instruction& in = m.code[static_cast<std::size_t>(at)];
    const auto pc = static_cast<std::int32_t>(at);
    if (procedure_of(m, pc) != part || !(last ? has(in.op, op::ends_phase) : in.op == Opcode::call)) return false;
    for (const std::int32_t l : loops_around(m, pc)) expected.push_back(l);
    if (last) break;
    if (calls_[c].loop_depth != expected.size() || expected.size() > registers.index_values().size()) return false;
    part = in.a;
  }
  return loops_fit(context, registers, expected);
}

bool LoopStack::loops_fit(const RunContext& context, const Registers& registers,
                          const std::vector<std::int32_t>& expected) const {
  const std::vector<std::int32_t>& values = registers.index_values();
  if (loops_.size() != expected.size()) return false;
  std::vector<char> open(values.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const LoopFrame& f = loops_[i];
    const LoopRow& row = context.module.loops[expected[i]];
    if (f.loop != expected[i] || row.kind == LoopKind::pardo || f.index != row.indices[0] || open[f.index.at()])
      return false;
    const BoundIndex& index = context.bound.indices[f.index.at()];
    if (f.hi != index.hi || f.value < index.lo || f.value > f.hi || values[f.index.at()] != f.value) return false;
    open[f.index.at()] = 1;
  }
  for (std::size_t i = 0; i < open.size(); ++i)
    if (!open[i] && values[i] != unbound_index) return false;
  return true;
}

}  // namespace sial
