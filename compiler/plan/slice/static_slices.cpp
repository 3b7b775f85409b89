#include "compiler/plan/slice/static_slices.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "compiler/plan/local/local.h"
#include "compiler/plan/remote/remote_access.h"
#include "runtime/core/base/fault_injection.h"

// Why it is right. The copy is the only statement that writes the temp, every other use reads the very same reference
// after it in the same list of statements (ifs in between are fine: what they read is the same), and nothing from the
// copy to the last of these uses may write the static, by name or through a call. So each use finds in the static what
// it would have found in the temp. The temp is declared over the indices with which it is used; where the slice might
// leave the static's declaration, an `expect` keeps that error. Kernels take any strides, so arithmetic reads slices as
// it reads blocks. Where it would not pay the copy stays: statements in inner loops would gather the strided elements
// again and again, and puts and super instructions want one dense piece of memory anyway.

namespace sial::plan {
namespace {

struct Use {
  const ir::Node* node = nullptr;
  analysis::Path path;
  const ir::Block* block = nullptr;
  bool reads = false, writes = false;
  std::size_t operand = 0;
};

class Slices {
 public:
  Slices(ir::Program& program, Plan& plan)
      : p_(program), plan_(plan), traffic_(program), summaries_(program), uses_(program.arrays.size()) {}

  void run() {
    collect();
    analysis::for_each_body(p_, [&](ir::Body& body, const analysis::Path& path) {
      for (std::size_t k = 0; k < body.size(); ++k) consider(body, k, path);
    });
    if (gone_.empty()) return;
    analysis::for_each_body(p_, [&](ir::Body& body, const analysis::Path&) {
      for (ir::Node& n : body)
        if (auto* i = std::get_if<ir::Instr>(&n.value)) replace(*i);
      std::erase_if(body, [&](const ir::Node& n) { return gone_.contains(n.id) && in_range(p_, slice_of(n)); });
      for (ir::Node& n : body)
        if (gone_.contains(n.id)) n = make_node(p_, n.place, Opcode::expect, {slice_of(n), ir::Flag{false}});
    });
  }

 private:
  void collect() {
    analysis::visit(p_, [&](const ir::Node& n, const analysis::Path& path) {
      const auto* i = std::get_if<ir::Instr>(&n.value);
      if (i == nullptr) return;
      lists_ |= analysis::effects_of(p_, *i).lists_blocks;
      for (const analysis::ArrayUse& u : analysis::array_uses(p_, *i))
        if (p_.arrays[u.array.at()].kind == ArrayKind::temp)
          uses_[u.array.at()].push_back({&n, path, u.block, u.reads(), u.writes(), u.operand});
    });
  }

  void consider(const ir::Body& body, std::size_t k, const analysis::Path& path) {
    const auto* copy = std::get_if<ir::Instr>(&body[k].value);
    if (copy == nullptr || copy->op != Opcode::block_copy) return;
    const auto& temp = std::get<ir::Block>(copy->operands[0]);
    const auto& slice = std::get<ir::Block>(copy->operands[1]);
    if (p_.arrays[temp.array.at()].kind != ArrayKind::temp || p_.arrays[slice.array.at()].kind != ArrayKind::static_)
      return;
    const std::string text = analysis::text_of(p_, temp), from = analysis::text_of(p_, slice);
    const auto missed = [&](std::string name, std::string why, std::string advice) {
      plan_.remarks.push_back({RemarkKind::missed,
                               "static-slices",
                               std::move(name),
                               body[k].place,
                               temp.array,
                               fmt::format("`{}` is copied into `{}`: {}", from, text, why),
                               std::move(advice),
                               bytes_of(p_, temp),
                               {},
                               traffic_.executions(path)});
      plan_.said.insert(statement_key("static-slices", body[k].place));
    };
    if (temp.entries != slice.entries || analysis::is_part(p_, temp) || analysis::is_part(p_, slice)) return;
    if (lists_) return;  // a super instruction shows which blocks exist
    const ArrayRow& row = p_.arrays[temp.array.at()];
    for (std::size_t d = 0; d < temp.entries.size(); ++d)
      if (temp.entries[d].as_simple || temp.entries[d].index != row.dims[d]) return;
    std::size_t last = k;
    const Use* written =
        nullptr;  // a change of this copy, or else another statement that uses the temp for something else
    for (const Use& u : uses_[temp.array.at()]) {
      if (!u.writes || u.node == &body[k]) continue;
      const std::size_t at = position(body, *u.node, u.path, path);
      if (u.reads && at > k && at < body.size())
        return missed("copy-changed",
                      fmt::format("`{}` is changed at {}", text, place_text(p_, u.node->place, body[k].place)),
                      changed_copy_advice);
      if (written == nullptr) written = &u;
    }
    if (written != nullptr)
      return missed(
          "temp-written-elsewhere",
          fmt::format("`{}` is also written at {}", analysis::array_name(p_, temp.array),
                      place_text(p_, written->node->place, body[k].place)),
          "use a temp of its own for this copy: the static array can then be read where it lies, unless an inner loop or a put uses the copy");
    for (const Use& u : uses_[temp.array.at()]) {
      if (u.node == &body[k]) continue;
      if (u.block == nullptr || u.block->entries != temp.entries) return;
      const std::size_t at = position(body, *u.node, u.path, path);
      if (at == body.size() || at < k) return;
      const auto& reader = std::get<ir::Instr>(u.node->value);
      const bool loops = std::any_of(u.path.enclosing.begin() + static_cast<std::ptrdiff_t>(path.enclosing.size()),
                                     u.path.enclosing.end(),
                                     [](const ir::Node* n) { return std::holds_alternative<ir::Loop>(n->value); });
      if (loops)
        return missed("used-in-inner-loop",
                      fmt::format("the loop at {} uses it many times, and a dense copy is faster there",
                                  place_text(p_, body[at].place, body[k].place)),
                      "nothing: the copy is made once for many uses");
      const OpClass c = op_class(reader.op);
      if (c != OpClass::block && c != OpClass::scalar)
        return missed("needs-dense-memory",
                      fmt::format("the statement at {} needs it in one dense piece",
                                  place_text(p_, u.node->place, body[k].place)),
                      fmt::format("where nothing else needs `{}`, compute its values in `{}`", from, text));
      last = std::max(last, at);
    }
    if (last == k) return;  // never read: another pass's business
    if (summaries_.of_range(body, k + 1, last + 1).may_write(p_, slice.array) &&
        !fault_enabled(Fault::static_slice_changes))
      return missed(
          "static-changed",
          fmt::format("`{}` may be changed before the last use of the copy", analysis::array_name(p_, slice.array)),
          "change the static array behind the last use");
    gone_.insert(body[k].id);
    instead_[temp.array] = slice;
    plan_.remarks.push_back({RemarkKind::passed,
                             "static-slices",
                             "in-place",
                             body[k].place,
                             temp.array,
                             fmt::format("`{}` is read where it lies instead of being copied into `{}`", from, text),
                             "",
                             bytes_of(p_, temp),
                             {},
                             traffic_.executions(path)});
  }

  /// The position in the list of the statement, or of its container; body.size(): elsewhere.
  static std::size_t position(const ir::Body& body, const ir::Node& node, const analysis::Path& path,
                              const analysis::Path& list) {
    if (path.proc != list.proc || path.in_where || path.enclosing.size() < list.enclosing.size()) return body.size();
    const ir::Node* at = path.enclosing.size() == list.enclosing.size() ? &node : path.enclosing[list.enclosing.size()];
    for (std::size_t k = 0; k < body.size(); ++k)
      if (&body[k] == at) return k;
    return body.size();
  }

  static const ir::Block& slice_of(const ir::Node& copy) {
    return std::get<ir::Block>(std::get<ir::Instr>(copy.value).operands[1]);
  }

  void replace(ir::Instr& i) const {
    for (ir::Operand& o : i.operands)
      if (auto* b = std::get_if<ir::Block>(&o)) {
        const auto found = instead_.find(b->array);
        if (found == instead_.end() || b->intent != Intent::read) continue;
        *b = found->second;
      }
  }

  ir::Program& p_;
  Plan& plan_;
  Traffic traffic_;
  analysis::Summaries summaries_;
  std::vector<std::vector<Use>> uses_;  // by array
  bool lists_ = false;
  std::set<ir::NodeId> gone_;
  std::map<ArrayId, ir::Block> instead_;  // by temp
};

}  // namespace

void read_slices_in_place(ir::Program& program, Plan& plan) { Slices(program, plan).run(); }

}  // namespace sial::plan
