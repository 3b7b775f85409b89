// The verifier's part on access slices: a slice that passes, carried out by a SliceCursor, never leaves its code,
// always comes to an end of each iteration, and asks for exactly what the program will get, and foresees what it will
// put, up to where it gives up. To that end
//   - only arithmetic, control, gets and puts are carried out, of statics only elements that the loop does not write;
//   - what decides the way through the code is either carried out, or gives up, or all of the code that hangs on it is
//     passed over;
//   - every register that is read holds what it holds in the program at that point: a data-flow over the loop and the
//     procedures it calls finds registers that were written where the slice passes over.
#include <algorithm>
#include <deque>
#include <optional>

#include "runtime/core/bytecode/read.h"
#include "runtime/core/bytecode/verify_detail.h"

namespace sial::detail {
namespace {

constexpr std::string_view known_specials[] = {
#define SUPER(id, name, signatures, meaning) #name,
#include "tables/super_instructions.def"
#undef SUPER
};

bool known_special(const std::string& name) {
  return std::find(std::begin(known_specials), std::end(known_specials), name) != std::end(known_specials);
}

/// Limits of the cost to check all slices of a module, in words of register sets, and of their number at a time.
/// Far above any program's.
constexpr std::int64_t max_work = std::int64_t{1} << 27, max_words = std::int64_t{1} << 22;

bool meets(const Module& m, const Instruction& i) {
  if (i.op == Opcode::restore_persistent) return i.a == 1 && m.arrays[i.b].kind != ArrayKind::static_;
  return has(i.op, op::collective) || i.op == Opcode::section_begin || i.op == Opcode::halt;
}

struct TooLarge {};

class SliceChecker {
 public:
  /// `work`: of the slices before, and what is done is added.
  SliceChecker(VerifyContext& c, const CodeShape& shape, std::int64_t& work)
      : c_(c), m_(c.m), shape_(shape), action_(m_.code.size(), 0), slot_(m_.code.size(), -1), work_(work) {}

  /// Throws TooLarge, and is of no use then, when there is more to do than there may be.

  void check(const SliceRow& row) {
    row_ = &row;
    root_ = &m_.loops[row.loop];
    calls();
    for (const SliceStep& s : row.steps) action_[s.pc] = static_cast<std::uint8_t>(s.action);
    cover();
    for (const SliceStep& s : row.steps) step(s);
    structure();
    flow();
    for (const SliceStep& s : row.steps) action_[s.pc] = 0;
    for (const auto& [first, end] : covered_) std::fill(slot_.begin() + first, slot_.begin() + end, -1);
  }

 private:
  SliceAction action(std::int32_t pc) const { return static_cast<SliceAction>(action_[pc]); }
  bool skipped(std::int32_t pc) const { return action_[pc] == 0; }
  bool runs(std::int32_t pc) const { return action_[pc] == static_cast<std::uint8_t>(SliceAction::run); }

  template <class F>
  void each_call(std::int32_t first, std::int32_t end, F f) const {
    for (std::int32_t pc = first; pc < end; ++pc)
      if (m_.code[pc].op == Opcode::call) f(pc, m_.code[pc].a);
  }

  /// All procedures that the loop may call, callees first; refuses recursion, which has no bound.
  void calls() {
    order_.clear();
    std::vector<char> state(m_.procs.size(), 0);  // 1: open, 2: done
    struct Open {
      std::int32_t proc, pc;
    };
    std::vector<Open> stack{{-1, root_->begin}};
    while (!stack.empty()) {
      Open& top = stack.back();
      const std::int32_t end = top.proc < 0 ? root_->end : m_.procs[top.proc].end;
      while (top.pc < end && m_.code[top.pc].op != Opcode::call) ++top.pc;
      if (top.pc == end) {
        if (top.proc >= 0) state[top.proc] = 2, order_.push_back(top.proc);
        stack.pop_back();
        continue;
      }
      const std::int32_t proc = m_.code[top.pc++].a;
      c_.require(state[proc] != 1 && proc != shape_.part[root_->begin],
                 "procedure `{}` calls itself within the slice's loop", m_.procs[proc].name);
      if (state[proc] == 0) {
        state[proc] = 1;
        stack.push_back({proc, m_.procs[proc].entry});
      }
    }
  }

  /// The code that the slice may carry out: the loop, and procedures whose calls are run.
  void cover() {
    covered_ = {{root_->begin, root_->end}};
    called_.assign(m_.procs.size(), 0);
    callers_.assign(m_.procs.size(), {});
    for (std::size_t k = 0; k < covered_.size(); ++k)
      each_call(covered_[k].first, covered_[k].second, [&](std::int32_t pc, std::int32_t proc) {
        if (!runs(pc)) return;
        callers_[proc].push_back(pc);
        if (called_[proc]) return;
        called_[proc] = 1;
        covered_.push_back({m_.procs[proc].entry, m_.procs[proc].end});
      });
    std::int32_t n = 0;
    for (const auto& [first, end] : covered_)
      for (std::int32_t pc = first; pc < end; ++pc) slot_[pc] = n++;
    n_covered_ = n;
    all_ = {{root_->begin, root_->end}};
    for (const std::int32_t proc : order_) all_.push_back({m_.procs[proc].entry, m_.procs[proc].end});

    statics_written_.assign(m_.arrays.size(), 0);
    for (const auto& [first, end] : all_)
      for (std::int32_t pc = first; pc < end; ++pc) {
        const Instruction& i = m_.code[pc];
        c_.require(!meets(m_, i) || action(pc) == SliceAction::stop,
                   "instruction {}, at which ranks meet, is in its loop", pc);
        c_.require(i.op != Opcode::pardo_begin || pc == root_->begin, "the pardo at instruction {} is in its loop", pc);
        written_arrays(i);
      }
  }

  void written_arrays(const Instruction& i) {
    const auto values = operands_of(i);
    for (int k = 0; k < 4; ++k) {
      const OperandKind kind = opcode_info(i.op)->operands[k];
      if (kind == OperandKind::ref && operand_intent(i, k) != Intent::read)
        statics_written_[m_.refs[values[k]].array.at()] = 1;
      if ((kind == OperandKind::array || (kind == OperandKind::item && i.a == 1)) &&
          operand_intent(i, k) != Intent::read)
        statics_written_[values[k]] = 1;
    }
    if (i.op == Opcode::execute && !known_special(m_.specials[i.a].name))  // it may find arrays by name
      std::fill(statics_written_.begin(), statics_written_.end(), 1);
    for_each_argument(m_, i, [&](const ArgRow& arg) {
      if (arg.intent == Intent::read) return;
      if (arg.kind == ArgKind::block) statics_written_[m_.refs[arg.id].array.at()] = 1;
      if (arg.kind == ArgKind::array) statics_written_[arg.id] = 1;
    });
  }

  void step(const SliceStep& s) {
    const Instruction& i = m_.code[s.pc];
    c_.require(slot_[s.pc] >= 0, "instruction {} is neither in its loop nor in a procedure that the slice calls", s.pc);
    const std::string_view name = opcode_info(i.op)->name;
    switch (s.action) {
      case SliceAction::run:
        // A pardo is the slice's own loop: cover() has refused others.
        c_.require(opcode_info(i.op)->has(op::look_ahead), "instruction {} ({}) cannot be run ahead of the program",
                   s.pc, name);
        if (i.op == Opcode::real_element) {
          const ArrayId array = m_.refs[i.b].array;
          c_.require(m_.arrays[array.at()].kind == ArrayKind::static_ && !statics_written_[array.at()],
                     "instruction {} reads an element of `{}`, which may change before the program reads it", s.pc,
                     m_.arrays[array.at()].name);
        }
        return;
      case SliceAction::fetch: c_.require(i.op == Opcode::get, "instruction {} ({}) is no get", s.pc, name); return;
      case SliceAction::put:
        c_.require(op_class(i.op) == OpClass::put, "instruction {} ({}) is no put", s.pc, name);
        return;
      case SliceAction::stop:
      case SliceAction::abandon: return;
    }
  }

  bool any_step(std::int32_t first, std::int32_t end) const {
    const auto it = std::lower_bound(row_->steps.begin(), row_->steps.end(), first,
                                     [](const SliceStep& s, std::int32_t pc) { return s.pc < pc; });
    return it != row_->steps.end() && it->pc < end;
  }

  void structure() {
    c_.require(runs(root_->begin) && runs(root_->body) && runs(root_->next),
               "beginning and end of its loop are not run");
    for (const auto& [first, end] : covered_)
      for (std::int32_t pc = first; pc < end; ++pc) {
        const Instruction& i = m_.code[pc];
        if (begins_loop(i.op)) {
          const LoopRow& row = m_.loops[i.a];
          if (runs(pc))
            c_.require(runs(row.body) && runs(row.next), "the loop at instruction {} is begun but not carried on", pc);
          else if (skipped(pc))
            c_.require(!any_step(row.begin, row.end),
                       "parts of the loop at instruction {} are run without its beginning", pc);
        }
        if ((i.op == Opcode::jump || i.op == Opcode::jump_unless) && skipped(pc))
          c_.require(!any_step(pc + 1, i.op == Opcode::jump ? i.a : i.b),
                     "instruction {} decides about code of the slice but is not run", pc);
        if (i.op == Opcode::where && runs(m_.loops[i.b].begin))
          c_.require(!skipped(pc), "the where clause at instruction {} is not run", pc);
      }
  }

  // --- data-flow: registers that do not hold what they hold in the program. Only those that the slice reads matter;
  // they are numbered anew, scalars after ints.
  template <class F>
  void reads(const Instruction& i, F f) const {
    const auto values = operands_of(i);
    const OpcodeInfo& info = *opcode_info(i.op);
    for (int k = 0; k < 4; ++k) {
      if (info.operands[k] == OperandKind::iin) f(values[k]);
      if (info.operands[k] == OperandKind::sin) f(m_.n_int_registers + values[k]);
    }
  }

  template <class F>
  void writes(const Instruction& i, F f) const {
    const auto values = operands_of(i);
    const OpcodeInfo& info = *opcode_info(i.op);
    for (int k = 0; k < 4; ++k) {
      if (info.operands[k] == OperandKind::iout || info.operands[k] == OperandKind::ivar) f(values[k]);
      if (info.operands[k] == OperandKind::sout || info.operands[k] == OperandKind::svar)
        f(m_.n_int_registers + values[k]);
    }
    if (i.op == Opcode::restore_persistent && i.a == 0) f(m_.n_int_registers + i.b);
    for_each_argument(m_, i, [&](const ArgRow& arg) {
      if (arg.kind == ArgKind::scalar && arg.intent != Intent::read) f(m_.n_int_registers + arg.id);
    });
  }

  using Words = std::uint64_t*;
  void set(Words w, std::int32_t r) const { w[r / 64] |= std::uint64_t{1} << (r % 64); }
  void clear(Words w, std::int32_t r) const { w[r / 64] &= ~(std::uint64_t{1} << (r % 64)); }
  bool has(const std::uint64_t* w, std::int32_t r) const { return ((w[r / 64] >> (r % 64)) & 1) != 0; }

  void number_registers() {
    std::vector<std::int32_t> read;
    for (const SliceStep& s : row_->steps)
      if (s.action == SliceAction::run) reads(m_.code[s.pc], [&](std::int32_t r) { read.push_back(r); });
    std::sort(read.begin(), read.end());
    read.erase(std::unique(read.begin(), read.end()), read.end());
    registers_ = std::move(read);
    words_ = registers_.size() / 64 + 1;
  }

  /// -1: no instruction of the slice reads it.
  std::int32_t number(std::int32_t r) const {
    const auto it = std::lower_bound(registers_.begin(), registers_.end(), r);
    return it != registers_.end() && *it == r ? static_cast<std::int32_t>(it - registers_.begin()) : -1;
  }

  void add_written(std::int32_t first, std::int32_t end, Words to) const {
    for (std::int32_t pc = first; pc < end; ++pc) {
      writes(m_.code[pc], [&](std::int32_t r) {
        if (const std::int32_t n = number(r); n >= 0) set(to, n);
      });
      if (m_.code[pc].op == Opcode::call) {
        const std::vector<std::uint64_t>& callee = written_[m_.code[pc].a];
        for (std::size_t w = 0; w < words_; ++w) to[w] |= callee[w];
      }
    }
  }

  void spend(std::int64_t work) {
    work_ += work;
    if (work_ > max_work) throw TooLarge{};
  }

  void flow() {
    number_registers();
    std::int64_t instructions = 0;
    for (const auto& [first, end] : all_) instructions += end - first;
    spend(static_cast<std::int64_t>(words_) * instructions);
    if (static_cast<std::int64_t>(words_) * n_covered_ > max_words) throw TooLarge{};
    written_.assign(m_.procs.size(), {});
    for (const std::int32_t proc : order_) {
      written_[proc].assign(words_, 0);
      add_written(m_.procs[proc].entry, m_.procs[proc].end, written_[proc].data());
    }
    std::vector<std::uint64_t> by_loop(words_, 0);
    add_written(root_->begin, root_->end, by_loop.data());

    state_.assign(static_cast<std::size_t>(n_covered_) * words_, 0);
    reached_.assign(static_cast<std::size_t>(n_covered_), 0);
    waiting_.assign(static_cast<std::size_t>(n_covered_), 0);
    work_list_.clear();
    std::vector<std::uint64_t> now(words_, 0);
    come(root_->begin + 1, now.data());
    while (!work_list_.empty()) {
      const std::int32_t pc = work_list_.front();
      work_list_.pop_front();
      waiting_[slot_[pc]] = 0;
      spend(static_cast<std::int64_t>(words_));
      std::copy_n(state_.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(slot_[pc]) * words_), words_,
                  now.begin());
      pass(pc, now.data(), by_loop);
    }
  }

  void come(std::int32_t pc, const std::uint64_t* with) {
    c_.require(slot_[pc] >= 0, "it leaves its code at instruction {}", pc);
    const auto at = static_cast<std::size_t>(slot_[pc]);
    bool changed = !reached_[at];
    reached_[at] = 1;
    for (std::size_t w = 0; w < words_; ++w) {
      std::uint64_t& to = state_[at * words_ + w];
      changed = changed || (with[w] & ~to) != 0;
      to |= with[w];
    }
    if (!changed || waiting_[at]) return;
    waiting_[at] = 1;
    work_list_.push_back(pc);
  }

  void pass(std::int32_t pc, Words now, const std::vector<std::uint64_t>& by_loop) {
    const Instruction& i = m_.code[pc];
    switch (action(pc)) {
      case SliceAction::stop: return;
      case SliceAction::abandon:
        for (std::size_t w = 0; w < words_; ++w) now[w] |= by_loop[w];
        return come(root_->begin + 1, now);
      case SliceAction::fetch:
      case SliceAction::put: return come(pc + 1, now);
      case SliceAction::run: return run(pc, i, now);
    }
    // Passed over. A procedure's last instruction is run wherever its call is.
    if (i.op == Opcode::ret && shape_.part[pc] >= 0 && pc == m_.procs[shape_.part[pc]].end - 1 &&
        called_[shape_.part[pc]])
      return leave(pc, now);
    c_.require(i.op != Opcode::ret, "the return at instruction {} is not run", pc);
    c_.require(i.op != Opcode::exit_loop || !runs(m_.loops[i.a].begin), "the exit at instruction {} is not run", pc);
    if (i.op == Opcode::call)
      for (std::size_t w = 0; w < words_; ++w) now[w] |= written_[i.a][w];
    writes(i, [&](std::int32_t r) {
      if (const std::int32_t n = number(r); n >= 0) set(now, n);
    });
    come(pc + 1, now);
  }

  void run(std::int32_t pc, const Instruction& i, Words now) {
    reads(i, [&](std::int32_t r) {
      c_.require(!has(now, number(r)), "instruction {} reads {}, which the program sets where the slice passes over",
                 pc,
                 r < m_.n_int_registers ? "int register " + int_register_text(m_, r)
                                        : "scalar register " + scalar_register_text(m_, r - m_.n_int_registers));
    });
    writes(i, [&](std::int32_t r) {
      if (const std::int32_t n = number(r); n >= 0) clear(now, n);
    });
    switch (i.op) {
      case Opcode::jump: return come(i.a, now);
      case Opcode::jump_unless: come(i.b, now); break;
      case Opcode::do_begin:
      case Opcode::sub_begin: come(m_.loops[i.a].end, now); break;
      case Opcode::do_next:
      case Opcode::sub_next:
      case Opcode::pardo_next:
        come(m_.loops[i.a].begin + 1, now);
        if (pc == root_->next) return;
        break;
      case Opcode::where: come(m_.loops[i.b].next, now); break;
      case Opcode::exit_loop:
        if (&m_.loops[i.a] != root_) come(m_.loops[i.a].end, now);
        return;
      case Opcode::call: return come(m_.procs[i.a].entry, now);
      case Opcode::ret: return leave(pc, now);
      default: break;
    }
    come(pc + 1, now);
  }

  /// Back to every call of the procedure; a return next to the loop ends the slice.
  void leave(std::int32_t pc, Words now) {
    if (pc >= root_->begin && pc < root_->end) return;
    for (const std::int32_t call : callers_[shape_.part[pc]]) come(call + 1, now);
  }

  VerifyContext& c_;
  const Module& m_;
  const CodeShape& shape_;
  const SliceRow* row_ = nullptr;
  const LoopRow* root_ = nullptr;
  std::vector<std::uint8_t> action_;  // per instruction; 0: passed over
  std::vector<std::int32_t> slot_;    // per instruction: its number among the covered ones, or -1
  std::vector<std::pair<std::int32_t, std::int32_t>> covered_, all_;
  std::vector<std::int32_t> order_;  // called procedures, callees first
  std::vector<char> called_, statics_written_;
  std::vector<std::vector<std::int32_t>> callers_;  // per procedure: calls that are run
  std::int32_t n_covered_ = 0;
  std::vector<std::int32_t> registers_;
  std::size_t words_ = 0;
  std::vector<std::vector<std::uint64_t>> written_;  // per procedure
  std::vector<std::uint64_t> state_;
  std::vector<char> reached_, waiting_;
  std::deque<std::int32_t> work_list_;
  std::int64_t& work_;
};

/// `too_large(s)` is called for slices that would take too long; they add nothing to the work of the others.
template <class F>
void check_slices(VerifyContext& c, const CodeShape& shape, F too_large) {
  std::int64_t work = 0;
  std::optional<SliceChecker> checker;
  for (std::size_t s = 0; s < c.m.slices.size(); ++s) {
    const std::int32_t loop = c.m.slices[s].loop;
    c.at("slice", s);
    for (std::int32_t l = shape.enclosing[loop]; l >= 0; l = shape.enclosing[l])
      c.require(c.m.loops[l].kind != LoopKind::pardo, "its loop is inside of a pardo");
    if (!checker) checker.emplace(c, shape, work);
    const std::int64_t before = work;
    try {
      checker->check(c.m.slices[s]);
    } catch (const TooLarge&) {
      work = before;
      checker.reset();
      too_large(s);
    }
  }
  c.at_module();
}

}  // namespace

void verify_slices(VerifyContext& c, const CodeShape& shape) {
  check_slices(c, shape, [&](std::size_t) { c.fail("it is too large to be checked"); });
}

}  // namespace sial::detail

namespace sial {

std::vector<std::size_t> slices_too_large(const Module& module) {
  if (module.slices.empty()) return {};
  const std::string name = module.program;
  detail::VerifyContext c(module, name);
  std::vector<std::size_t> found;
  detail::check_slices(c, detail::verify_structure(c), [&](std::size_t s) { found.push_back(s); });
  return found;
}

}  // namespace sial
