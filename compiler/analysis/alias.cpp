#include "compiler/analysis/alias.h"

#include <algorithm>
#include <unordered_map>

#include "compiler/analysis/ranges.h"

namespace sial::analysis {
namespace {

/// The index whose value an entry's segment number is: a box is addressed by its parent.
IndexId segment_index(const ir::Program& p, const RefEntry& e) {
  return index_row(p, e.index).kind == IndexKind::sub ? index_row(p, e.index).parent : e.index;
}

std::pair<IndexId, IndexId> ordered(IndexId i, IndexId j) { return {std::min(i, j), std::max(i, j)}; }

bool is_changed(const ir::Program& p, const RefEntry& e, const AliasContext& c) {
  if (c.changed == nullptr) return false;
  const auto has = [&](IndexId i) { return std::binary_search(c.changed->begin(), c.changed->end(), i); };
  return has(e.index) || has(segment_index(p, e));
}

/// Whether two entries of one dimension give the same segment number.
Alias same_segment(const ir::Program& p, const RefEntry& a, const RefEntry& b, const AliasContext& c) {
  if (a.index == no_index || b.index == no_index) return Alias::may;
  const IndexId i = segment_index(p, a), j = segment_index(p, b);
  if (disjoint_ranges(p, i, j)) return Alias::never;
  if (is_changed(p, a, c) || is_changed(p, b, c)) return Alias::may;
  if (i == j) return Alias::must;
  if (c.distinct != nullptr && std::binary_search(c.distinct->begin(), c.distinct->end(), ordered(i, j)))
    return Alias::never;
  return Alias::may;
}

/// Whether two entries on a dimension of equal segment numbers give the same part of it: everything, or one of the
/// subsegments.
Alias same_part(const ir::Program& p, const RefEntry& a, const RefEntry& b, const AliasContext& c) {
  if (a.index == no_index || b.index == no_index) return Alias::may;
  const bool sub_a = index_row(p, a.index).kind == IndexKind::sub, sub_b = index_row(p, b.index).kind == IndexKind::sub;
  if (!sub_a && !sub_b) return Alias::must;
  if (a.index != b.index || is_changed(p, a, c) || is_changed(p, b, c)) return Alias::may;
  return Alias::must;
}

Alias both(Alias a, Alias b) {
  return a == Alias::never || b == Alias::never ? Alias::never : a == Alias::must ? b : a;
}

/// Values that straight-line code gives to temporaries of a condition: indices by themselves.
class IndexValues {
 public:
  void instr(const ir::Instr& i) {
    if (i.op == Opcode::int_index) {
      value_[std::get<ir::IntReg>(i.operands[0]).reg] = std::get<IndexId>(i.operands[1]);
      return;
    }
    for (const RegisterUse& r : register_uses(i))
      if (!r.scalar && r.write) {
        compared_.erase(r.reg);
        if (i.op != Opcode::int_compare) value_.erase(r.reg);
      }
    if (i.op == Opcode::int_compare) {
      const auto a = value_.find(std::get<ir::IntReg>(i.operands[1]).reg),
                 b = value_.find(std::get<ir::IntReg>(i.operands[2]).reg);
      const bool known = a != value_.end() && b != value_.end();
      const std::pair<IndexId, IndexId> pair = known ? ordered(a->second, b->second) : std::pair<IndexId, IndexId>{};
      const std::int32_t target = std::get<ir::IntReg>(i.operands[0]).reg;
      value_.erase(target);
      if (known) compared_[target] = {pair, std::get<Relop>(i.operands[3])};
    }
  }
  /// The indices that differ when the register is 1 (or 0).
  bool differ(std::int32_t reg, bool truth, std::pair<IndexId, IndexId>& out) const {
    const auto found = compared_.find(reg);
    if (found == compared_.end()) return false;
    const Relop op = truth ? found->second.second : negated(found->second.second);
    out = found->second.first;
    return (op == Relop::lt || op == Relop::gt || op == Relop::ne) && out.first != out.second;
  }

 private:
  std::unordered_map<std::int32_t, IndexId> value_;
  std::unordered_map<std::int32_t, std::pair<std::pair<IndexId, IndexId>, Relop>> compared_;
};

bool contains(const ir::Body& body, const ir::Node* node) {
  return !body.empty() && node >= body.data() && node < body.data() + body.size();
}

}  // namespace

Distinct distinct_indices(const Path& path, const ir::Node* inner) {
  Distinct result;
  std::pair<IndexId, IndexId> pair;
  for (std::size_t k = 0; k < path.enclosing.size(); ++k) {
    const ir::Node& n = *path.enclosing[k];
    const ir::Node* next = k + 1 < path.enclosing.size() ? path.enclosing[k + 1] : inner;
    if (const auto* l = std::get_if<ir::Loop>(&n.value)) {
      if (path.in_where && k + 1 == path.enclosing.size()) continue;  // its clauses are just being decided
      for (const ir::Where& w : l->wheres) {
        IndexValues values;
        for (const ir::Node& c : w.code) values.instr(std::get<ir::Instr>(c.value));
        if (values.differ(w.condition, true, pair)) result.push_back(pair);
      }
    }
    // The condition of an if is computed by the instructions just before it, in the list that holds it.
    const auto* branch = next == nullptr ? nullptr : std::get_if<ir::If>(&n.value);
    if (branch == nullptr) continue;
    const ir::Body* list = nullptr;
    if (k > 0) {
      const ir::Node& outer = *path.enclosing[k - 1];
      if (const auto* l = std::get_if<ir::Loop>(&outer.value)) list = &l->body;
      if (const auto* b = std::get_if<ir::If>(&outer.value))
        list = contains(b->then_body, &n) ? &b->then_body : &b->else_body;
    }
    if (list == nullptr || !contains(*list, &n)) continue;
    IndexValues values;
    const ir::Node* first = &n;
    while (first > list->data() && std::holds_alternative<ir::Instr>((first - 1)->value) &&
           op_class(std::get<ir::Instr>((first - 1)->value).op) == OpClass::integer)
      --first;
    for (const ir::Node* c = first; c < &n; ++c) values.instr(std::get<ir::Instr>(c->value));
    const bool in_then = contains(branch->then_body, next), in_else = contains(branch->else_body, next);
    if ((in_then || in_else) && values.differ(branch->condition, in_then, pair)) result.push_back(pair);
  }
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

bool disjoint_ranges(const ir::Program& program, IndexId a, IndexId b) {
  const IndexRow &x = index_row(program, a), &y = index_row(program, b);
  if (a == b || x.kind == IndexKind::sub || y.kind == IndexKind::sub) return false;
  const auto before = [](const Bound& hi, const Bound& lo) {
    return !hi.symbolic && !lo.symbolic && hi.value < lo.value;
  };
  return before(x.hi, y.lo) || before(y.hi, x.lo);
}

Alias same_block(const ir::Program& program, const ir::Block& a, const ir::Block& b, const AliasContext& context) {
  if (a.array != b.array) return Alias::never;
  const ArrayRow& array = program.arrays[a.array.at()];
  Alias result = Alias::must;
  for (std::size_t d = 0; d < a.entries.size(); ++d) {
    result = both(result, same_segment(program, a.entries[d], b.entries[d], context));
    // Of a dimension declared over a subindex each subsegment is a block of its own.
    if (index_row(program, array.dims[d]).kind == IndexKind::sub)
      result = both(result, same_part(program, a.entries[d], b.entries[d], context));
    if (result == Alias::never) break;
  }
  return result;
}

Alias alias(const ir::Program& program, const ir::Block& a, const ir::Block& b, const AliasContext& context) {
  Alias result = same_block(program, a, b, context);
  for (std::size_t d = 0; result != Alias::never && d < a.entries.size(); ++d)
    result = both(result, same_part(program, a.entries[d], b.entries[d], context));
  return result;
}

Alias alias(const ir::Program& program, const ArrayUse& a, const ArrayUse& b, const AliasContext& context) {
  if (a.array != b.array) return Alias::never;
  if (a.block != nullptr && b.block != nullptr) return alias(program, *a.block, *b.block, context);
  if (a.region != nullptr && b.region != nullptr)
    return context.same_registers && a.region->lo == b.region->lo && a.region->hi == b.region->hi ? Alias::must
                                                                                                  : Alias::may;
  return a.block == nullptr && b.block == nullptr && a.region == nullptr && b.region == nullptr ? Alias::must
                                                                                                : Alias::may;
}

}  // namespace sial::analysis
