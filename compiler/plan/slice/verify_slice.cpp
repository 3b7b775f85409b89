#include "compiler/plan/slice/verify_slice.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "compiler/analysis/alias.h"
#include "compiler/analysis/calls.h"
#include "runtime/core/base/check.h"

namespace sial::plan {
namespace {

using namespace sial::analysis;

/// Follows the slice through its loop as look-ahead does, with the registers that it does not know: those that an
/// instruction writes which it passes over. Reading one is the violation.
class SliceVerifier {
 public:
  SliceVerifier(const ir::Program& p, const Slice& slice, Summaries& summaries)
      : p_(p), slice_(slice), summaries_(summaries) {}

  void run(const ir::Node* root) {
    SIAL_CHECK(root != nullptr && std::holds_alternative<ir::Loop>(root->value),
               "plan: slice of node {}, which is no loop", slice_.loop);
    region_ = summaries_.of_node(*root);
    require(!region_.barrier && !region_.collective, *root, "a slice spans a place where ranks meet");
    collect(*root);
    for (const auto& [id, action] : slice_.actions) {
      SIAL_CHECK(inside_.contains(id), "plan: slice of node {}: node {} is not part of its loop", slice_.loop, id);
      permitted(*inside_.at(id), action);
    }
    Unknown unknown;
    loop(*root, std::get<ir::Loop>(root->value), unknown);
  }

 private:
  using Unknown = std::set<std::pair<bool, std::int32_t>>;  // (scalar, register)

  void require(bool condition, const ir::Node& n, const std::string& rule) const {
    SIAL_CHECK(condition, "plan: slice of node {}: node {} at {}:{}:{}: {}", slice_.loop, n.id,
               p_.files.at(static_cast<std::size_t>(n.place.file)), n.place.line, n.place.column, rule);
  }

  std::optional<SliceAction> action(const ir::Node& n) const {
    const auto at = slice_.actions.find(n.id);
    return at == slice_.actions.end() ? std::nullopt : std::optional(at->second);
  }

  void collect(const ir::Node& n) {
    inside_[n.id] = &n;
    if (const auto* i = std::get_if<ir::Instr>(&n.value)) {
      if (i->op != Opcode::call) return;
      const std::int32_t proc = std::get<ir::ProcId>(i->operands[0]).row;
      if (procs_.insert(proc).second) collect(p_.procs[static_cast<std::size_t>(proc)].body);
    } else if (const auto* l = std::get_if<ir::Loop>(&n.value)) {
      for (const ir::Where& w : l->wheres) collect(w.code);
      collect(l->body);
    } else if (const auto* b = std::get_if<ir::If>(&n.value)) {
      collect(b->then_body);
      collect(b->else_body);
    } else {
      collect(std::get<ir::Section>(n.value).body);
    }
  }
  void collect(const ir::Body& body) {
    for (const ir::Node& n : body) collect(n);
  }

  /// Checks that shadow registers allow the node: arithmetic, control, and elements of statics that the loop does not
  /// write.
  void permitted(const ir::Node& n, SliceAction a) const {
    const auto* i = std::get_if<ir::Instr>(&n.value);
    if (i == nullptr) {
      require(a != SliceAction::fetch && a != SliceAction::put, n, "a loop or if is fetched");
      return;
    }
    if (a == SliceAction::fetch)
      require(op_class(i->op) == OpClass::fetch, n, fmt::format("`{}` is fetched", opcode_info(i->op)->name));
    if (a == SliceAction::put)
      require(op_class(i->op) == OpClass::put, n, fmt::format("`{}` is foreseen as a put", opcode_info(i->op)->name));
    if (a != SliceAction::run) return;
    require(has(i->op, op::look_ahead), n, fmt::format("look-ahead runs `{}`", opcode_info(i->op)->name));
    if (i->op != Opcode::real_element) return;
    const ArrayId array = std::get<ir::Block>(i->operands[1]).array;
    require(p_.arrays[array.at()].kind == ArrayKind::static_ && !region_.may_write(p_, array), n,
            fmt::format("look-ahead reads `{}`, which is no static or is written in the loop", array_name(p_, array)));
  }

  static void invalidate(const Summary& s, Unknown& unknown) {
    for (const std::int32_t r : s.ints_written) unknown.insert({false, r});
    for (const std::int32_t r : s.scalars_written) unknown.insert({true, r});
  }

  void known(bool scalar, std::int32_t reg, const ir::Node& n, const Unknown& unknown) const {
    require(!unknown.contains({scalar, reg}), n,
            fmt::format("look-ahead needs {} register {}, which it has not computed", scalar ? "scalar" : "int", reg));
  }

  /// False: look-ahead does not come past it.
  bool body(const ir::Body& nodes, Unknown& unknown) {
    for (std::size_t k = 0; k < nodes.size(); ++k) {
      if (action(nodes[k]) == SliceAction::fetch) not_put_before(nodes, k);
      if (!node(nodes[k], unknown)) return false;
    }
    return true;
  }

  /// The block that is asked for is not one that the statements just before it put.
  void not_put_before(const ir::Body& nodes, std::size_t at) const {
    const ir::Block& wanted = std::get<ir::Block>(std::get<ir::Instr>(nodes[at].value).operands[0]);
    for (std::size_t k = 0; k < at; ++k) {
      const auto* i = std::get_if<ir::Instr>(&nodes[k].value);
      if (i == nullptr || op_class(i->op) != OpClass::put) continue;
      const auto* target = std::get_if<ir::Block>(&i->operands[0]);
      require(target == nullptr || same_block(p_, *target, wanted) != Alias::must, nodes[at],
              "look-ahead asks for a block that was put just before");
    }
  }

  bool node(const ir::Node& n, Unknown& unknown) {
    if (++steps_ > max_steps) return false;
    const std::optional<SliceAction> a = action(n);
    if (a == SliceAction::stop || a == SliceAction::abandon) return false;
    if (const auto* i = std::get_if<ir::Instr>(&n.value)) return instr(n, *i, a, unknown);
    if (!a) {  // passed over
      invalidate(summaries_.of_node(n), unknown);
      return true;
    }
    if (const auto* l = std::get_if<ir::Loop>(&n.value)) {
      loop(n, *l, unknown);
      return true;
    }
    if (const auto* b = std::get_if<ir::If>(&n.value)) {
      known(false, b->condition, n, unknown);
      Unknown other = unknown;
      const bool first = body(b->then_body, unknown), second = body(b->else_body, other);
      if (first && second) unknown.insert(other.begin(), other.end());
      else if (second) unknown = std::move(other);
      return first || second;
    }
    return body(std::get<ir::Section>(n.value).body, unknown);
  }

  bool instr(const ir::Node& n, const ir::Instr& i, std::optional<SliceAction> a, Unknown& unknown) {
    if (a != SliceAction::run) {
      invalidate(summaries_.of_instr(i), unknown);  // a call's procedure included
      for (const RegisterUse& r : register_uses(i))
        if (r.write) unknown.insert({r.scalar, r.reg});
      return true;
    }
    if (i.op == Opcode::ret && returned_ != nullptr) {
      if (*returned_) (*returned_)->insert(unknown.begin(), unknown.end());
      else *returned_ = unknown;
    }
    if (i.op == Opcode::ret || i.op == Opcode::exit_loop) return false;  // who comes after knows what was known before
    if (i.op == Opcode::call) {
      std::optional<Unknown> returned;
      std::optional<Unknown>* const outer = std::exchange(returned_, &returned);
      const bool through =
          body(p_.procs[static_cast<std::size_t>(std::get<ir::ProcId>(i.operands[0]).row)].body, unknown);
      returned_ = outer;
      if (through && returned) unknown.insert(returned->begin(), returned->end());
      else if (returned) unknown = std::move(*returned);
      return through || returned.has_value();  // neither: look-ahead gives the iteration up in there
    }
    const std::vector<RegisterUse> uses = register_uses(i);
    for (const RegisterUse& r : uses)
      if (r.read) known(r.scalar, r.reg, n, unknown);
    for (const RegisterUse& r : uses)
      if (r.write) unknown.erase({r.scalar, r.reg});
    return true;
  }

  void loop(const ir::Node&, const ir::Loop& l, Unknown& unknown) {
    for (;;) {
      Unknown iteration = unknown;
      bool goes_on = true;
      for (const ir::Where& w : l.wheres) {
        goes_on = goes_on && body(w.code, iteration);
        if (goes_on) known(false, w.condition, w.code.empty() ? *inside_.at(slice_.loop) : w.code.back(), iteration);
      }
      if (goes_on) goes_on = body(l.body, iteration);
      const std::size_t n = unknown.size();
      if (goes_on) unknown.insert(iteration.begin(), iteration.end());
      if (unknown.size() == n || steps_ > max_steps) return;
    }
  }

  static constexpr std::int64_t max_steps =
      500'000;  // nodes followed; what lies beyond is checked by the rules above only
  const ir::Program& p_;
  const Slice& slice_;
  Summaries& summaries_;
  Summary region_;
  std::map<ir::NodeId, const ir::Node*> inside_;
  std::set<std::int32_t> procs_;
  std::optional<Unknown>* returned_ = nullptr;  // what is unknown where the procedure being followed returns
  std::int64_t steps_ = 0;
};

}  // namespace

void verify_slices(const ir::Program& program, const std::vector<Slice>& slices) {
  std::map<ir::NodeId, const ir::Node*> loops;
  for (const Slice& s : slices) loops[s.loop] = nullptr;
  visit(program, [&](const ir::Node& n, const Path&) {
    if (const auto at = loops.find(n.id); at != loops.end()) at->second = &n;
  });
  Summaries summaries(program);
  for (const Slice& s : slices) SliceVerifier(program, s, summaries).run(loops.at(s.loop));
}

}  // namespace sial::plan
