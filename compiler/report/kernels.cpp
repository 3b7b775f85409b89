#include "compiler/report/kernels.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <optional>

namespace sial::report {
namespace {

/// A dimension with more than one element. Equal names are told apart by their occurrence, as the interpreter does.
struct Dim {
  IndexId index;
  std::int32_t occurrence = 0;
  bool gap_after = false;  // the next dimension does not begin where this one ends: a part of it is used
  std::string name;
  bool same(const Dim& other) const { return index == other.index && occurrence == other.occurrence; }
};
using Dims = std::vector<Dim>;

bool holds(const Dims& dims, const Dim& dim) {
  return std::any_of(dims.begin(), dims.end(), [&](const Dim& d) { return d.same(dim); });
}

/// The `dims` that `other` has, or has not.
Dims common(const Dims& dims, const Dims& other, bool wanted = true) {
  Dims result;
  std::copy_if(dims.begin(), dims.end(), std::back_inserter(result),
               [&](const Dim& d) { return holds(other, d) == wanted; });
  return result;
}

std::vector<std::string> names(const Dims& dims) {
  std::vector<std::string> result;
  for (const Dim& d : dims) result.push_back(d.name);
  return result;
}

bool same_order(const Dims& a, const Dims& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Dim& p, const Dim& q) { return p.same(q); });
}

struct Operand {
  ArrayId array;
  std::string text;
  Dims dims;
  std::vector<std::string> ones;  // dimensions of one element
};

/// A set of indices in the order in which the operation wants to step through it; `what`: "rows".
struct Group {
  const char* what = "";
  Dims order;
};

class Layouts {
 public:
  explicit Layouts(const Module& module) : m_(module) {}

  std::vector<ContractionLayout> all() {
    for (std::size_t pc = 0; pc < m_.code.size(); ++pc) {
      const Instruction& in = m_.code[pc];
      const OpcodeInfo& info = *opcode_info(in.op);
      if (info.cost == OpCost::product)
        add(pc, in.a, in.b, in.c, setop_text(assignment_of(in)),
            info.operands[3] == OperandKind::sin ? scalar(in.d, "factor") + " * " : std::string());
      if (info.cost == OpCost::dot) add_inner(pc, in);
    }
    return std::move(result_);
  }

 private:
  /// A variable by its name, the registers of expressions by `otherwise`.
  std::string scalar(std::int32_t slot, const char* otherwise) const {
    return static_cast<std::size_t>(slot) < m_.scalars.size() ? m_.scalars[static_cast<std::size_t>(slot)].name
                                                              : otherwise;
  }
  const ArrayRow& array(const Operand& o) const { return m_.arrays[o.array.at()]; }

  Operand operand(std::int32_t ref_id) const {
    const RefRow& ref = m_.refs[static_cast<std::size_t>(ref_id)];
    Operand o;
    o.array = ref.array;
    const ArrayRow& row = array(o);
    // Blocks of these lie within something larger.
    const bool part = row.kind == ArrayKind::static_ || row.kind == ArrayKind::contiguous_local;
    std::vector<std::string> all;
    for (std::size_t d = 0; d < ref.entries.size(); ++d) {
      const RefEntry& e = ref.entries[d];
      const IndexRow& index = m_.indices[e.index.at()];
      all.push_back(e.as_simple ? "(index)" + index.name : index.name);
      if (e.as_simple || index.kind == IndexKind::simple) {
        o.ones.push_back(all.back());
        continue;
      }
      const bool of_parent = index.kind == IndexKind::sub && m_.indices[row.dims[d].at()].kind != IndexKind::sub;
      const auto before =
          std::count_if(o.dims.begin(), o.dims.end(), [&](const Dim& other) { return other.index == e.index; });
      o.dims.push_back({e.index, static_cast<std::int32_t>(before), part || of_parent, index.name});
    }
    o.text = fmt::format("{}[{}]", row.name, fmt::join(all, ","));
    return o;
  }

  /// Null when each group is one run of neighbours in its order; else why not.
  static std::optional<std::string> not_a_matrix(const Operand& o, const Group& one, const Group& two) {
    std::size_t changes = 0;
    for (std::size_t d = 1; d < o.dims.size(); ++d)
      changes += holds(one.order, o.dims[d]) != holds(one.order, o.dims[d - 1]);
    if (changes > 1) return fmt::format("its {} and {} are interleaved", one.what, two.what);
    for (const Group* g : {&one, &two}) {
      const Dims found = common(o.dims, g->order);
      if (!same_order(found, g->order))
        return fmt::format("its {} are in the order {}, not {}", g->what, fmt::join(names(found), ","),
                           fmt::join(names(g->order), ","));
      for (std::size_t d = 0; d + 1 < found.size(); ++d)
        if (found[d].gap_after) return fmt::format("its {} have gaps: part of a larger block", g->what);
    }
    return {};
  }

  OperandLayout layout(const Operand& o, const Group& one, const Group& two, bool target) const {
    OperandLayout result{o.array, o.text, target, true, {}, {}};
    const std::optional<std::string> why = not_a_matrix(o, one, two);
    if (!why) return result;
    result.in_place = false;
    result.why = *why;
    const ArrayRow& row = array(o);
    const bool gaps = std::any_of(o.dims.begin(), o.dims.end(), [](const Dim& d) { return d.gap_after; });
    if (row.predefined || gaps) return result;
    const bool one_first = holds(one.order, o.dims.front());
    std::vector<std::string> order = names(one_first ? one.order : two.order);
    for (const std::string& name : names(one_first ? two.order : one.order)) order.push_back(name);
    order.insert(order.end(), o.ones.begin(), o.ones.end());
    result.advice =
        fmt::format("declare {}[{}] to {} it in place", row.name, fmt::join(order, ","), target ? "write" : "read");
    return result;
  }

  void add(std::size_t pc, std::int32_t target, std::int32_t a, std::int32_t b, std::string_view set,
           const std::string& factor) {
    const Operand d = operand(target), x = operand(a), y = operand(b);
    ContractionLayout c;
    c.place = m_.places[pc];
    c.statement = fmt::format("{} {} {}{} * {}", d.text, set, factor, x.text, y.text);
    const Group rows{"rows", common(d.dims, x.dims)}, columns{"columns", common(d.dims, y.dims)};
    // Sums in the order of the larger operand: the other one is cheaper to pack.
    const Operand& larger = y.dims.size() > x.dims.size() ? y : x;
    const Group summed{"sums", common(larger.dims, d.dims, false)};
    c.rows = names(rows.order);
    c.columns = names(columns.order);
    c.summed = names(summed.order);
    const bool r = !c.rows.empty(), n = !c.columns.empty();
    c.form = c.summed.empty() ? (r && n ? "outer product" : "scaled block")
             : r && n         ? "matrix product"
             : r || n         ? "matrix-vector product"
                              : "inner product";
    c.operands = {layout(x, rows, summed, false), layout(y, summed, columns, false), layout(d, rows, columns, true)};
    result_.push_back(std::move(c));
  }

  void add_inner(std::size_t pc, const Instruction& in) {
    const Operand x = operand(in.b), y = operand(in.c);
    ContractionLayout c;
    c.place = m_.places[pc];
    c.statement = fmt::format("{} = {} * {}", scalar(in.a, "(scalar)"), x.text, y.text);
    c.form = "inner product";
    c.summed = names(x.dims);
    const Group summed{"sums", x.dims}, nothing;
    c.operands = {layout(x, summed, nothing, false), layout(y, summed, nothing, false)};
    result_.push_back(std::move(c));
  }

  const Module& m_;
  std::vector<ContractionLayout> result_;
};

}  // namespace

std::vector<ContractionLayout> contraction_layouts(const Module& module) { return Layouts(module).all(); }

std::string explain_kernels(const Module& module) {
  const std::vector<ContractionLayout> layouts = contraction_layouts(module);
  if (layouts.empty()) return "no contractions\n";
  const auto uses = [&](ArrayId array) {
    return std::count_if(layouts.begin(), layouts.end(), [&](const ContractionLayout& l) {
      return std::any_of(l.operands.begin(), l.operands.end(),
                         [&](const OperandLayout& o) { return o.array == array; });
    });
  };
  std::string out;
  for (const ContractionLayout& l : layouts) {
    fmt::format_to(std::back_inserter(out), "{}:{}:{}: {}\n  {}",
                   module.files.at(static_cast<std::size_t>(l.place.file)), l.place.line, l.place.column, l.statement,
                   l.form);
    const char* separator = ": ";
    for (const auto& [what, list] :
         {std::pair{"rows", &l.rows}, std::pair{"columns", &l.columns}, std::pair{"sums", &l.summed}}) {
      if (list->empty()) continue;
      fmt::format_to(std::back_inserter(out), "{}{} {}", separator, what, fmt::join(*list, ","));
      separator = "; ";
    }
    out += '\n';
    for (const OperandLayout& o : l.operands) {
      if (o.in_place) {
        fmt::format_to(std::back_inserter(out), "  {}: {} in place\n", o.text, o.target ? "written" : "read");
        continue;
      }
      fmt::format_to(std::back_inserter(out), "  {}: {}, {}", o.text, o.target ? "scattered" : "packed", o.why);
      if (!o.advice.empty()) out += "; " + o.advice;
      if (const auto n = uses(o.array); !o.advice.empty() && n > 1)
        fmt::format_to(std::back_inserter(out), " (it is in {} contractions)", n);
      out += '\n';
    }
  }
  return out;
}

std::string layout_advice(const std::vector<ContractionLayout>& layouts, const std::vector<std::string>& files,
                          const std::string& file, int line) {
  std::string text;
  for (const ContractionLayout& l : layouts) {
    if (l.place.line != line || files.at(static_cast<std::size_t>(l.place.file)) != file) continue;
    for (const OperandLayout& o : l.operands)
      if (!o.advice.empty() && text.find(o.advice) == std::string::npos) text += (text.empty() ? "" : "; ") + o.advice;
  }
  return text;
}

}  // namespace sial::report
