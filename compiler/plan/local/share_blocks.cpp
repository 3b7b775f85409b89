#include "compiler/plan/local/share_blocks.h"

#include <optional>

#include <fmt/format.h>

#include "compiler/plan/local/local.h"

// Why it is right. Memory with several holders is never written: a write to an own block takes new memory first (with
// the old value where the statement needs it), the store replaces values that others hold instead of writing them, and
// a fetched block is read-only anyway. So sharing cannot change a value, whatever is written, fetched anew, freed,
// dropped by a barrier or passed to a super instruction later, by this rank or another. What has to hold is that the
// two blocks have their elements in the same order: equal names at equal positions, and what either side has more is
// simple (one element). Blocks in the memory of others (static arrays, contiguous regions, parts of blocks) have no
// memory of their own to share.

namespace sial::plan {
namespace {

bool simple(const ir::Program& p, const RefEntry& e) {
  return e.index != no_index && (e.as_simple || p.indices[e.index.at()].kind == IndexKind::simple);
}

/// Elements correspond in the order of memory.
bool corresponds(const ir::Program& p, const ir::Block& a, const ir::Block& b) {
  std::size_t n = 0;
  while (n < a.entries.size() && n < b.entries.size() && a.entries[n] == b.entries[n]) ++n;
  for (std::size_t d = n; d < a.entries.size(); ++d)
    if (!simple(p, a.entries[d])) return false;
  for (std::size_t d = n; d < b.entries.size(); ++d)
    if (!simple(p, b.entries[d])) return false;
  return true;
}

std::string kind_phrase(ArrayKind kind) {
  return kind == ArrayKind::static_ ? "a static array is one dense piece of memory, of which the block is a part"
                                    : "a contiguous region is one dense piece of memory, of which the block is a part";
}

class Share {
 public:
  Share(Local& l, ir::Body& body, const analysis::Path& path) : l_(l), body_(body), path_(path) {}

  void run() {
    for (std::size_t at = 0; at < body_.size(); ++at) {
      const ir::Instr* i = instr_of(body_[at]);
      if (i == nullptr) continue;
      switch (i->op) {
        case Opcode::block_copy: copy(at, *i); break;
        case Opcode::block_slice:
        case Opcode::block_insert:
          missed(at, *block_of(*i, 0), "part-of-a-block",
                 fmt::format("a part of {} is copied: its elements do not lie together",
                             l_.text(*block_of(*i, i->op == Opcode::block_slice ? 1 : 0))),
                 "");
          break;
        case Opcode::put_block:
          if (setop_of(*i, 2) == SetOp::assign) put(at, *i);
          break;
        default: break;
      }
    }
  }

 private:
  void missed(std::size_t at, const ir::Block& b, std::string_view name, const std::string& text,
              const std::string& advice) {
    l_.remark(RemarkKind::missed, name, body_[at], path_, b, text, advice);
  }

  /// The line of a statement from body_[from] on, this list and those around it up to the innermost loop, that changes
  /// the block and needs its old value; 0: none before it is replaced.
  std::int32_t changed_from(std::size_t from, const ir::Block& b) {
    if (const std::optional<std::int32_t> line = changed_in(body_, from, b)) return *line;
    for (std::size_t depth = path_.enclosing.size(); depth-- > 0;) {
      const ir::Node* around = path_.enclosing[depth];
      if (std::holds_alternative<ir::Loop>(around->value)) break;
      const ir::Body* list = depth == 0 ? top_list() : inside(*path_.enclosing[depth - 1], *around);
      if (list == nullptr) break;
      const auto here = static_cast<std::size_t>(around - list->data());
      if (const std::optional<std::int32_t> line = changed_in(*list, here + 1, b)) return *line;
    }
    return 0;
  }

  /// A line, 0 when the block is replaced first, nothing when the list ends before either.
  std::optional<std::int32_t> changed_in(const ir::Body& list, std::size_t from, const ir::Block& b) {
    for (std::size_t k = from; k < list.size(); ++k) {
      const ir::Instr* i = instr_of(list[k]);
      if (i == nullptr || i->op == Opcode::call) {
        if (const std::int32_t line = changed_within(list[k], b); line > 0) return line;
        continue;
      }
      if (l_.may_update(list[k], b) && !made_in(list, from, k)) return list[k].place.line;
      for (const analysis::ArrayUse& u : analysis::array_uses(l_.program(), *i))
        if (u.block != nullptr && u.side == analysis::Side::own && same_reference(*u.block, b) &&
            analysis::replaces(l_.program(), *i, u))
          return 0;
      if (i->op == Opcode::exit_loop || i->op == Opcode::ret) return 0;
    }
    return {};
  }

  /// The same for a loop, a branch or a call, which may also do nothing.
  std::int32_t changed_within(const ir::Node& n, const ir::Block& b) {
    if (!l_.may_update(n, b)) return 0;
    if (const auto* l = std::get_if<ir::Loop>(&n.value)) return changed_in(l->body, 0, b).value_or(0);
    if (const auto* f = std::get_if<ir::If>(&n.value)) {
      const std::int32_t line = changed_in(f->then_body, 0, b).value_or(0);
      return line > 0 ? line : changed_in(f->else_body, 0, b).value_or(0);
    }
    return n.place.line;
  }

  /// Whether what list[at] updates has been replaced in list[from, at): then the update is of the new value.
  bool made_in(const ir::Body& list, std::size_t from, std::size_t at) const {
    for (const analysis::ArrayUse& updated : analysis::array_uses(l_.program(), *instr_of(list[at]))) {
      if (updated.block == nullptr || !updated.writes() || updated.side != analysis::Side::own) continue;
      bool made = false;
      for (std::size_t k = from; k < at && !made; ++k)
        if (const ir::Instr* i = instr_of(list[k]))
          for (const analysis::ArrayUse& u : analysis::array_uses(l_.program(), *i))
            made |= u.block != nullptr && u.side == analysis::Side::own && same_reference(*u.block, *updated.block) &&
                    analysis::replaces(l_.program(), *i, u);
      if (!made) return false;
    }
    return true;
  }

  /// The line of a statement in front of body_[at] that changes the block in each trip of a loop which does not make it
  /// anew.
  std::int32_t changed_before(std::size_t at, const ir::Block& b) {
    if (path_.enclosing.empty() || !std::holds_alternative<ir::Loop>(path_.enclosing.back()->value)) return 0;
    std::int32_t line = 0;
    for (std::size_t k = 0; k < at; ++k) {
      if (const ir::Instr* i = instr_of(body_[k]))
        for (const analysis::ArrayUse& u : analysis::array_uses(l_.program(), *i))
          if (u.block != nullptr && u.side == analysis::Side::own && same_reference(*u.block, b) &&
              analysis::replaces(l_.program(), *i, u))
            return 0;
      if (line == 0 && l_.may_update(body_[k], b)) line = body_[k].place.line;
    }
    return line;
  }

  const ir::Body* top_list() const {
    return path_.proc < 0 ? &l_.program().main : &l_.program().procs[static_cast<std::size_t>(path_.proc)].body;
  }

  /// The list of `outer` that holds `inner`.
  static const ir::Body* inside(const ir::Node& outer, const ir::Node& inner) {
    const auto holds = [&](const ir::Body& list) {
      return !list.empty() && &inner >= list.data() && &inner < list.data() + list.size();
    };
    if (const auto* l = std::get_if<ir::Loop>(&outer.value)) return holds(l->body) ? &l->body : nullptr;
    if (const auto* b = std::get_if<ir::If>(&outer.value))
      return holds(b->then_body) ? &b->then_body : holds(b->else_body) ? &b->else_body : nullptr;
    const auto* s = std::get_if<ir::Section>(&outer.value);
    return s != nullptr && holds(s->body) ? &s->body : nullptr;
  }

  void replace(std::size_t at, Opcode op, const ir::Block& target, const ir::Block& source) {
    body_[at] = l_.make(body_[at].place, op, {target, source});
  }

  void copy(std::size_t at, const ir::Instr& i) {
    const ir::Block target = *block_of(i, 0), source = *block_of(i, 1);
    if (l_.explained("static-slices", body_[at])) return;
    if (!corresponds(l_.program(), target, source))
      return missed(
          at, target, "copy-permutes",
          fmt::format("{} is copied to {} with its elements in another order", l_.text(source), l_.text(target)),
          changed_from(at + 1, target) > 0
              ? "one order of indices for both would leave a straight copy; `sialreport run.json` says whether that pays over all their uses"
              : "nothing where the values are needed in the other order; `sialreport run.json` says whether another declaration pays over all "
                "uses; a block that one contraction only uses is read in its own order");
    for (const ir::Block* b : {&target, &source})
      if (l_.kind(*b) == ArrayKind::static_ || l_.kind(*b) == ArrayKind::contiguous_local)
        return missed(at, target, "part-of-an-array",
                      fmt::format("{} is copied to {}: {}", l_.text(source), l_.text(target), kind_phrase(l_.kind(*b))),
                      b == &target ? "nothing where both arrays are needed; otherwise use one of them for both"
                      : same_labels(target, source)
                          ? "use the block of the array itself where the copy is only read"
                          : "nothing, unless the values can be kept in an array with the indices of the copy");
    if (!l_.own_memory(target))
      return missed(at, target, "private-copy",
                    fmt::format("{} is copied to this rank's private copy of {}", l_.text(source), l_.text(target)),
                    "assign to a temp: what is assigned to a remote block is lost at the barrier");
    const bool source_ends = l_.last_use(body_, path_, at, 1);
    const std::int32_t target_changes = changed_from(at + 1, target);
    if (target_changes > 0 && !source_ends)
      return missed(
          at, target, "copy-is-changed",
          fmt::format("{} is copied to {}, which line {} changes while {}", l_.text(source), l_.text(target),
                      target_changes,
                      analysis::is_remote_array(l_.program(), source.array) ? "others may read the fetched block"
                                                                            : l_.text(source) + " is still needed"),
          changed_copy_advice);
    const std::int32_t source_changes = l_.own_memory(source) ? changed_from(at + 1, source) : 0;
    if (source_changes > 0)
      return missed(at, target, "source-is-changed",
                    fmt::format("{} is copied to {}, since line {} changes {}", l_.text(source), l_.text(target),
                                source_changes, l_.text(source)),
                    "move the copy's uses in front of that line, or the change behind them");
    l_.remark(RemarkKind::passed,
              analysis::is_remote_array(l_.program(), source.array) ? "fetched-block-in-place" : "memory-shared",
              body_[at], path_, target, fmt::format("{} shares the memory of {}", l_.text(target), l_.text(source)));
    replace(at, Opcode::block_alias, target, source);
    if (source_ends && !same_reference(source, target))
      body_.insert(body_.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                   l_.make(body_[at].place, Opcode::free_block, {with_intent(source, Intent::write)}));
  }

  void put(std::size_t at, const ir::Instr& i) {
    const ir::Block target = *block_of(i, 0), source = *block_of(i, 1);
    if (l_.explained("shared-puts", body_[at])) return;
    if (!l_.own_memory(source))
      return missed(
          at, target, "part-of-an-array",
          fmt::format("{} is copied into {}: {}", l_.text(source), l_.text(target),
                      analysis::is_remote_array(l_.program(), source.array) ? "it is a block of another remote array"
                                                                            : kind_phrase(l_.kind(source))),
          analysis::is_remote_array(l_.program(), source.array)
              ? "declare both arrays over the same indices, and compile with -O2"
              : "compute the values in a temp, whose memory the put takes over");
    std::int32_t line = changed_from(at + 1, source);
    if (line == 0) line = changed_before(at, source);
    if (line > 0)
      return missed(at, target, "put-is-changed",
                    fmt::format("{} is copied into {}, since line {} changes {}", l_.text(source), l_.text(target),
                                line, l_.text(source)),
                    "put the block after its last change");
    l_.remark(RemarkKind::passed, "put-moved", body_[at], path_, target,
              fmt::format("{} takes over the memory of {}", l_.text(target), l_.text(source)));
    replace(at, Opcode::put_move, target, source);
  }

  Local& l_;
  ir::Body& body_;
  const analysis::Path& path_;
};

}  // namespace

void share_blocks(ir::Program& program, Plan& plan) {
  Local l(program, plan, "share-blocks");
  analysis::for_each_body(program, [&](ir::Body& body, const analysis::Path& path) { Share(l, body, path).run(); });
}

}  // namespace sial::plan
