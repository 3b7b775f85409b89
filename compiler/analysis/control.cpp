#include "compiler/analysis/control.h"

#include <algorithm>
#include <set>

namespace sial::analysis {
namespace {

bool reads_data(const ir::Instr& i) {
  switch (op_class(i.op)) {
    case OpClass::execute:
    case OpClass::persist:
    case OpClass::sync: return true;
    case OpClass::scalar: return uses_blocks(i.op);
    default: return false;
  }
}

}  // namespace

struct Control::Builder {
  const ir::Program& p;
  Control& out;
  bool changed = false;
  std::set<std::pair<bool, std::int32_t>> needed{}, dirty{};  // registers: temporaries of the statement at hand

  bool declared(bool scalar, std::int32_t reg) const {
    return static_cast<std::size_t>(reg) < (scalar ? p.scalars.size() : p.ints.size());
  }

  void mark(std::vector<char>& flags, std::int32_t k) {
    if (flags[static_cast<std::size_t>(k)]) return;
    flags[static_cast<std::size_t>(k)] = 1;
    changed = true;
  }

  // ---- what decides: backwards
  void need(bool scalar, std::int32_t reg) {
    if (declared(scalar, reg)) mark(scalar ? out.scalars_ : out.ints_, reg);
    else needed.insert({scalar, reg});
  }

  void backwards(const ir::Body& nodes) {
    for (auto n = nodes.rbegin(); n != nodes.rend(); ++n) {
      if (const auto* i = std::get_if<ir::Instr>(&n->value)) {
        bool decides = false;
        const std::vector<RegisterUse> uses = register_uses(*i);
        for (const RegisterUse& r : uses) {
          if (!r.write) continue;
          if (declared(r.scalar, r.reg))
            decides = decides || (r.scalar ? out.scalars_ : out.ints_)[static_cast<std::size_t>(r.reg)];
          else decides = needed.erase({r.scalar, r.reg}) > 0 || decides;
        }
        if (!decides) continue;
        out.decides_[static_cast<std::size_t>(n->id)] = 1;
        for (const RegisterUse& r : uses)
          if (r.read) need(r.scalar, r.reg);
        continue;
      }
      needed.clear();
      if (const auto* l = std::get_if<ir::Loop>(&n->value)) {
        backwards(l->body);
        for (auto w = l->wheres.rbegin(); w != l->wheres.rend(); ++w) {
          needed.clear();
          need(false, w->condition);
          backwards(w->code);
        }
        needed.clear();
      } else if (const auto* b = std::get_if<ir::If>(&n->value)) {
        backwards(b->then_body);
        needed.clear();
        backwards(b->else_body);
        needed.clear();
        need(false, b->condition);
      } else {
        backwards(std::get<ir::Section>(n->value).body);
        needed.clear();
      }
    }
  }

  // ---- what depends on data: forwards
  bool is_dirty(bool scalar, std::int32_t reg) const {
    if (declared(scalar, reg))
      return (scalar ? out.tainted_scalars_ : out.tainted_ints_)[static_cast<std::size_t>(reg)];
    return dirty.contains({scalar, reg});
  }

  void forwards(const ir::Body& nodes) {
    for (const ir::Node& n : nodes) {
      if (const auto* i = std::get_if<ir::Instr>(&n.value)) {
        bool taints = reads_data(*i);
        const std::vector<RegisterUse> uses = register_uses(*i);
        for (const RegisterUse& r : uses) taints = taints || (r.read && is_dirty(r.scalar, r.reg));
        for (const RegisterUse& r : uses) {
          if (!r.write) continue;
          if (declared(r.scalar, r.reg)) {
            if (taints) mark(r.scalar ? out.tainted_scalars_ : out.tainted_ints_, r.reg);
          } else if (taints) {
            dirty.insert({r.scalar, r.reg});
          } else {
            dirty.erase({r.scalar, r.reg});
          }
        }
      } else if (const auto* l = std::get_if<ir::Loop>(&n.value)) {
        for (const ir::Where& w : l->wheres) {
          forwards(w.code);
          if (is_dirty(false, w.condition)) mark(out.tainted_, n.id);
        }
        forwards(l->body);
      } else if (const auto* b = std::get_if<ir::If>(&n.value)) {
        if (is_dirty(false, b->condition)) mark(out.tainted_, n.id);
        forwards(b->then_body);
        forwards(b->else_body);
      } else {
        forwards(std::get<ir::Section>(n.value).body);
      }
    }
  }

  template <class F>
  void repeat(const F& walk) {
    do {
      changed = false;
      for (const ir::Procedure& q : p.procs) walk(q.body);
      walk(p.main);
      needed.clear();
      dirty.clear();
    } while (changed);
  }
};

Control::Control(const ir::Program& program)
    : decides_(static_cast<std::size_t>(program.n_nodes)),
      tainted_(static_cast<std::size_t>(program.n_nodes)),
      ints_(program.ints.size()),
      scalars_(program.scalars.size()),
      tainted_ints_(program.ints.size()),
      tainted_scalars_(program.scalars.size()) {
  Builder b{program, *this};
  b.repeat([&](const ir::Body& body) { b.backwards(body); });
  b.repeat([&](const ir::Body& body) { b.forwards(body); });
}

}  // namespace sial::analysis
