#include <fmt/format.h>

#include <iterator>

#include "runtime/core/bytecode/layout.h"
#include "runtime/core/bytecode/write.h"

namespace sial {
namespace {

std::string quoted(const std::string& s) {
  std::string out = "\"";
  for (const char c : s) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else out += c;
  }
  return out + "\"";
}

// The listing of a verified module.
class Listing {
 public:
  explicit Listing(const Module& m) : m_(m) {}

  std::string text() {
    line("program {}", m_.program);
    line("producer {}, -O{}", m_.producer, m_.optimisation);
    line("sources {}", m_.source_hash);
    if (!m_.kept.empty()) line("kept {}", fmt::join(m_.kept, ", "));
    line("registers {} int, {} scalar", m_.n_int_registers, m_.n_scalar_registers);
    tables();
    code();
    plan();
    return std::move(out_);
  }

 private:
  template <class... Args>
  void line(fmt::format_string<Args...> text, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), text, std::forward<Args>(args)...);
    out_ += '\n';
  }

  template <class Rows, class Show>
  void rows(const char* title, const Rows& table, Show show) {
    if (table.empty()) return;
    line("\n{}", title);
    for (std::size_t i = 0; i < table.size(); ++i) line("{:6} {}", i, show(table[i]));
  }

  void tables() {
    rows("files", m_.files, quoted);
    rows("ints", m_.ints, [](const IntVar& v) {
      return v.predefined ? v.name + " predefined" : fmt::format("{} = {}", v.name, v.initial);
    });
    rows("scalars", m_.scalars, [](const ScalarVar& v) {
      return v.predefined ? v.name + " predefined" : fmt::format("{} = {}", v.name, v.initial);
    });
    rows("indices", m_.indices, [&](const IndexRow& r) {
      if (r.kind == IndexKind::sub) return fmt::format("subindex {} of {}", r.name, m_.indices[r.parent.at()].name);
      return fmt::format("{} {} = {}:{}", index_kind_text(r.kind), r.name, bound_text(m_, r.lo), bound_text(m_, r.hi));
    });
    rows("arrays", m_.arrays, [&](const ArrayRow& r) {
      std::string text = fmt::format("{}{}{} {}[", r.predefined ? "predefined " : "", r.sparse ? "sparse " : "",
                                     array_kind_text(r.kind), r.name);
      for (std::size_t d = 0; d < r.dims.size(); ++d) text += (d > 0 ? "," : "") + m_.indices[r.dims[d].at()].name;
      return text + "]";
    });
    rows("specials", m_.specials,
         [](const SpecialRow& r) { return r.signature.empty() ? r.name : r.name + " " + r.signature; });
    rows("loops", m_.loops, [&](const LoopRow& r) {
      static constexpr const char* kind[] = {"do", "sub", "pardo"};
      std::string text = fmt::format("{} {} begin {} body {} next {} end {}", kind[static_cast<int>(r.kind)],
                                     indices(r), r.begin, r.body, r.next, r.end);
      if (r.n_wheres > 0) text += fmt::format(", {} where", r.n_wheres);
      if (r.pragma >= 0) text += ", pragma " + quoted(m_.strings[r.pragma]);
      if (r.rank_dependence != RankDependence::none)
        text += fmt::format(", {}", rank_dependence_text(r.rank_dependence));
      return text;
    });
    rows("strings", m_.strings, quoted);
  }

  void plan() {
    rows("slices", m_.slices, [](const SliceRow& r) {
      static constexpr const char* names[] = {"", "run", "fetch", "stop", "abandon", "put"};
      std::string text = fmt::format("loop {}:", r.loop);
      for (const SliceStep& s : r.steps) text += fmt::format(" @{} {}", s.pc, names[static_cast<int>(s.action)]);
      return text;
    });
    rows("remarks", m_.remarks, [&](const RemarkRow& r) {
      static constexpr const char* kinds[] = {"passed", "missed", "analysis"};
      std::string text = fmt::format("{}:{}:{} {} {}/{}", m_.files[r.place.file], r.place.line, r.place.column,
                                     kinds[static_cast<int>(r.kind)], r.pass, r.name);
      if (r.array != no_array) text += " " + m_.arrays[r.array.at()].name;
      text += ": " + quoted(r.text);
      if (!r.advice.empty()) text += ", advice " + quoted(r.advice);
      for (const auto& [what, cost] :
           {std::pair{"bytes", &r.bytes}, std::pair{"flops", &r.flops}, std::pair{"executions", &r.executions}})
        if (!cost->is_zero()) text += fmt::format(", {} {}", what, cost_text(*cost, m_.indices));
      return text;
    });
  }

  void code() {
    out_ += "\ncode\n";
    std::vector<std::string> heads(m_.code.size());
    heads[m_.main_entry] = "main:";
    for (const ProcRow& p : m_.procs) heads[p.entry] = "proc " + p.name + ":";
    int depth = 1;
    for (std::size_t pc = 0; pc < m_.code.size(); ++pc) {
      if (!heads[pc].empty()) {
        line("{}", heads[pc]);
        depth = 1;
      }
      const Instruction& i = m_.code[pc];
      if (ends_loop(i.op)) --depth;
      const std::string text = std::string(2 * static_cast<std::size_t>(depth), ' ') + instruction(i);
      const SourcePlace& p = m_.places[pc];
      line("{:6}{:<58} # {}:{}:{}", pc, text, m_.files[p.file], p.line, p.column);
      if (begins_loop(i.op)) ++depth;
    }
  }

  std::string indices(const LoopRow& r) const {
    std::string text;
    for (std::size_t i = 0; i < r.indices.size(); ++i) text += (i > 0 ? "," : "") + m_.indices[r.indices[i].at()].name;
    return text;
  }

  std::string argument(const ArgRow& a) const {
    switch (a.kind) {
      case ArgKind::block: return ref_text(m_, m_.refs[a.id]);
      case ArgKind::region: return region_text(m_, m_.regions[a.id]);
      case ArgKind::scalar: return m_.scalars[a.id].name;
      case ArgKind::array: return m_.arrays[a.id].name;
      case ArgKind::real_literal: return fmt::format("{}", m_.reals[a.id]);
      case ArgKind::int_literal: break;
    }
    return fmt::format("{}", a.id);
  }

  std::string operand(OperandKind kind, std::int32_t value) const {
    switch (kind) {
      case OperandKind::iin:
      case OperandKind::iout:
      case OperandKind::ivar: return int_register_text(m_, value);
      case OperandKind::sin:
      case OperandKind::sout:
      case OperandKind::svar: return scalar_register_text(m_, value);
      case OperandKind::real: return fmt::format("{}", m_.reals[value]);
      case OperandKind::str:
      case OperandKind::ostr: return value < 0 ? "-" : quoted(m_.strings[value]);
      case OperandKind::label: return fmt::format("@{}", value);
      case OperandKind::loop: return fmt::format("loop {} ({})", value, indices(m_.loops[value]));
      case OperandKind::proc: return m_.procs[value].name;
      case OperandKind::index: return m_.indices[value].name;
      case OperandKind::array: return m_.arrays[value].name;
      case OperandKind::ref:
        return fmt::format("{}:{}", ref_text(m_, m_.refs[value]), intent_text(m_.refs[value].intent)[0]);
      case OperandKind::region:
        return fmt::format("{}:{}", region_text(m_, m_.regions[value]), intent_text(m_.regions[value].intent)[0]);
      case OperandKind::special: return m_.specials[value].name;
      case OperandKind::relop: return std::string(relop_text(static_cast<Relop>(value)));
      case OperandKind::setop: return std::string(setop_text(static_cast<SetOp>(value)));
      default: return fmt::format("{}", value);
    }
  }

  std::string instruction(const Instruction& i) const {
    std::string text(opcode_info(i.op)->name);
    if (i.op == Opcode::execute) {
      text += " " + m_.specials[i.a].name;
      for (std::int32_t k = 0; k < i.c; ++k)
        text += fmt::format(" {}:{}", argument(m_.args[i.b + k]), intent_text(m_.args[i.b + k].intent)[0]);
      return text;
    }
    const auto values = operands_of(i);
    const char* separator = " ";
    for (int p = 0; p < 4; ++p) {
      const OperandKind kind = opcode_info(i.op)->operands[p];
      if (kind == OperandKind::none) continue;
      text += separator;
      text += kind == OperandKind::arg ? argument(m_.args[values[p]]) : operand(kind, values[p]);
      separator = ", ";
    }
    return text;
  }

  const Module& m_;
  std::string out_;
};

}  // namespace

std::string disassemble(const Module& module) { return Listing(module).text(); }

}  // namespace sial
