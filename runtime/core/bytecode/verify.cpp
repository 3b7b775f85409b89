// The verifier's first part: every table of the module by itself, and the references between tables.
#include <algorithm>
#include <cmath>

#include "runtime/core/base/module_limits.h"
#include "runtime/core/bytecode/read.h"
#include "runtime/core/bytecode/verify_detail.h"

namespace sial {
namespace detail {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || c == '_'; }

void verify_name(const VerifyContext& c, const std::string& name) {
  c.require(!name.empty(), "the name is empty");
  c.require(name.size() <= max_module_name, "the name has {} characters", name.size());
  const bool good = is_letter(name[0]) && std::all_of(name.begin(), name.end(), [](char ch) {
                      return is_letter(ch) || (ch >= '0' && ch <= '9') || ch == '.' ||
                             ch == '$';  // $ marks names the compiler made up
                    });
  c.require(good, "the name is not a lower-case identifier");
}

void verify_text(const VerifyContext& c, const std::string& text) {
  c.require(text.size() <= max_module_text, "the text has {} characters", text.size());
}

void verify_bound(const VerifyContext& c, const Bound& b, IndexKind kind) {
  if (b.symbolic) {
    c.require(in_table(b.value, c.m.ints), "a bound names int {}, which does not exist", b.value);
    c.require(c.m.ints[b.value].predefined, "a bound names int `{}`, which is not predefined", c.m.ints[b.value].name);
  } else if (kind != IndexKind::simple) {
    c.require(b.value >= 1, "the bound {} of a segment index is below 1", b.value);
  }
}

void verify_index(const VerifyContext& c, const IndexRow& row) {
  verify_name(c, row.name);
  switch (row.kind) {
    case IndexKind::ao:
    case IndexKind::mo:
    case IndexKind::moa:
    case IndexKind::mob:
    case IndexKind::simple:
    case IndexKind::la:
      c.require(row.parent == no_index, "only a subindex has a parent");
      verify_bound(c, row.lo, row.kind);
      verify_bound(c, row.hi, row.kind);
      c.require(row.lo.symbolic || row.hi.symbolic || row.lo.value <= row.hi.value, "the range {}:{} is empty",
                row.lo.value, row.hi.value);
      break;
    case IndexKind::sub:
      c.require(in_table(row.parent, c.m.indices), "the parent index {} does not exist", row.parent);
      c.require(c.m.indices[row.parent.at()].kind != IndexKind::sub, "the parent `{}` is itself a subindex",
                c.m.indices[row.parent.at()].name);
      c.require(!row.lo.symbolic && !row.hi.symbolic, "a subindex has no bounds of its own");
      break;
    default: c.fail(fmt::format("there is no index kind {}", static_cast<int>(row.kind)));
  }
}

bool is_array_kind(ArrayKind kind) { return kind >= ArrayKind::static_ && kind <= ArrayKind::served; }

bool is_intent(Intent intent) { return intent >= Intent::read && intent <= Intent::update; }

void verify_array(const VerifyContext& c, const ArrayRow& row) {
  verify_name(c, row.name);
  c.require(is_array_kind(row.kind), "there is no array kind {}", static_cast<int>(row.kind));
  c.require(!row.dims.empty() && row.dims.size() <= static_cast<std::size_t>(max_rank),
            "`{}` has {} dimensions, 1 to {} are possible", row.name, row.dims.size(), max_rank);
  for (IndexId d : row.dims) {
    c.require(in_table(d, c.m.indices), "a dimension of `{}` is index {}, which does not exist", row.name, d);
    const bool whole = row.kind == ArrayKind::static_ || row.kind == ArrayKind::contiguous_local;
    c.require(!whole || c.m.indices[d.at()].kind != IndexKind::sub,
              "`{}` is stored as a whole and cannot have the subindex `{}` as a dimension", row.name,
              c.m.indices[d.at()].name);
  }
  c.require(!row.predefined || row.kind == ArrayKind::static_ || is_remote(row.kind),
            "`{}` is predefined but not static, distributed or served", row.name);
  c.require(!row.sparse || is_remote(row.kind), "`{}` is sparse but neither distributed nor served", row.name);
}

void verify_loop(const VerifyContext& c, const LoopRow& row) {
  c.require(row.kind >= LoopKind::do_ && row.kind <= LoopKind::pardo, "there is no loop kind {}",
            static_cast<int>(row.kind));
  const std::size_t most = row.kind == LoopKind::pardo ? max_rank : 1;
  c.require(!row.indices.empty() && row.indices.size() <= most, "the loop has {} indices, 1 to {} are possible",
            row.indices.size(), most);
  for (std::size_t i = 0; i < row.indices.size(); ++i) {
    c.require(in_table(row.indices[i], c.m.indices), "the loop runs over index {}, which does not exist",
              row.indices[i]);
    const bool sub = c.m.indices[row.indices[i].at()].kind == IndexKind::sub;
    c.require(sub == (row.kind == LoopKind::sub), "a {} loop cannot run over `{}`",
              row.kind == LoopKind::sub ? "subindex" : "segment", c.m.indices[row.indices[i].at()].name);
    for (std::size_t j = 0; j < i; ++j)
      c.require(row.indices[j] != row.indices[i], "the loop runs twice over `{}`",
                c.m.indices[row.indices[i].at()].name);
  }
  c.require(row.n_wheres >= 0, "the loop has {} where clauses", row.n_wheres);
  c.require(row.pragma == -1 || (row.kind == LoopKind::pardo && in_table(row.pragma, c.m.strings)),
            "the pragma names string {}, which does not exist", row.pragma);
}

void verify_ref(const VerifyContext& c, const RefRow& row) {
  c.require(in_table(row.array, c.m.arrays), "the array {} does not exist", row.array);
  c.require(is_intent(row.intent), "there is no intent {}", static_cast<int>(row.intent));
  const ArrayRow& array = c.m.arrays[row.array.at()];
  c.require(row.entries.size() == array.dims.size(), "`{}` has {} dimensions but is referenced with {} entries",
            array.name, array.dims.size(), row.entries.size());
  for (std::size_t d = 0; d < row.entries.size(); ++d) {
    const RefEntry& e = row.entries[d];
    if (e.index == no_index) {
      c.require(!e.as_simple, "entry {} of `{}` is both `*` and (index)", d + 1, array.name);
      continue;
    }
    c.require(in_table(e.index, c.m.indices), "entry {} of `{}` is index {}, which does not exist", d + 1, array.name,
              e.index);
    const IndexRow& index = c.m.indices[e.index.at()];
    const bool sub_dimension = c.m.indices[array.dims[d].at()].kind == IndexKind::sub;
    c.require(!sub_dimension || (!e.as_simple && index.kind == IndexKind::sub),
              "entry {} of `{}` must be a subindex, `{}` is none", d + 1, array.name, index.name);
    c.require(!e.as_simple || index.kind != IndexKind::sub, "the subindex `{}` has no value as a simple index",
              index.name);
    const IndexKind kind = e.as_simple ? IndexKind::simple : selector_kind(c.m, e.index);
    const IndexKind declared = selector_kind(c.m, array.dims[d]);
    c.require(kind == declared, "entry {} of `{}` is of kind {}, the array was declared with {}", d + 1, array.name,
              index_kind_text(kind), index_kind_text(declared));
  }
}

void verify_region(const VerifyContext& c, const RegionRow& row) {
  c.require(in_table(row.array, c.m.arrays), "the array {} does not exist", row.array);
  c.require(is_intent(row.intent), "there is no intent {}", static_cast<int>(row.intent));
  const ArrayRow& array = c.m.arrays[row.array.at()];
  c.require(array.kind == ArrayKind::contiguous_local, "`{}` is {}, regions exist only of contiguous locals",
            array.name, array_kind_text(array.kind));
  c.require(row.lo.size() == array.dims.size() && row.hi.size() == array.dims.size(),
            "`{}` has {} dimensions but its region has {} and {} bounds", array.name, array.dims.size(), row.lo.size(),
            row.hi.size());
  for (std::size_t d = 0; d < row.lo.size(); ++d)
    for (std::int32_t reg : {row.lo[d], row.hi[d]})
      c.require(reg >= 0 && reg < c.m.n_int_registers, "a bound is in int register {}, which does not exist", reg);
}

void verify_arg(const VerifyContext& c, const ArgRow& row) {
  c.require(is_intent(row.intent), "there is no intent {}", static_cast<int>(row.intent));
  switch (row.kind) {
    case ArgKind::block:
      c.require(in_table(row.id, c.m.refs), "the block reference {} does not exist", row.id);
      c.require(c.m.refs[row.id].intent == row.intent, "the argument's intent is {}, its block reference's {}",
                intent_text(row.intent), intent_text(c.m.refs[row.id].intent));
      break;
    case ArgKind::region:
      c.require(in_table(row.id, c.m.regions), "the region {} does not exist", row.id);
      c.require(c.m.regions[row.id].intent == row.intent, "the argument's intent is {}, its region's {}",
                intent_text(row.intent), intent_text(c.m.regions[row.id].intent));
      break;
    case ArgKind::scalar: c.require(in_table(row.id, c.m.scalars), "the scalar {} does not exist", row.id); break;
    case ArgKind::array: c.require(in_table(row.id, c.m.arrays), "the array {} does not exist", row.id); break;
    case ArgKind::real_literal: c.require(in_table(row.id, c.m.reals), "the literal {} does not exist", row.id); break;
    case ArgKind::int_literal: break;
    default: c.fail(fmt::format("there is no argument kind {}", static_cast<int>(row.kind)));
  }
}

void verify_place(const VerifyContext& c, const SourcePlace& p) {
  c.require(in_table(p.file, c.m.files), "it names source file {}, which does not exist", p.file);
  c.require(p.line >= 1 && p.column >= 1, "line {}, column {} is no place in a file", p.line, p.column);
}

void verify_cost(const VerifyContext& c, const Cost& cost) {
  for (std::size_t t = 0; t < cost.terms.size(); ++t) {
    const CostTerm& term = cost.terms[t];
    c.require(std::isfinite(term.coefficient) && term.coefficient != 0.0, "term {} of a cost has the coefficient {}", t,
              term.coefficient);
    c.require(std::is_sorted(term.factors.begin(), term.factors.end()), "term {} of a cost is not in order", t);
    for (const CostFactor& f : term.factors)
      c.require(in_table(f.index, c.m.indices), "a cost names index {}, which does not exist", f.index);
    c.require(t == 0 || cost.terms[t - 1].factors < term.factors, "the terms of a cost are not in order");
  }
}

void verify_remark(const VerifyContext& c, const RemarkRow& row) {
  c.require(row.kind >= RemarkKind::passed && row.kind <= RemarkKind::analysis, "there is no kind of remark {}",
            static_cast<int>(row.kind));
  verify_text(c, row.pass);
  verify_text(c, row.name);
  verify_text(c, row.text);
  verify_text(c, row.advice);
  verify_place(c, row.place);
  c.require(row.array == no_array || in_table(row.array, c.m.arrays), "the array {} does not exist", row.array);
  for (const Cost* cost : {&row.bytes, &row.flops, &row.executions}) verify_cost(c, *cost);
}

void verify_slice(const VerifyContext& c, const SliceRow& row) {
  c.require(in_table(row.loop, c.m.loops), "the loop {} does not exist", row.loop);
  for (std::size_t i = 0; i < row.steps.size(); ++i) {
    const SliceStep& step = row.steps[i];
    c.require(in_table(step.pc, c.m.code), "step {} is at instruction {}, which does not exist", i, step.pc);
    c.require(i == 0 || row.steps[i - 1].pc < step.pc, "step {} is not behind the one before it", i);
    c.require(step.action >= SliceAction::run && step.action <= SliceAction::put, "there is no action {}",
              static_cast<int>(step.action));
  }
}

template <class Rows, class Check>
void each(VerifyContext& c, const char* what, const Rows& rows, Check check) {
  c.at_module();
  c.require(rows.size() < max_module_rows, "it has {} rows of kind `{}`", rows.size(), what);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    c.at(what, i);
    check(c, rows[i]);
  }
  c.at_module();
}

void verify_registers(VerifyContext& c) {
  // Every temporary is written by some instruction, which bounds what a small file can make the interpreter allocate.
  const auto check = [&](const char* what, std::size_t variables, std::int32_t registers) {
    const auto most = static_cast<std::int64_t>(variables + c.m.code.size());
    c.require(registers >= static_cast<std::int64_t>(variables) && registers <= most,
              "it has {} {} registers for {} variables and {} instructions", registers, what, variables,
              c.m.code.size());
  };
  check("int", c.m.ints.size(), c.m.n_int_registers);
  check("scalar", c.m.scalars.size(), c.m.n_scalar_registers);
}

}  // namespace

void verify_tables(VerifyContext& c) {
  const Module& m = c.m;
  verify_name(c, m.program);
  verify_text(c, m.producer);
  c.require(m.source_hash.size() == 64 && m.source_hash.find_first_not_of("0123456789abcdef") == std::string::npos,
            "its source hash is not a SHA-256 in hexadecimal");
  c.require(m.optimisation >= 0 && m.optimisation <= 3, "its optimisation level is {}", m.optimisation);
  c.require(!m.files.empty(), "it names no source file");
  c.require(!m.code.empty(), "it has no code");
  c.require(m.code.size() < max_module_rows, "it has {} instructions", m.code.size());
  c.require(m.places.size() == m.code.size(), "it has {} instructions but {} source places", m.code.size(),
            m.places.size());
  verify_registers(c);
  each(c, "file", m.files, verify_text);
  each(c, "string", m.strings, verify_text);
  each(c, "int", m.ints, [](const VerifyContext& x, const IntVar& v) { verify_name(x, v.name); });
  each(c, "scalar", m.scalars, [](const VerifyContext& x, const ScalarVar& v) { verify_name(x, v.name); });
  each(c, "index", m.indices, verify_index);
  each(c, "array", m.arrays, verify_array);
  each(c, "special", m.specials, [](const VerifyContext& x, const SpecialRow& row) {
    verify_name(x, row.name);
    x.require(row.signature.size() <= static_cast<std::size_t>(max_rank),
              "`{}` takes {} arguments, at most {} are possible", row.name, row.signature.size(), max_rank);
    x.require(row.signature.find_first_not_of("rwu") == std::string::npos,
              "the signature of `{}` has letters other than r, w and u", row.name);
  });
  each(c, "procedure", m.procs, [](const VerifyContext& x, const ProcRow& row) { verify_name(x, row.name); });
  each(c, "loop", m.loops, verify_loop);
  each(c, "block reference", m.refs, verify_ref);
  each(c, "region", m.regions, verify_region);
  each(c, "argument", m.args, verify_arg);
  each(c, "source place", m.places, verify_place);
  each(c, "remark", m.remarks, verify_remark);
  each(c, "slice", m.slices, verify_slice);
  std::vector<bool> sliced(m.loops.size());
  for (const SliceRow& row : m.slices) {
    c.require(!sliced[static_cast<std::size_t>(row.loop)], "loop {} has two slices", row.loop);
    sliced[static_cast<std::size_t>(row.loop)] = true;
  }
}

}  // namespace detail

void verify_module(const Module& module, const std::string& name_for_messages) {
  detail::VerifyContext c(module, name_for_messages);
  detail::verify_tables(c);
  detail::verify_operands(c);
  const detail::CodeShape shape = detail::verify_structure(c);
  detail::verify_blocks(c);
  detail::verify_calls(c, shape);
  detail::verify_slices(c, shape);
}

}  // namespace sial
