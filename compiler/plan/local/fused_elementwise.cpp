#include "compiler/plan/local/fused_elementwise.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "compiler/plan/local/local.h"
#include "compiler/sema/super_table.h"

// Why it is right. `fused n` changes nothing by itself: the n instructions after it are those of the program, in their
// order. They compute on registers or work on the same block of this rank, so nobody else can see how far they have
// come. The interpreter looks at the operands of each in turn, with the errors of each at its place, and carries out in
// one pass what then turns out to be element by element: every element goes through the same operations in the same
// order, with the same roundings. Where an operand lies in the target's memory otherwise than the target itself, the
// pass ends before it and the statement runs alone. Temps that are freed between the statements are freed after them:
// nothing of the run makes a block but its first statement.

namespace sial::plan {
namespace {

class Fuse {
 public:
  Fuse(Local& l, ir::Body& body, const analysis::Path& path) : l_(l), body_(body), path_(path) {}

  void run() {
    for (std::size_t at = 0; at < body_.size(); ++at)
      if (const ir::Block* target = target_of(body_[at])) at = fuse_from(at, *target);
  }

 private:
  /// The block that the statement works on element by element.
  const ir::Block* target_of(const ir::Node& n) const {
    const ir::Instr* i = instr_of(n);
    if (i == nullptr) return nullptr;
    const ir::Block* target = i->op == Opcode::execute      ? element_form(*i)
                              : has(i->op, op::elementwise) ? block_of(*i, 0)
                                                            : nullptr;
    if (target == nullptr || analysis::is_part(l_.program(), *target) || !distinct_labels(*target)) return nullptr;
    if (i->op == Opcode::execute) return target;
    for (std::size_t k = 1; k < i->operands.size(); ++k)
      if (const ir::Block* b = block_of(*i, k); b != nullptr && !same_labels(*target, *b)) return nullptr;
    return target;
  }

  const ir::Block* element_form(const ir::Instr& i) const {
    const SpecialRow& special =
        l_.program().specials[static_cast<std::size_t>(std::get<ir::SpecialId>(i.operands[0]).row)];
    const ir::Block* target = block_of(i, 1);
    if (target == nullptr || target->intent != Intent::update || !has_element_form(special.name)) return nullptr;
    for (std::size_t k = 2; k < i.operands.size(); ++k) {
      if (const ir::Block* b = block_of(i, k); b != nullptr && b->array == target->array) return nullptr;
      if (const auto* a = std::get_if<ir::ArrayArg>(&i.operands[k]); a != nullptr && a->array == target->array)
        return nullptr;
    }
    return target;
  }

  /// Whether the node may stand between two statements of a run.
  bool passes_by(const ir::Node& n, const ir::Block& target) const {
    const ir::Instr* i = instr_of(n);
    if (i == nullptr) return false;
    if (i->op == Opcode::free_block) return block_of(*i, 0)->array != target.array;
    return has(i->op, op::fusible);
  }

  /// Marks the run that begins at body_[first], if it is one. The position of its last instruction, or `first`.
  std::size_t fuse_from(std::size_t first, ir::Block target) {
    std::size_t last = first, statements = 1;
    for (std::size_t k = first + 1; k < body_.size(); ++k) {
      const ir::Block* next = target_of(body_[k]);
      if (next != nullptr && same_reference(*next, target)) {
        last = k;
        ++statements;
      } else if (!passes_by(body_[k], target)) {
        missed(first, target, k);
        break;
      }
    }
    if (statements == 1) return first;
    const auto begin = body_.begin() + static_cast<std::ptrdiff_t>(first),
               end = body_.begin() + static_cast<std::ptrdiff_t>(last) + 1;
    const auto freed =
        std::stable_partition(begin, end, [](const ir::Node& n) { return instr_of(n)->op != Opcode::free_block; });
    const auto count = static_cast<std::int32_t>(freed - begin);
    const std::int32_t last_line = (freed - 1)->place.line;
    l_.remark(RemarkKind::passed, "one-pass", body_[first], path_, target,
              fmt::format("{} statements on {} up to line {} run as one pass over its memory", statements,
                          l_.text(target), last_line),
              {}, 2.0 * static_cast<double>(statements - 1));
    const SourcePlace place = body_[first].place;
    body_.insert(begin, l_.make(place, Opcode::fused, {ir::Imm{count}}));
    return last + 1;
  }

  /// body_[k] ends the run: worth a remark where the block is worked on right after it.
  void missed(std::size_t first, const ir::Block& target, std::size_t k) {
    const ir::Instr* i = instr_of(body_[k]);
    if (i == nullptr || i->op == Opcode::call || k + 1 >= body_.size()) return;
    const ir::Block* after = target_of(body_[k + 1]);
    if (after == nullptr || !same_reference(*after, target) || l_.touches(body_[k], target.array)) return;
    l_.remark(
        RemarkKind::missed, "pass-interrupted", body_[first], path_, target,
        fmt::format("what is done to {} here and at line {} takes a pass over its memory each: line {} stands between",
                    l_.text(target), body_[k + 1].place.line, body_[k].place.line),
        "move the statement in front of or behind them", 2.0);
  }

  Local& l_;
  ir::Body& body_;
  const analysis::Path& path_;
};

}  // namespace

void fuse_elementwise(ir::Program& program, Plan& plan) {
  Local l(program, plan, "fused-elementwise");
  analysis::for_each_body(program, [&](ir::Body& body, const analysis::Path& path) { Fuse(l, body, path).run(); });
}

}  // namespace sial::plan
