// Binding a slice: its steps in a row, with registers, indices and loops numbered anew, so that a cursor's state is
// small.
#include <algorithm>
#include <map>

#include "runtime/core/base/check.h"
#include "runtime/core/bytecode/evaluate/slice.h"
#include "runtime/core/bytecode/layout.h"

namespace sial {
namespace {

ForeseenUse use_of(const Instruction& i) {
  if (op_class(i.op) != OpClass::put) return ForeseenUse::get;
  return assignment_of(i) == SetOp::assign ? ForeseenUse::replace : ForeseenUse::accumulate;
}

std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t r = 0;
  return __builtin_mul_overflow(a, b, &r) ? INT64_MAX : r;
}

}  // namespace

class SliceBinder {
 public:
  SliceBinder(BoundSlice& out, const Module& m, const SliceRow& row, std::span<const IndexRange> ranges,
              const StaticElements& statics, SliceUses uses)
      : out_(out),
        m_(m),
        uses_(uses),
        ranges_(ranges),
        statics_(statics),
        root_(m.loops[static_cast<std::size_t>(row.loop)]),
        ints_(out.ints_),
        scalars_(out.scalars_),
        indices_(out.indices_),
        called_(m.procs.size()),
        proc_range_(m.procs.size(), -1) {
    out_.loop_ = row.loop;
    out_.parallel_ = root_.kind == LoopKind::pardo;
    collect(row);
    loop(row.loop);
    for (const BoundSlice::Step& s : out_.steps_)
      if (begins_loop(s.op) && s.op != Opcode::pardo_begin) loop(s.a);
    for (BoundSlice::Step& s : out_.steps_) translate(s);
    find_carried();
  }

 private:
  /// New numbers in order of first use.
  class Slots {
   public:
    explicit Slots(std::vector<std::int32_t>& rows) : rows_(rows) {}
    std::int32_t of(std::int32_t row) {
      const auto [it, inserted] = slots_.try_emplace(row, static_cast<std::int32_t>(rows_.size()));
      if (inserted) rows_.push_back(row);
      return it->second;
    }

   private:
    std::vector<std::int32_t>& rows_;
    std::map<std::int32_t, std::int32_t> slots_;
  };

  /// Steps in the order of the code, with the last instruction of every called procedure.
  void collect(const SliceRow& row) {
    for (const SliceStep& s : row.steps) {
      const Instruction& i = code(s.pc);
      if (i.op != Opcode::call || s.action != SliceAction::run || called_[static_cast<std::size_t>(i.a)]) continue;
      called_[static_cast<std::size_t>(i.a)] = true;
      ++out_.n_procs_;
    }
    row_ = &row;
    for (const SliceStep& s : row.steps) {
      if (s.pc == root_.begin) continue;
      const Instruction& i = code(s.pc);
      if (s.action == SliceAction::put && uses_ == SliceUses::gets) continue;
      if (s.action == SliceAction::fetch || s.action == SliceAction::put) {
        const std::int64_t range = range_at(s.pc);
        out_.fetches_.push_back({s.pc, m_.refs[static_cast<std::size_t>(i.a)].array, range, use_of(i)});
        if (range <= 1) continue;
        out_.empty_ = false;
        out_.steps_.push_back({i.op, s.action, use_of(i), i.a, 0, 0, 0, s.pc});
        continue;
      }
      out_.steps_.push_back({i.op, s.action, ForeseenUse::get, i.a, i.b, i.c, i.d, s.pc});
    }
    for (std::size_t p = 0; p < called_.size(); ++p)
      if (const std::int32_t last = m_.procs[p].end - 1; called_[p])
        out_.steps_.push_back({Opcode::ret, SliceAction::run, ForeseenUse::get, 0, 0, 0, 0, last});
    std::sort(out_.steps_.begin(), out_.steps_.end(), [](const auto& a, const auto& b) { return a.pc < b.pc; });
  }

  const Instruction& code(std::int32_t pc) const { return m_.code[static_cast<std::size_t>(pc)]; }

  std::int64_t count(std::int32_t loop) const {
    std::int64_t n = 1;
    for (const IndexId i : m_.loops[static_cast<std::size_t>(loop)].indices) {
      const IndexRange& r = ranges_[i.at()];
      n = times(n, r.hi < r.lo ? 0 : std::int64_t{r.hi} - r.lo + 1);
    }
    return n;
  }

  std::int32_t procedure_of(std::int32_t pc) const {
    if (pc >= root_.begin && pc <= root_.next) return -1;
    for (std::size_t p = 0; p < m_.procs.size(); ++p)
      if (pc >= m_.procs[p].entry && pc < m_.procs[p].end) return static_cast<std::int32_t>(p);
    SIAL_CHECK(false, "instruction {} belongs to no procedure of the slice", pc);
  }

  /// Iterations of the loops around an instruction, and around the calls that lead to it: the largest number there can
  /// be.
  std::int64_t range_at(std::int32_t pc) {
    const std::int32_t proc = procedure_of(pc);
    const std::int32_t first = proc < 0 ? root_.begin : m_.procs[static_cast<std::size_t>(proc)].entry;
    std::int64_t n = proc < 0 ? 1 : range_of(static_cast<std::size_t>(proc));
    for (std::size_t l = 0; l < m_.loops.size(); ++l)
      if (m_.loops[l].begin >= first && m_.loops[l].begin < pc && pc <= m_.loops[l].next)
        n = times(n, count(static_cast<std::int32_t>(l)));
    return n;
  }

  std::int64_t range_of(std::size_t proc) {
    if (proc_range_[proc] >= 0) return proc_range_[proc];
    std::int64_t most = 0;
    for (const SliceStep& s : row_->steps) {
      const Instruction& i = code(s.pc);
      if (i.op == Opcode::call && s.action == SliceAction::run && static_cast<std::size_t>(i.a) == proc)
        most = std::max(most, range_at(s.pc));
    }
    return proc_range_[proc] = most;
  }

  /// The first step at or after an instruction: what lies between is passed over.
  std::int32_t position(std::int32_t pc) const {
    const auto it = std::lower_bound(out_.steps_.begin(), out_.steps_.end(), pc,
                                     [](const auto& s, std::int32_t p) { return s.pc < p; });
    return static_cast<std::int32_t>(it - out_.steps_.begin());
  }

  void loop(std::int32_t id) {
    const LoopRow& row = m_.loops[static_cast<std::size_t>(id)];
    BoundSlice::Range r;
    for (const IndexId i : row.indices) {
      const IndexRange& range = ranges_[i.at()];
      r.slots[r.n] = indices_.of(i.number());
      r.lo[r.n] = range.lo;
      r.hi[r.n++] = range.hi;
      r.usable = r.usable && (range.usable || row.kind == LoopKind::sub);
    }
    r.positions.first = position(row.begin + 1);
    r.positions.next = position(row.next);
    r.positions.after = position(row.end);
    loop_number_[id] = static_cast<std::int32_t>(out_.loops_.size());
    out_.loops_.push_back(r);
  }

  std::int32_t number_of(std::int32_t loop) const {
    const auto found = loop_number_.find(loop);
    SIAL_CHECK(found != loop_number_.end(), "loop {} is in a slice without its beginning", loop);
    return found->second;
  }

  std::int32_t reference(std::int32_t ref) {
    const RefRow& row = m_.refs[static_cast<std::size_t>(ref)];
    const ArrayRow& array = m_.arrays[row.array.at()];
    BoundSlice::Reference r;
    r.array = row.array;
    r.rank = static_cast<std::int32_t>(row.entries.size());
    std::int64_t stride = 1;
    for (std::size_t d = 0; d < row.entries.size(); ++d) {
      BoundSlice::Entry& e = r.entry[d];
      const IndexRow& declared = m_.indices[array.dims[d].at()];
      const bool sub_dimension = declared.kind == IndexKind::sub;
      const IndexRange& range = ranges_[(sub_dimension ? declared.parent : array.dims[d]).at()];
      r.usable = r.usable && (range.usable || range.hi < range.lo);
      e.lo = sub_dimension ? range.lo * subsegments_per_segment : range.lo;
      e.hi = sub_dimension ? range.hi * subsegments_per_segment + subsegments_per_segment - 1 : range.hi;
      const IndexRow& used = m_.indices[row.entries[d].index.at()];
      const bool sub = used.kind == IndexKind::sub && !row.entries[d].as_simple;
      e.combined = sub && sub_dimension;
      e.slot = indices_.of(
          (sub && !sub_dimension ? used.parent : row.entries[d].index).number());  // a part: the whole block is fetched
      if (e.combined) e.parent = indices_.of(used.parent.number());
      e.stride = stride;
      stride = times(stride, e.hi < e.lo ? 0 : std::int64_t{e.hi} - e.lo + 1);
    }
    if (array.kind == ArrayKind::static_ && r.usable && statics_) r.data = statics_(row.array);
    out_.references_.push_back(r);
    return static_cast<std::int32_t>(out_.references_.size()) - 1;
  }

  void translate(BoundSlice::Step& s) {
    if (s.action == SliceAction::stop || s.action == SliceAction::abandon) return;
    if (s.action == SliceAction::fetch || s.action == SliceAction::put) {
      s.a = reference(s.a);
      return;
    }
    const Instruction i = code(s.pc);
    if (ends_loop(s.op)) {
      s.a = number_of(i.a);
      return;
    }
    const OpcodeInfo& info = *opcode_info(s.op);
    std::int32_t* const operands[] = {&s.a, &s.b, &s.c, &s.d};
    for (std::size_t k = 0; k < 4; ++k) {
      std::int32_t& v = *operands[k];
      switch (info.operands[k]) {
        case OperandKind::iin:
        case OperandKind::iout: v = ints_.of(v); break;
        case OperandKind::sin:
        case OperandKind::sout: v = scalars_.of(v); break;
        case OperandKind::index: v = indices_.of(v); break;
        case OperandKind::ref: v = reference(v); break;
        case OperandKind::loop: v = number_of(v); break;
        case OperandKind::label: v = position(v); break;
        case OperandKind::proc: v = position(m_.procs[static_cast<std::size_t>(v)].entry); break;
        default: break;
      }
    }
  }

  // --- values that iterations hand on: shadow registers that a step writes and that are read, in some later iteration,
  // before anything writes them there. Liveness, backwards over the steps until nothing changes.
  using Set = std::vector<char>;

  void successors(std::size_t at, std::vector<std::int32_t>& next) const {
    const BoundSlice::Step& s = out_.steps_[at];
    const BoundSlice::Range& root = out_.loops_.front();
    const auto after = static_cast<std::int32_t>(at) + 1;
    next.clear();
    if (s.action == SliceAction::stop) return;
    if (s.action == SliceAction::abandon) return next.push_back(root.positions.first);
    const auto own = [&](std::int32_t loop) -> const BoundSlice::Range& {
      return out_.loops_[static_cast<std::size_t>(loop)];
    };
    switch (s.op) {
      case Opcode::jump: return next.push_back(s.a);
      case Opcode::jump_unless: next.push_back(s.b); break;
      case Opcode::do_begin:
      case Opcode::sub_begin: next.push_back(own(s.a).positions.after); break;
      case Opcode::do_next:
      case Opcode::sub_next:
      case Opcode::pardo_next:
        next.push_back(own(s.a).positions.first);
        if (s.a == 0) return;
        break;
      case Opcode::where: next.push_back(own(s.b).positions.next); break;
      case Opcode::exit_loop:
        if (s.a != 0) next.push_back(own(s.a).positions.after);
        return;
      case Opcode::call: return next.push_back(s.a);
      case Opcode::ret:
        if (const std::int32_t proc = procedure_of(s.pc); proc >= 0)
          for (std::size_t c = 0; c < out_.steps_.size(); ++c)
            if (out_.steps_[c].op == Opcode::call && out_.steps_[c].action == SliceAction::run &&
                code(out_.steps_[c].pc).a == proc)
              next.push_back(static_cast<std::int32_t>(c) + 1);
        return;
      default: break;
    }
    next.push_back(after);
  }

  void find_carried() {
    const std::size_t n_ints = out_.ints_.size(), n = n_ints + out_.scalars_.size();
    std::vector<Set> live(out_.steps_.size(), Set(n, 0));
    Set written(n, 0), now;
    std::vector<std::int32_t> next;
    const auto each = [&](const BoundSlice::Step& s, bool writes, auto f) {
      if (s.action != SliceAction::run) return;
      const OpcodeInfo& info = *opcode_info(s.op);
      const std::int32_t values[] = {s.a, s.b, s.c, s.d};
      for (std::size_t k = 0; k < 4; ++k) {
        if (info.operands[k] == (writes ? OperandKind::iout : OperandKind::iin)) f(static_cast<std::size_t>(values[k]));
        if (info.operands[k] == (writes ? OperandKind::sout : OperandKind::sin))
          f(n_ints + static_cast<std::size_t>(values[k]));
      }
    };
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t at = out_.steps_.size(); at-- > 0;) {
        successors(at, next);
        now.assign(n, 0);
        for (const std::int32_t s : next)
          for (std::size_t r = 0; r < n; ++r) now[r] |= live[static_cast<std::size_t>(s)][r];
        each(out_.steps_[at], true, [&](std::size_t r) { now[r] = 0, written[r] = 1; });
        each(out_.steps_[at], false, [&](std::size_t r) { now[r] = 1; });
        if (now != live[at]) live[at] = now, changed = true;
      }
    }
    const Set& entry = live[static_cast<std::size_t>(out_.loops_.front().positions.first)];
    for (std::size_t r = 0; r < n; ++r) out_.carries_ = out_.carries_ || (entry[r] && written[r]);
  }

  BoundSlice& out_;
  const Module& m_;
  const SliceUses uses_;
  std::span<const IndexRange> ranges_;
  const StaticElements& statics_;
  const LoopRow& root_;
  const SliceRow* row_ = nullptr;
  Slots ints_, scalars_, indices_;
  std::vector<char> called_;
  std::vector<std::int64_t> proc_range_;
  std::map<std::int32_t, std::int32_t> loop_number_;
};

BoundSlice::BoundSlice(const Module& module, std::int32_t slice, std::span<const IndexRange> ranges,
                       const StaticElements& statics, SliceUses uses)
    : module_(&module) {
  SliceBinder(*this, module, module.slices[static_cast<std::size_t>(slice)], ranges, statics, uses);
}

}  // namespace sial
