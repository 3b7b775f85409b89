#include "runtime/core/interp/prefetch/loop_sequence.h"

#include <algorithm>

namespace sial {
namespace {

constexpr int max_calls = 16;  // of calls that are followed

}  // namespace

void LoopSequence::begin(std::int32_t loop) {
  if (last_ != none) {
    seen_[{before_last_, last_}] = loop;
    seen_after_[last_] = loop;
  }
  before_last_ = last_;
  last_ = loop;
}

std::int32_t LoopSequence::after(std::int32_t before, std::int32_t loop) {
  if (const auto found = seen_.find({before, loop}); found != seen_.end()) return found->second;
  if (const auto found = seen_after_.find(loop); found != seen_after_.end()) return found->second;
  return as_written(loop);
}

std::int32_t LoopSequence::as_written(std::int32_t loop) {
  const auto found = written_.find(loop);
  if (found != written_.end()) return found->second;
  return written_[loop] = first_after(module_->loops[static_cast<std::size_t>(loop)].end);
}

/// The first one in the code [from, end), and in what it calls.
std::int32_t LoopSequence::first_in(std::int32_t from, std::int32_t end, int depth) const {
  for (std::int32_t pc = from; pc < end; ++pc) {
    const Instruction& in = module_->code[static_cast<std::size_t>(pc)];
    switch (in.op) {
      case Opcode::do_begin:
      case Opcode::sub_begin:
      case Opcode::pardo_begin:
        if (counts_[static_cast<std::size_t>(in.a)]) return in.a;
        break;
      case Opcode::call:
        if (depth < max_calls) {
          const ProcRow& p = module_->procs[static_cast<std::size_t>(in.a)];
          if (const std::int32_t loop = first_in(p.entry, p.end, depth + 1); loop != none) return loop;
        }
        break;
      case Opcode::jump:  // over the other branch of an `if`
        pc = std::max(pc, in.a - 1);
        break;
      default: break;
    }
  }
  return none;
}

/// The same from the middle of a procedure, or of the main body, up to its end; loops around it go round again.
std::int32_t LoopSequence::first_after(std::int32_t pc) const {
  std::int32_t end = static_cast<std::int32_t>(module_->code.size());
  for (const ProcRow& p : module_->procs) {
    if (pc >= p.entry && pc < p.end) end = p.end;
    else if (p.entry > pc && module_->main_entry <= pc) end = std::min(end, p.entry);
  }
  std::vector<const LoopRow*> around;
  for (const LoopRow& l : module_->loops)
    if (l.begin < pc && pc <= l.next) around.push_back(&l);
  std::sort(around.begin(), around.end(), [](const LoopRow* a, const LoopRow* b) { return a->begin > b->begin; });
  for (const LoopRow* l : around) {
    if (const std::int32_t loop = first_in(pc, l->next, 0); loop != none) return loop;
    if (const std::int32_t loop = first_in(l->begin + 1, l->next, 0); loop != none) return loop;
    pc = l->end;
  }
  return first_in(pc, end, 0);
}

}  // namespace sial
