#include "runtime/core/interp/order/recorded_pardo.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "runtime/core/bytecode/calls.h"
#include "runtime/core/bytecode/evaluate/arithmetic.h"
#include "runtime/core/bytecode/evaluate/control_flow.h"
#include "runtime/core/bytecode/layout.h"

namespace sial {
namespace {

constexpr std::int32_t min_cells = 3;          // of an index, so that a coarse grid has inner segments
constexpr std::int64_t max_steps = 4'000'000;  // instructions followed
constexpr std::size_t deepest_call = 32;
constexpr double uncountable = 1e18;

bool is_access(const Instruction& in) { return op_class(in.op) == OpClass::fetch || op_class(in.op) == OpClass::put; }

bool has_accesses(const Module& module, const LoopRow& loop) {
  return any_with_calls(module, loop.begin + 1, loop.end,
                        [](std::int32_t, const Instruction& in, bool) { return is_access(in); });
}

std::int32_t width_of(const BoundIndex& index, std::int32_t cell) {
  const std::int64_t count = std::int64_t{index.hi} - index.lo + 1;
  if (index.is_sub || count <= min_cells) return 1;
  return static_cast<std::int32_t>(std::min<std::int64_t>(cell, (count + min_cells - 1) / min_cells));
}

double cells_of(const BoundIndex& index, std::int32_t cell) {
  return std::ceil((static_cast<double>(index.hi) - index.lo + 1) / width_of(index, cell));
}

/// Accesses of [from, to) when all that is written happens.
double count_accesses(const BoundProgram& bound, std::int32_t from, std::int32_t to, std::int32_t cell,
                      std::size_t depth = 0) {
  const Module& m = *bound.module;
  double n = 0;
  for (std::int32_t pc = from; pc < to; ++pc) {
    const Instruction& in = m.code[static_cast<std::size_t>(pc)];
    n += is_access(in) ? 1 : 0;
    if (in.op == Opcode::call && depth < deepest_call) {
      const ProcRow& proc = m.procs[static_cast<std::size_t>(in.a)];
      n += count_accesses(bound, proc.entry, proc.end, cell, depth + 1);
    }
    if (!begins_loop(in.op)) continue;
    const LoopRow& loop = m.loops[static_cast<std::size_t>(in.a)];
    const BoundIndex& index = bound.indices[loop.indices[0].at()];
    if (index.lo <= index.hi)
      n += cells_of(index, cell) * count_accesses(bound, loop.begin + 1, loop.next, cell, depth);
    pc = loop.next;
  }
  return std::min(n, uncountable);
}

/// Follows the body of one pardo.
class BodyInterpreter {
 public:
  BodyInterpreter(const BoundProgram& bound, const std::vector<std::int32_t>& ints, std::int32_t loop,
                  std::int32_t cell)
      : bound_(bound),
        m_(*bound.module),
        loop_(loop),
        cell_(cell),
        initial_(ints.begin(), ints.end()),
        cells_(m_.indices.size()),
        at_(m_.indices.size(), 0),
        open_(m_.indices.size(), 0),
        followed_(m_.loops.size(), 0),
        blocks_(m_.arrays.size()) {
    invalidate_written(0, static_cast<std::int32_t>(m_.code.size()), initial_);
    prepare_loop(loop);
    for_each_with_calls(m_, row().begin + 1, row().next, [&](std::int32_t, const Instruction& in, bool) {
      if (begins_loop(in.op)) prepare_loop(in.a);
    });
  }

  RecordedPardo record() {
    RecordedPardo recorded;
    out_ = &recorded;
    recorded.cell = cell_;
    for (std::size_t d = 0; d < row().indices.size(); ++d)
      recorded.counts[d] = static_cast<std::int32_t>(cells_[row().indices[d].at()].size());
    std::fill(at_.begin(), at_.end(), 0);
    recorded.first.push_back(0);
    do {
      follow_iteration();
      if (steps_ > max_steps)
        return {.cell = cell_, .counts = recorded.counts, .first = {0}, .accesses = {}, .bytes = {}};
      recorded.first.push_back(static_cast<std::int32_t>(recorded.accesses.size()));
    } while (next_tuple());
    return recorded;
  }

 private:
  using Ints = std::vector<std::optional<std::int32_t>>;
  struct Flow;
  struct Values;

  const LoopRow& row() const { return m_.loops[static_cast<std::size_t>(loop_)]; }
  const LoopRow& row(std::int32_t loop) const { return m_.loops[static_cast<std::size_t>(loop)]; }

  void prepare_loop(std::int32_t loop) {
    followed_[static_cast<std::size_t>(loop)] = has_accesses(m_, row(loop)) ? 1 : 0;
    if (!followed_[static_cast<std::size_t>(loop)]) return;
    for (const IndexId id : row(loop).indices) {
      const BoundIndex& index = bound_.indices[id.at()];
      std::vector<std::int32_t>& cells = cells_[id.at()];
      if (!cells.empty() || index.lo > index.hi) continue;
      const std::int64_t width = width_of(index, cell_);  // indices of one kind have their borders in common
      for (std::int64_t v = index.lo; v <= index.hi; v += width - ((v - 1) % width + width) % width)
        cells.push_back(static_cast<std::int32_t>(v));
    }
  }

  /// Ints that instructions of [from, to) write.
  void invalidate_written(std::int32_t from, std::int32_t to, Ints& ints) const {
    for (std::int32_t pc = from; pc < to; ++pc) {
      const Instruction& in = m_.code[static_cast<std::size_t>(pc)];
      const auto operands = operands_of(in);
      for (std::size_t k = 0; k < operands.size(); ++k) {
        const OperandKind kind = opcode_info(in.op)->operands[k];
        if (kind == OperandKind::iout || kind == OperandKind::ivar) ints[static_cast<std::size_t>(operands[k])].reset();
      }
    }
  }

  std::int32_t value(IndexId id) const {
    const std::vector<std::int32_t>& cells = cells_[id.at()];
    return cells.empty() ? bound_.indices[id.at()].lo : cells[static_cast<std::size_t>(at_[id.at()])];
  }
  /// The last value of the cell that the index is at.
  std::int32_t last_value(IndexId id) const {
    const std::vector<std::int32_t>& cells = cells_[id.at()];
    const auto next = static_cast<std::size_t>(at_[id.at()]) + 1;
    if (cells.empty()) return value(id);
    return next < cells.size() ? cells[next] - 1 : bound_.indices[id.at()].hi;
  }

  bool next_tuple() {
    for (const IndexId id : row().indices) {
      if (static_cast<std::size_t>(++at_[id.at()]) < cells_[id.at()].size()) return true;
      at_[id.at()] = 0;
    }
    return false;
  }

  void follow_iteration();
  void access(const Instruction& in);
  void carry_out(const Instruction& in);
  std::int32_t number_of(const ResolvedReference& ref);

  const BoundProgram& bound_;
  const Module& m_;
  const std::int32_t loop_, cell_;
  Ints initial_, ints_;
  std::vector<std::optional<double>> scalars_;
  std::vector<std::vector<std::int32_t>> cells_;  // per index: the first values of its cells
  std::vector<std::int32_t> at_;                  // per index: its cell
  std::vector<char> open_;                        // per index: a loop of the pardo sets it
  std::vector<char> followed_;                    // per loop; others have no accesses
  std::vector<std::int32_t> open_loops_;
  std::vector<CallFrame> calls_;
  std::vector<std::unordered_map<std::uint64_t, std::int32_t>> blocks_;  // per array: their numbers
  RecordedPardo* out_ = nullptr;
  std::int32_t pc_ = 0;
  std::int64_t steps_ = 0;
};

/// The walk as evaluate_control() sees it.
struct BodyInterpreter::Flow {
  BodyInterpreter& w;

  std::optional<std::int32_t> condition(std::int32_t reg) const { return w.ints_[static_cast<std::size_t>(reg)]; }
  void undecided(const Instruction&) {}
  bool taken(Opcode) const { return true; }
  std::int32_t position() const { return w.pc_; }
  void go_to(std::int32_t pc) { w.pc_ = pc; }
  LoopPositions loop(std::int32_t id) const { return {w.row(id).begin + 1, w.row(id).next, w.row(id).end}; }
  bool open_loop(std::int32_t id) {
    const IndexId index = w.row(id).indices[0];
    if (!w.followed_[static_cast<std::size_t>(id)]) {
      w.invalidate_written(w.row(id).begin, w.row(id).end, w.ints_);
      return false;
    }
    if (w.cells_[index.at()].empty()) return false;
    w.at_[index.at()] = 0;
    w.open_[index.at()] = 1;
    w.open_loops_.push_back(id);
    return true;
  }
  bool next_iteration(std::int32_t id) {
    const IndexId index = w.row(id).indices[0];
    if (static_cast<std::size_t>(w.at_[index.at()]) + 1 >= w.cells_[index.at()].size()) return false;
    ++w.at_[index.at()];
    return true;
  }
  void close_loop() {
    w.open_[w.row(w.open_loops_.back()).indices[0].at()] = 0;
    w.open_loops_.pop_back();
  }
  std::size_t open_loops() const { return w.open_loops_.size(); }
  void filtered(std::int32_t) {}
  bool may_call(std::int32_t) const { return w.calls_.size() < deepest_call; }
  std::int32_t entry(std::int32_t proc) const { return w.m_.procs[static_cast<std::size_t>(proc)].entry; }
  void push_call(CallFrame frame) { w.calls_.push_back(frame); }
  CallFrame pop_call() {
    const CallFrame frame = w.calls_.back();
    w.calls_.pop_back();
    return frame;
  }
};

/// Its registers as evaluate_registers() sees them.
struct BodyInterpreter::Values {
  BodyInterpreter& w;

  std::optional<std::int32_t> integer(std::int32_t reg) const { return w.ints_[static_cast<std::size_t>(reg)]; }
  std::optional<double> scalar(std::int32_t reg) const { return w.scalars_[static_cast<std::size_t>(reg)]; }
  std::optional<std::int32_t> index(std::int32_t id) const {
    if (!w.open_[static_cast<std::size_t>(id)]) return {};
    return w.value(IndexId(static_cast<std::size_t>(id)));
  }
  double constant(std::int32_t real) const { return w.m_.reals[static_cast<std::size_t>(real)]; }
  void set_int(std::int32_t reg, std::optional<std::int32_t> v) { w.ints_[static_cast<std::size_t>(reg)] = v; }
  void set_scalar(std::int32_t reg, std::optional<double> v) { w.scalars_[static_cast<std::size_t>(reg)] = v; }
};

void BodyInterpreter::follow_iteration() {
  ints_ = initial_;
  scalars_.assign(static_cast<std::size_t>(m_.n_scalar_registers), std::nullopt);
  open_loops_.clear();
  calls_.clear();
  for (const IndexId id : row().indices) open_[id.at()] = 1;
  Flow flow{*this};
  for (pc_ = row().begin + 1; pc_ != row().next || !calls_.empty();) {
    if (++steps_ > max_steps) return;
    const Instruction& in = m_.code[static_cast<std::size_t>(pc_++)];
    if (in.op == Opcode::halt || in.op == Opcode::stop) return;
    if (in.op == Opcode::exit_loop && in.a == loop_) return;
    if (in.op == Opcode::ret && calls_.empty()) return;
    if (!evaluate_control(in.op, in, flow)) carry_out(in);
  }
}

void BodyInterpreter::carry_out(const Instruction& in) {
  if (is_access(in)) return access(in);
  if (is_register_arithmetic(in.op)) {
    evaluate_registers(in.op, in, Values{*this});
    return;
  }
  const auto operands = operands_of(in);
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const OperandKind kind = opcode_info(in.op)->operands[k];
    if (kind == OperandKind::sout || kind == OperandKind::svar) scalars_[static_cast<std::size_t>(operands[k])].reset();
    if (kind == OperandKind::iout || kind == OperandKind::ivar) ints_[static_cast<std::size_t>(operands[k])].reset();
  }
  for_each_argument(m_, in, [&](const ArgRow& arg) {
    if (arg.kind == ArgKind::scalar) scalars_[static_cast<std::size_t>(arg.id)].reset();
  });
}

void BodyInterpreter::access(const Instruction& in) {
  const std::int32_t block = number_of(bound_.refs[static_cast<std::size_t>(in.a)]);
  if (block < 0) return;
  PardoAccessKind kind = PardoAccessKind::read;
  if (op_class(in.op) == OpClass::put)
    kind = assignment_of(in) == SetOp::assign ? PardoAccessKind::replace : PardoAccessKind::add;
  out_->accesses.push_back({block, kind});
}

/// -1: the program would end with an error there.
std::int32_t BodyInterpreter::number_of(const ResolvedReference& ref) {
  const BoundArray& array = bound_.arrays[ref.array.at()];
  if (!array.problem.empty()) return -1;
  std::uint64_t key = 0;
  std::int64_t elements = 1;
  for (std::size_t d = 0; d < static_cast<std::size_t>(ref.rank); ++d) {
    const ResolvedReference::Entry& e = ref.entry[d];
    const BoundDim& dim = array.dim[d];
    if (e.mode == EntryMode::wildcard) return -1;
    const IndexId id = e.mode == EntryMode::segment ? e.index : e.parent;
    std::int32_t first = value(id), last = last_value(id);
    if (e.mode == EntryMode::combined) first = last = combined_segment(first, value(e.index));
    if (first < dim.lo || first > dim.hi) return -1;
    last = std::min(last, dim.hi);
    key += static_cast<std::uint64_t>(first - dim.lo) * dim.key_stride;
    elements *= dim.offset_of(last) - dim.offset_of(first) + dim.extent_of(last);
  }
  const auto [at, fresh] = blocks_[ref.array.at()].try_emplace(key, static_cast<std::int32_t>(out_->bytes.size()));
  if (fresh) out_->bytes.push_back(0);
  std::int64_t& bytes = out_->bytes[static_cast<std::size_t>(at->second)];
  bytes = std::max(bytes, elements * static_cast<std::int64_t>(sizeof(double)));
  return at->second;
}

}  // namespace

std::int64_t RecordedPardo::all_bytes() const { return std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0}); }

RecordedPardo record_pardo(const BoundProgram& bound, const std::vector<std::int32_t>& ints, std::int32_t loop,
                           std::int64_t most) {
  const LoopRow& row = bound.module->loops[static_cast<std::size_t>(loop)];
  constexpr std::int32_t widest = 1 << 20;
  std::int32_t cell = 1;
  for (; cell < widest; cell += std::max(1, cell / 4)) {
    double n = std::max(1.0, count_accesses(bound, row.begin + 1, row.next, cell));
    for (const IndexId id : row.indices) n *= cells_of(bound.indices[id.at()], cell);
    if (n <= static_cast<double>(most)) break;
  }
  return BodyInterpreter(bound, ints, loop, cell).record();
}

}  // namespace sial
