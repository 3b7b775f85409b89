#include "compiler/emit/emit.h"

#include <algorithm>
#include <bit>
#include <map>
#include <string_view>

#include "runtime/core/base/check.h"
#include "runtime/core/bytecode/read.h"

namespace sial {
namespace {

// Rows of a pool without repetition.
template <class Key, class Row>
class Pool {
 public:
  explicit Pool(std::vector<Row>& rows) : rows_(rows) {}
  template <class Make>
  std::int32_t add(const Key& key, Make make) {
    const auto [it, inserted] = known_.try_emplace(key, static_cast<std::int32_t>(rows_.size()));
    if (inserted) rows_.push_back(make());
    return it->second;
  }

 private:
  std::vector<Row>& rows_;
  std::map<Key, std::int32_t> known_;
};

class Emission {
 public:
  Emission(const ir::Program& p, const plan::Plan& plan, const EmitInfo& info) : p_(p), plan_(plan) {
    m_.program = p.name;
    m_.producer = info.producer;
    m_.source_hash = info.source_hash;
    m_.optimisation = info.optimisation;
    m_.kept = info.kept;
    m_.files = p.files;
    m_.ints = p.ints;
    m_.scalars = p.scalars;
    m_.n_int_registers = p.n_int_registers;
    m_.n_scalar_registers = p.n_scalar_registers;
    m_.indices = p.indices;
    m_.arrays = p.arrays;
    m_.specials = p.specials;
  }

  Module run() {
    m_.main_entry = 0;
    body(p_.main);
    add(Opcode::halt, {}, p_.end);
    for (const ir::Procedure& proc : p_.procs) {
      ProcRow row{proc.name, pc(), 0};
      body(proc.body);
      add(Opcode::ret, {}, proc.end);
      row.end = pc();
      m_.procs.push_back(std::move(row));
    }
    m_.remarks = plan_.remarks;
    slices();
    leave_out_large_slices();
    return std::move(m_);
  }

 private:
  /// A slice only makes the program faster: one that the check of modules has no time for is left out, and said.
  void leave_out_large_slices() {
    const std::vector<std::size_t> large = slices_too_large(m_);
    for (auto s = large.rbegin(); s != large.rend(); ++s) {
      for (const SliceStep& step : m_.slices[*s].steps)
        if (step.action == SliceAction::fetch) not_fetched_ahead(m_.places[static_cast<std::size_t>(step.pc)]);
      m_.slices.erase(m_.slices.begin() + static_cast<std::ptrdiff_t>(*s));
    }
  }

  void not_fetched_ahead(const SourcePlace& get) {
    constexpr std::string_view said = " is fetched ahead";
    for (RemarkRow& row : m_.remarks) {
      const std::size_t at = row.text.find(said);
      if (row.name != "prefetched" || !(row.place == get) || at == std::string::npos) continue;
      row.kind = RemarkKind::missed;
      row.name = "slice-too-large";
      row.text = row.text.substr(0, at) +
                 " is not fetched ahead: what decides about the gets of its loop is too large to be run ahead";
      row.advice = "get in a loop of its own, with fewer statements and variables";
    }
  }

  void slices() {
    std::vector<std::vector<std::int32_t>> code_of_node(plan_.slices.empty() ? 0
                                                                             : static_cast<std::size_t>(p_.n_nodes));
    if (!code_of_node.empty())
      for (std::size_t at = 0; at < node_of_code_.size(); ++at)
        if (node_of_code_[at] >= 0)
          code_of_node[static_cast<std::size_t>(node_of_code_[at])].push_back(static_cast<std::int32_t>(at));
    for (const plan::Slice& s : plan_.slices) {
      const auto loop = loop_of_node_.find(s.loop);
      SIAL_CHECK(loop != loop_of_node_.end(), "the slice of node {}, which is no loop", s.loop);
      SliceRow row{loop->second, {}};
      for (const auto& [node, action] : s.actions)
        for (const std::int32_t at : code_of_node[static_cast<std::size_t>(node)]) row.steps.push_back({at, action});
      std::sort(row.steps.begin(), row.steps.end(), [](const SliceStep& a, const SliceStep& b) { return a.pc < b.pc; });
      m_.slices.push_back(std::move(row));
    }
  }

  std::int32_t pc() const { return static_cast<std::int32_t>(m_.code.size()); }

  std::int32_t add(Opcode op, std::array<std::int32_t, 4> operands, const SourcePlace& place) {
    m_.code.push_back({op, operands[0], operands[1], operands[2], operands[3]});
    m_.places.push_back(place);
    node_of_code_.push_back(node_);
    return pc() - 1;
  }

  void body(const ir::Body& nodes) {
    const ir::NodeId outer = node_;
    for (const ir::Node& n : nodes) {
      node_ = n.id;
      std::visit([&](const auto& v) { node(n, v); }, n.value);
    }
    node_ = outer;
  }

  void node(const ir::Node& n, const ir::Loop& l) {
    struct Codes {
      Opcode begin, next;
    };
    static constexpr Codes codes[] = {{Opcode::do_begin, Opcode::do_next},
                                      {Opcode::sub_begin, Opcode::sub_next},
                                      {Opcode::pardo_begin, Opcode::pardo_next}};
    const Codes code = codes[static_cast<int>(l.kind)];
    const auto id = static_cast<std::int32_t>(m_.loops.size());
    LoopRow row{l.kind,
                l.indices,
                pc(),
                0,
                0,
                0,
                static_cast<std::int32_t>(l.wheres.size()),
                l.pragma.empty() ? -1 : text(l.pragma),
                l.rank_dependence};
    m_.loops.push_back({});
    loop_of_node_[n.id] = id;
    const std::int32_t outer = loop_;
    loop_ = id;
    add(code.begin, {id}, n.place);
    for (const ir::Where& w : l.wheres) {
      body(w.code);
      add(Opcode::where, {w.condition, id}, w.place);
    }
    row.body = add(Opcode::body_begin, {id}, n.place);
    body(l.body);
    row.next = add(code.next, {id}, l.end);
    row.end = pc();
    m_.loops[static_cast<std::size_t>(id)] = std::move(row);
    loop_ = outer;
  }

  void node(const ir::Node& n, const ir::If& i) {
    const std::int32_t test = add(Opcode::jump_unless, {i.condition, 0}, n.place);
    body(i.then_body);
    if (!i.else_body.empty()) {
      const std::int32_t skip = add(Opcode::jump, {0}, n.place);
      m_.code[static_cast<std::size_t>(test)].b = pc();
      body(i.else_body);
      m_.code[static_cast<std::size_t>(skip)].a = pc();
    } else {
      m_.code[static_cast<std::size_t>(test)].b = pc();
    }
  }

  void node(const ir::Node& n, const ir::Section& s) {
    add(Opcode::section_begin, {}, n.place);
    body(s.body);
    add(Opcode::section_end, {}, s.end);
  }

  void node(const ir::Node& n, const ir::Instr& i) {
    switch (i.op) {
      case Opcode::exit_loop: add(i.op, {loop_}, n.place); return;
      case Opcode::execute: {
        const auto first = static_cast<std::int32_t>(m_.args.size());
        for (std::size_t k = 1; k < i.operands.size(); ++k) m_.args.push_back(argument(i.operands[k]));
        add(i.op, {value(i.operands[0]), first, static_cast<std::int32_t>(i.operands.size()) - 1}, n.place);
        return;
      }
      default: {
        std::array<std::int32_t, 4> operands{};
        if (opcode_info(i.op)->operands[0] == OperandKind::arg) {
          m_.args.push_back(argument(i.operands[0]));
          add(i.op, {static_cast<std::int32_t>(m_.args.size()) - 1}, n.place);
          return;
        }
        if (op_class(i.op) == OpClass::persist) {
          add(i.op, {std::holds_alternative<ArrayId>(i.operands[0]), value(i.operands[0]), value(i.operands[1])},
              n.place);
          return;
        }
        SIAL_CHECK(i.operands.size() <= operands.size(), "{} operands", i.operands.size());
        for (std::size_t k = 0; k < i.operands.size(); ++k) operands[k] = value(i.operands[k]);
        add(i.op, operands, n.place);
      }
    }
  }

  ArgRow argument(const ir::Operand& o) {
    if (const auto* b = std::get_if<ir::Block>(&o)) return {ArgKind::block, value(o), b->intent};
    if (const auto* r = std::get_if<ir::Region>(&o)) return {ArgKind::region, value(o), r->intent};
    if (const auto* s = std::get_if<ir::ScalarArg>(&o)) return {ArgKind::scalar, s->slot, s->intent};
    if (const auto* a = std::get_if<ir::ArrayArg>(&o)) return {ArgKind::array, a->array.number(), a->intent};
    if (const auto* r = std::get_if<ir::RealArg>(&o)) return {ArgKind::real_literal, literal(r->value), r->intent};
    const auto* i = std::get_if<ir::IntArg>(&o);
    SIAL_CHECK(i != nullptr, "operand {} as an argument", o.index());
    return {ArgKind::int_literal, i->value, i->intent};
  }

  std::int32_t value(const ir::Operand& o) {
    return std::visit([&](const auto& v) { return number(v); }, o);
  }
  std::int32_t number(const ir::Imm& v) { return v.value; }
  std::int32_t number(const ir::IntReg& v) { return v.reg; }
  std::int32_t number(const ir::ScalarReg& v) { return v.reg; }
  std::int32_t number(const ir::Real& v) { return literal(v.value); }
  std::int32_t number(const ir::Text& v) { return v.value ? text(*v.value) : -1; }
  std::int32_t number(IndexId v) { return v.number(); }
  std::int32_t number(ArrayId v) { return v.number(); }
  std::int32_t number(const ir::SpecialId& v) { return v.row; }
  std::int32_t number(const ir::ProcId& v) { return v.row; }
  std::int32_t number(const ir::Flag& v) { return v.on; }
  std::int32_t number(Relop v) { return static_cast<std::int32_t>(v); }
  std::int32_t number(SetOp v) { return static_cast<std::int32_t>(v); }
  std::int32_t number(const ir::Block& b) {
    std::vector<std::int32_t> key{b.array.number(), static_cast<std::int32_t>(b.intent)};
    for (const RefEntry& e : b.entries) key.push_back(2 * e.index.number() + (e.as_simple ? 1 : 0));
    return refs_.add(key, [&] { return RefRow{b.array, b.intent, b.entries}; });
  }
  std::int32_t number(const ir::Region& r) {
    std::vector<std::int32_t> key{r.array.number(), static_cast<std::int32_t>(r.intent)};
    key.insert(key.end(), r.lo.begin(), r.lo.end());
    key.insert(key.end(), r.hi.begin(), r.hi.end());
    return regions_.add(key, [&] { return RegionRow{r.array, r.intent, r.lo, r.hi}; });
  }
  template <class T>
  std::int32_t number(const T&) {
    SIAL_CHECK(false, "an argument outside of execute");
  }

  std::int32_t text(const std::string& s) {
    return strings_.add(s, [&] { return s; });
  }
  std::int32_t literal(double x) {
    return reals_.add(std::bit_cast<std::uint64_t>(x), [&] { return x; });
  }

  const ir::Program& p_;
  const plan::Plan& plan_;
  Module m_;
  ir::NodeId node_ = -1;                  // whose instructions are being added; -1: of none
  std::vector<ir::NodeId> node_of_code_;  // per instruction
  std::map<ir::NodeId, std::int32_t> loop_of_node_;
  std::int32_t loop_ = -1;
  Pool<std::string, std::string> strings_{m_.strings};
  Pool<std::uint64_t, double> reals_{m_.reals};
  Pool<std::vector<std::int32_t>, RefRow> refs_{m_.refs};
  Pool<std::vector<std::int32_t>, RegionRow> regions_{m_.regions};
};

}  // namespace

Module emit(const ir::Program& program, const plan::Plan& plan, const EmitInfo& info) {
  return Emission(program, plan, info).run();
}

}  // namespace sial
