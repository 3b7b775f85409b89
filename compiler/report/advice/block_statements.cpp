#include "compiler/report/advice/block_statements.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "runtime/core/bytecode/layout.h"

namespace sial::report {
namespace {

std::map<std::pair<std::string, int>, double> executions_of(const Run& run) {
  std::map<std::pair<std::string, int>, double> times;
  for (const CostLine& line : run.lines) times[{line.file, line.line}] = static_cast<double>(line.executions);
  return times;
}

/// Finds the block operations of one program.
class Extractor {
 public:
  Extractor(const Module& m, const Run& run, std::size_t program, const ArrayClasses& classes,
            std::vector<BlockStatement>& out)
      : m_(m), program_(program), classes_(classes), sizes_(sizes_of(m, run)), times_(executions_of(run)), out_(out) {}

  void run() {
    using enum BlockStatement::Kind;
    for (std::size_t pc = 0; pc < m_.code.size(); ++pc) {
      const Instruction& in = m_.code[pc];
      const OpcodeInfo& info = *opcode_info(in.op);
      if (info.cost == OpCost::product) add(pc, contraction, {in.a, in.b, in.c});
      if (info.cost == OpCost::dot) add(pc, dot, {in.b, in.c});
      if (info.op_class == OpClass::block && info.count(OperandKind::ref) == 2)
        add(pc, info.has(op::shares) ? alias : copy, {in.a, in.b});
    }
  }

 private:
  void add(std::size_t pc, BlockStatement::Kind kind, std::initializer_list<std::int32_t> refs) {
    const SourcePlace& place = m_.places[pc];
    BlockStatement s;
    s.kind = kind;
    s.program = program_;
    s.file = m_.files.at(static_cast<std::size_t>(place.file));
    s.line = place.line;
    const auto times = times_.find({s.file, s.line});
    if (times == times_.end() || times->second == 0) return;
    s.times = times->second;
    for (const std::int32_t ref : refs) s.operands.push_back(operand(m_.refs[static_cast<std::size_t>(ref)]));
    if (std::all_of(s.operands.begin(), s.operands.end(), countable)) out_.push_back(std::move(s));
  }

  /// Sizes come from a file: what no memory holds is not reckoned with.
  static bool countable(const StatementOperand& o) {
    constexpr double max_elements = 1e10;  // two operands and their sums still fit into 64 bits
    double elements = 1;
    for (const StatementOperand::Dim& dim : o.dims) elements *= static_cast<double>(dim.whole);
    return elements <= max_elements;
  }
  static std::int64_t whole_number(double x) {
    return x >= 1 && x < 1e10 ? std::llround(x) : x >= 1e10 ? std::int64_t{10'000'000'000} : 1;
  }
  std::int64_t extent(IndexId index) const { return whole_number(sizes_[index.at()].extent); }

  StatementOperand operand(const RefRow& ref) const {
    const ArrayRow& array = m_.arrays[ref.array.at()];
    const bool part = array.kind == ArrayKind::static_ || array.kind == ArrayKind::contiguous_local;
    StatementOperand o;
    o.array_class = classes_.of(program_, array.name);
    std::map<IndexId, std::int64_t> seen;
    for (std::size_t d = 0; d < ref.entries.size(); ++d) {
      const RefEntry& e = ref.entries[d];
      const IndexId declared = array.dims[d];
      StatementOperand::Dim dim;
      constexpr std::int64_t labels_apart = 1 << 20;
      dim.label = e.index.number() + labels_apart * (2 * seen[e.index]++ + (e.as_simple ? 1 : 0));
      const bool one = e.index == no_index || e.as_simple || m_.indices[e.index.at()].kind == IndexKind::simple;
      dim.extent = one ? 1 : extent(e.index);
      const double segments = part ? std::max(1.0, sizes_[declared.at()].count) : 1.0;
      dim.whole = std::max<std::int64_t>(
          dim.extent, whole_number(segments * static_cast<double>(one && !part ? 1 : extent(declared))));
      o.dims.push_back(dim);
    }
    return o;
  }

  const Module& m_;
  const std::size_t program_;
  const ArrayClasses& classes_;
  const std::vector<IndexSize> sizes_;
  const std::map<std::pair<std::string, int>, double> times_;
  std::vector<BlockStatement>& out_;
};

OrderedBlock ordered(const StatementOperand& o, const Order* order) {
  OrderedBlock block;
  std::int64_t stride = 1;
  for (std::size_t d = 0; d < o.dims.size(); ++d) {
    const StatementOperand::Dim& dim = o.dims[order ? static_cast<std::size_t>((*order)[d]) : d];
    if (dim.extent > 1) {
      block.labels.push_back(dim.label);
      block.extents.push_back(dim.extent);
      block.strides.push_back(stride);
    }
    stride *= dim.whole;
  }
  return block;
}

}  // namespace

std::int64_t OrderedBlock::elements() const {
  return std::accumulate(extents.begin(), extents.end(), std::int64_t{1}, std::multiplies<>());
}

Order identity(std::size_t rank) {
  Order order(rank);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

Order composed(const Order& first, const Order& second) {
  Order result;
  for (const int place : second) result.push_back(first[static_cast<std::size_t>(place)]);
  return result;
}

std::vector<BlockStatement> block_statements(const Job& job, const std::vector<const Module*>& modules,
                                             const ArrayClasses& classes) {
  std::vector<BlockStatement> out;
  for (std::size_t p = 0; p < job.programs.size(); ++p)
    if (modules[p]) Extractor(*modules[p], job.programs[p].run, p, classes, out).run();
  return out;
}

double cost_of(const BlockStatement& s, const std::vector<Order>& orders, const OrderCosts& costs) {
  std::vector<OrderedBlock> blocks;
  for (const StatementOperand& o : s.operands)
    blocks.push_back(ordered(o, o.array_class < 0 ? nullptr : &orders[static_cast<std::size_t>(o.array_class)]));
  using enum BlockStatement::Kind;
  if (s.kind == alias && blocks[0].labels == blocks[1].labels) return 0;
  const OrderedBlock* target = s.kind == dot ? nullptr : &blocks[0];
  const OrderedBlock& a = blocks[s.kind == dot ? 0 : 1];
  const OrderedBlock* b = s.kind == dot ? &blocks[1] : s.kind == contraction ? &blocks[2] : nullptr;
  return s.times * costs.seconds(target, a, b);
}

double permuted_bytes(const BlockStatement& s) {
  if (s.kind != BlockStatement::Kind::copy && s.kind != BlockStatement::Kind::alias) return 0;
  const OrderedBlock to = ordered(s.operands[0], nullptr), from = ordered(s.operands[1], nullptr);
  return to.labels == from.labels ? 0 : 8.0 * s.times * static_cast<double>(to.elements());
}

}  // namespace sial::report
