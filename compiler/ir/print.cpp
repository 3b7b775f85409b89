#include "compiler/ir/print.h"

#include <fmt/format.h>

#include <iterator>

namespace sial::ir {
namespace {

class Printer {
 public:
  explicit Printer(const Program& p) : p_(p) {}

  std::string head(const Node& n) const {
    return std::visit([&](const auto& v) { return head(v); }, n.value);
  }

  std::string text() {
    line(0, fmt::format("program {}", p_.name));
    for (std::size_t f = 0; f < p_.files.size(); ++f) line(0, fmt::format("file {} \"{}\"", f, p_.files[f]));
    declarations();
    for (const Procedure& proc : p_.procs) {
      out_ += '\n';
      line(0, "proc " + proc.name, proc.begin);
      body(proc.body, 1);
    }
    out_ += '\n';
    line(0, "main");
    body(p_.main, 1);
    return std::move(out_);
  }

 private:
  void line(int depth, const std::string& text) {
    out_.append(2 * static_cast<std::size_t>(depth), ' ');
    out_ += text;
    out_ += '\n';
  }

  void line(int depth, const std::string& text, const SourcePlace& place) {
    const std::string indented = std::string(2 * static_cast<std::size_t>(depth), ' ') + text;
    fmt::format_to(std::back_inserter(out_), "{:<58} # ", indented);
    if (place.file != 0) fmt::format_to(std::back_inserter(out_), "file {} ", place.file);
    fmt::format_to(std::back_inserter(out_), "{}:{}\n", place.line, place.column);
  }

  std::string bound(const Bound& b) const {
    return b.symbolic ? p_.ints[static_cast<std::size_t>(b.value)].name : fmt::format("{}", b.value);
  }

  void declarations() {
    out_ += '\n';
    for (const IntVar& v : p_.ints)
      line(0, v.predefined ? "predefined int " + v.name : fmt::format("int {} = {}", v.name, v.initial));
    for (const ScalarVar& v : p_.scalars)
      line(0, v.predefined ? "predefined scalar " + v.name : fmt::format("scalar {} = {}", v.name, v.initial));
    for (const IndexRow& r : p_.indices) {
      if (r.kind == IndexKind::sub) line(0, fmt::format("subindex {} of {}", r.name, index(r.parent)));
      else line(0, fmt::format("{} {} = {}:{}", index_kind_text(r.kind), r.name, bound(r.lo), bound(r.hi)));
    }
    for (const ArrayRow& r : p_.arrays) {
      std::string text = fmt::format("{}{}{} {}[", r.predefined ? "predefined " : "", r.sparse ? "sparse " : "",
                                     array_kind_text(r.kind), r.name);
      for (std::size_t d = 0; d < r.dims.size(); ++d) text += (d > 0 ? "," : "") + index(r.dims[d]);
      line(0, text + "]");
    }
    for (const SpecialRow& r : p_.specials)
      line(0, r.signature.empty() ? "special " + r.name : "special " + r.name + " " + r.signature);
  }

  void body(const Body& nodes, int depth) {
    for (const Node& n : nodes) std::visit([&](const auto& v) { node(n, v, depth); }, n.value);
  }

  std::string head(const Instr& i) const {
    std::string text(opcode_info(i.op)->name);
    for (std::size_t k = 0; k < i.operands.size(); ++k) text += (k == 0 ? " " : ", ") + operand(i.operands[k]);
    return text;
  }

  std::string head(const Loop& l) const {
    static constexpr const char* kind[] = {"do ", "sub ", "pardo "};
    std::string text = kind[static_cast<int>(l.kind)];
    for (std::size_t i = 0; i < l.indices.size(); ++i) text += (i > 0 ? "," : "") + index(l.indices[i]);
    return text;
  }

  std::string head(const If& i) const { return "if " + int_register(i.condition); }
  std::string head(const Section&) const { return "section"; }

  void node(const Node& n, const Instr& i, int depth) { line(depth, head(i), n.place); }

  void node(const Node& n, const Loop& l, int depth) {
    std::string text = head(l);
    if (!l.pragma.empty()) text += " \"" + l.pragma + "\"";
    if (l.rank_dependence != RankDependence::none) text += fmt::format(" {}", rank_dependence_text(l.rank_dependence));
    line(depth, text, n.place);
    for (const Where& w : l.wheres) {
      body(w.code, depth + 2);
      line(depth + 1, "where " + int_register(w.condition), w.place);
    }
    body(l.body, depth + 1);
    line(depth, "end", l.end);
  }

  void node(const Node& n, const If& i, int depth) {
    line(depth, head(i), n.place);
    body(i.then_body, depth + 1);
    if (!i.else_body.empty()) {
      line(depth, "else");
      body(i.else_body, depth + 1);
    }
    line(depth, "end");
  }

  void node(const Node& n, const Section& s, int depth) {
    line(depth, head(s), n.place);
    body(s.body, depth + 1);
    line(depth, "end", s.end);
  }

  const std::string& index(IndexId row) const { return p_.indices[row.at()].name; }
  const std::string& array(ArrayId row) const { return p_.arrays[row.at()].name; }

  std::string int_register(std::int32_t r) const {
    return static_cast<std::size_t>(r) < p_.ints.size() ? p_.ints[static_cast<std::size_t>(r)].name
                                                        : fmt::format("%i{}", r);
  }
  std::string scalar_register(std::int32_t r) const {
    return static_cast<std::size_t>(r) < p_.scalars.size() ? p_.scalars[static_cast<std::size_t>(r)].name
                                                           : fmt::format("%s{}", r);
  }

  std::string operand(const Operand& o) const {
    return std::visit([&](const auto& v) { return show(v); }, o);
  }
  std::string show(const Imm& v) const { return fmt::format("{}", v.value); }
  std::string show(const IntReg& v) const { return int_register(v.reg); }
  std::string show(const ScalarReg& v) const { return scalar_register(v.reg); }
  std::string show(const Real& v) const { return fmt::format("{}", v.value); }
  std::string show(const Text& v) const { return v.value ? "\"" + *v.value + "\"" : "-"; }
  std::string show(IndexId v) const { return index(v); }
  std::string show(ArrayId v) const { return array(v); }
  std::string show(const SpecialId& v) const { return p_.specials[static_cast<std::size_t>(v.row)].name; }
  std::string show(const ProcId& v) const { return p_.procs[static_cast<std::size_t>(v.row)].name; }
  std::string show(const Flag& v) const { return v.on ? "1" : "0"; }
  std::string show(const Relop& v) const { return std::string(relop_text(v)); }
  std::string show(const SetOp& v) const { return std::string(setop_text(v)); }
  std::string show(const Block& b) const {
    std::string text = array(b.array) + "[";
    for (std::size_t d = 0; d < b.entries.size(); ++d) {
      const RefEntry& e = b.entries[d];
      text += d > 0 ? "," : "";
      text += e.as_simple ? "(index)" : "";
      text += e.index == no_index ? "*" : index(e.index);
    }
    return fmt::format("{}]:{}", text, intent_text(b.intent));
  }
  std::string show(const Region& r) const {
    std::string text = array(r.array) + "[";
    for (std::size_t d = 0; d < r.lo.size(); ++d)
      text += fmt::format("{}{}:{}", d > 0 ? "," : "", int_register(r.lo[d]), int_register(r.hi[d]));
    return fmt::format("{}]:{}", text, intent_text(r.intent));
  }
  std::string show(const ScalarArg& v) const {
    return fmt::format("{}:{}", scalar_register(v.slot), intent_text(v.intent));
  }
  std::string show(const ArrayArg& v) const { return fmt::format("{}:{}", array(v.array), intent_text(v.intent)); }
  std::string show(const RealArg& v) const { return fmt::format("{}:{}", v.value, intent_text(v.intent)); }
  std::string show(const IntArg& v) const { return fmt::format("{}:{}", v.value, intent_text(v.intent)); }

  const Program& p_;
  std::string out_;
};

}  // namespace

std::string print(const Program& program) { return Printer(program).text(); }

std::string head(const Program& program, const Node& node) { return Printer(program).head(node); }

}  // namespace sial::ir
