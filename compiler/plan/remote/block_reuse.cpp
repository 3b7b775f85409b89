#include "compiler/plan/remote/block_reuse.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "compiler/analysis/access.h"
#include "compiler/analysis/operands.h"
#include "compiler/analysis/work.h"
#include "compiler/plan/remote/remote_access.h"
#include "runtime/core/bytecode/layout.h"

// The model: what a memory that is short can hold is what the innermost loops use that leave a block the same. Blocks
// that a loop further out asks for again have left by then, unless all that it asks for in one iteration fits.

namespace sial::plan {
namespace {

constexpr const char* pass = "block-reuse";
constexpr std::size_t max_nested = 5;
/// Amounts are compared as if every range had ten segments of twenty elements, as reports without a run do.
constexpr IndexSize typical{10, 20};
/// A part of the bytes that a nest's gets move as written: less is not worth a remark.
constexpr double worth = 0.25;

/// One index of a loop around a get; those of a pardo are as many loops, the first inside.
struct Turn {
  const ir::Node* loop = nullptr;
  IndexId index;
  bool moves = false;  // the block
};

class Reuse {
 public:
  Reuse(const ir::Program& program, Plan& plan)
      : p_(program), plan_(plan), traffic_(program), sizes_(program.indices.size(), typical) {
    for (std::size_t proc = 0; proc < p_.procs.size(); ++proc)  // callees first
      synchronizes_.push_back(synchronizes(p_.procs[proc].body));
  }

  void run() {
    analysis::visit(p_, [&](const ir::Node& n, const analysis::Path& path) {
      if (const auto* i = std::get_if<ir::Instr>(&n.value); i && op_class(i->op) == OpClass::fetch)
        look_at(n, *i, path);
      if (is_do(n)) look_at_nest(n, path);
    });
  }

 private:
  static bool is_do(const ir::Node& n) {
    const auto* l = std::get_if<ir::Loop>(&n.value);
    return l != nullptr && l->kind == LoopKind::do_;
  }
  bool synchronizes(const ir::Body& body) const {
    bool found = false;
    analysis::for_each_instr(body, [&](const ir::Instr& i, const ir::Node&) {
      if (opcode_info(i.op)->has(op::ends_phase)) found = true;
      if (i.op != Opcode::call) return;
      const auto callee = static_cast<std::size_t>(std::get<ir::ProcId>(i.operands[0]).row);
      found = found || callee >= synchronizes_.size() || synchronizes_[callee];
    });
    return found;
  }
  bool synchronizes(const ir::Node& loop) const { return synchronizes(std::get<ir::Loop>(loop.value).body); }

  /// Blocks along an index of a loop.
  Cost trips(const Turn& t) const {
    return std::get<ir::Loop>(t.loop->value).kind == LoopKind::sub ? Cost::constant(subsegments_per_segment)
                                                                   : Cost::count(t.index);
  }
  double typical_of(const Cost& cost) const { return evaluate(cost, sizes_); }

  static std::vector<Turn> turns_of(const std::vector<const ir::Node*>& loops, const std::vector<IndexId>& moved_by) {
    std::vector<Turn> turns;
    for (const ir::Node* n : loops) {
      const auto& indices = std::get<ir::Loop>(n->value).indices;
      for (auto i = indices.rbegin(); i != indices.rend(); ++i)
        turns.push_back({n, *i, std::find(moved_by.begin(), moved_by.end(), *i) != moved_by.end()});
    }
    return turns;
  }

  // --- what comes again

  void look_at(const ir::Node& n, const ir::Instr& get, const analysis::Path& path) {
    const auto& block = std::get<ir::Block>(get.operands[0]);
    if (path.in_where || std::any_of(block.entries.begin(), block.entries.end(),
                                     [](const RefEntry& e) { return e.index == no_index || e.as_simple; }))
      return;
    const analysis::Access access = analysis::access_of(p_, block, path);
    std::optional<std::vector<const ir::Node*>> loops;
    int chains = 0;
    if (!traffic_.for_each_chain(path, [&](const std::vector<const ir::Node*>& chain) { ++chains, loops = chain; }) ||
        chains != 1)
      return;
    std::vector<Turn> turns = turns_of(*loops, access.indices);
    while (!turns.empty() && !turns.back().moves) turns.pop_back();  // the same block time after time: it is held
    if (turns.empty()) return;
    const auto again = std::find_if(turns.rbegin(), turns.rend(), [](const Turn& t) { return !t.moves; });
    Cost set = bytes_of(p_, block), times = Cost::constant(1.0);
    for (auto t = turns.rbegin(); t != again; ++t) set = set * trips(*t);
    for (auto t = again; t != turns.rend(); ++t) times = times * trips(*t);
    const std::string& array = analysis::array_name(p_, block.array);
    if (again == turns.rend()) {
      Cost blocks = Cost::constant(1.0);
      for (const Turn& t : turns) blocks = blocks * trips(t);
      remark(n, RemarkKind::analysis, "streamed", block.array,
             fmt::format("each block of `{}` comes once: where memory is short they pass through it", array), "",
             bytes_of(p_, block), blocks);
      return;
    }
    const std::string loop = fmt::format("the loop over `{}` in {}", p_.indices[again->index.at()].name,
                                         place_text(p_, again->loop->place, n.place));
    const std::string amount = cost_text(set, p_.indices);
    if (synchronizes(*again->loop)) {
      remark(n, RemarkKind::analysis, "once-in-a-phase", block.array,
             fmt::format("each block of `{}` comes once between barriers, and again in each iteration of {}: they stay "
                         "where {} bytes fit into memory beside the rest",
                         array, loop, amount),
             "", set, times);
      return;
    }
    remark(
        n, RemarkKind::analysis, "should-stay", block.array,
        fmt::format("blocks of `{}` come again in each iteration of {}: the {} bytes of one iteration should stay in "
                    "memory",
                    array, loop, amount),
        "", set, times);
  }

  // --- other orders of loops

  /// The transfers of a block by one execution of the nest, for loops around it in some order: once for each iteration
  /// of the loops down to the innermost one that moves it.
  struct NestGet {
    const ir::Block* block = nullptr;
    std::vector<bool> moved_by;  // per loop of the nest
  };

  static const ir::Node* only_loop(const ir::Loop& loop) {
    return loop.body.size() == 1 && is_do(loop.body.front()) ? &loop.body.front() : nullptr;
  }

  void look_at_nest(const ir::Node& outer, const analysis::Path& path) {
    if (nested_.contains(outer.id)) return;
    std::vector<const ir::Node*> nest;
    for (const ir::Node* n = &outer; n != nullptr; n = only_loop(std::get<ir::Loop>(n->value))) {
      nest.push_back(n);
      nested_.insert(n->id);
    }
    if (nest.size() < 2 || nest.size() > max_nested || path.in_where || !is_orderless(nest)) return;
    const std::vector<NestGet> gets = gets_of(nest);
    if (gets.empty()) return;
    std::vector<std::size_t> order(nest.size());
    std::iota(order.begin(), order.end(), 0);
    const std::vector<std::size_t> written = order;
    std::vector<std::size_t> best = order;
    double least = typical_of(sum(gets, nest, order));
    const double as_written = least;
    while (std::next_permutation(order.begin(), order.end()))
      if (const double bytes = typical_of(sum(gets, nest, order)); bytes < least) least = bytes, best = order;
    if (as_written - least < worth * as_written) return;
    advise(nest, gets, written, best, path);
  }

  void advise(const std::vector<const ir::Node*>& nest, const std::vector<NestGet>& gets,
              const std::vector<std::size_t>& written, const std::vector<std::size_t>& best,
              const analysis::Path& path) {
    Cost saved;
    const NestGet* most = nullptr;
    double max_saved = 0;
    for (const NestGet& get : gets) {
      const Cost one = bytes(get, nest, written) + bytes(get, nest, best) * -1.0;
      saved += one;
      if (const double value = typical_of(one); value > max_saved) max_saved = value, most = &get;
    }
    const auto name = [&](std::size_t k) {
      return fmt::format("`{}`", p_.indices[std::get<ir::Loop>(nest[k]->value).indices.front().at()].name);
    };
    std::string order;
    for (const std::size_t k : best) order += (order.empty() ? "" : ", then ") + name(k);
    remark(*nest.front(), RemarkKind::missed, "loop-order", most->block->array,
           fmt::format("where memory is short, blocks of `{}` come again in each iteration of the loop over {}, and "
                       "fewer bytes move with the loops in the order {}",
                       analysis::array_name(p_, most->block->array), name(returns_in(*most)), order),
           fmt::format("nest the loops in the order {} from the outside, if the result does not depend on it", order),
           saved, traffic_.executions(path));
  }

  /// The first loop, from the outside, that leaves the block the same while an inner one moves it.
  static std::size_t returns_in(const NestGet& get) {
    return static_cast<std::size_t>(std::find(get.moved_by.begin(), get.moved_by.end(), false) - get.moved_by.begin());
  }

  Cost bytes(const NestGet& get, const std::vector<const ir::Node*>& nest,
             const std::vector<std::size_t>& order) const {
    std::size_t inner = order.size();
    while (inner > 0 && !get.moved_by[order[inner - 1]]) --inner;
    Cost cost = bytes_of(p_, *get.block);
    for (std::size_t k = 0; k < inner; ++k)
      cost = cost * Cost::count(std::get<ir::Loop>(nest[order[k]]->value).indices.front());
    return cost;
  }
  Cost sum(const std::vector<NestGet>& gets, const std::vector<const ir::Node*>& nest,
           const std::vector<std::size_t>& order) const {
    Cost all;
    for (const NestGet& get : gets) all += bytes(get, nest, order);
    return all;
  }

  /// Takes remote blocks that no loop further inside moves.
  std::vector<NestGet> gets_of(const std::vector<const ir::Node*>& nest) const {
    std::vector<NestGet> gets;
    std::set<std::vector<std::int32_t>> seen;
    const ir::Body& body = std::get<ir::Loop>(nest.back()->value).body;
    analysis::Path path;
    for (const ir::Node* n : nest) path.enclosing.push_back(n);
    analysis::visit(body, path, [&](const ir::Node& n, const analysis::Path& at) {
      const auto* i = std::get_if<ir::Instr>(&n.value);
      if (i == nullptr || at.in_where || op_class(i->op) != OpClass::fetch) return;
      const auto& block = std::get<ir::Block>(i->operands[0]);
      const analysis::Access access = analysis::access_of(p_, block, at);
      if (access.changes_at < 0 || access.changes_at >= static_cast<int>(nest.size())) return;
      std::vector<std::int32_t> key{block.array.number()};
      for (const RefEntry& e : block.entries) key.push_back(e.index.number());
      if (!seen.insert(key).second) return;
      NestGet get{&block, {}};
      for (const ir::Node* loop : nest)
        get.moved_by.push_back(std::find(access.indices.begin(), access.indices.end(),
                                         std::get<ir::Loop>(loop->value).indices.front()) != access.indices.end());
      gets.push_back(std::move(get));
    });
    return gets;
  }

  /// Nothing says that the iterations must run in this order, but for sums and what the values are.
  bool is_orderless(const std::vector<const ir::Node*>& nest) const {
    std::vector<IndexId> indices;
    for (const ir::Node* n : nest) {
      const auto& loop = std::get<ir::Loop>(n->value);
      if (!loop.wheres.empty() || loop.rank_dependence != RankDependence::none) return false;
      indices.push_back(loop.indices.front());
    }
    bool good = true;
    analysis::for_each_instr(std::get<ir::Loop>(nest.back()->value).body, [&](const ir::Instr& i, const ir::Node&) {
      switch (op_class(i.op)) {
        case OpClass::control:  // calls, exits
        case OpClass::sync:
        case OpClass::persist:
        case OpClass::output: good = false; return;
        case OpClass::put: good = good && each_block_once(i, indices); return;
        default: return;
      }
    });
    return good;
  }
  /// No other iteration replaces a block that one iteration puts.
  static bool each_block_once(const ir::Instr& put, const std::vector<IndexId>& indices) {
    if (std::any_of(put.operands.begin(), put.operands.end(), [](const ir::Operand& o) {
          const auto* op = std::get_if<SetOp>(&o);
          return op != nullptr && *op != SetOp::assign;
        }))
      return true;
    const auto& block = std::get<ir::Block>(put.operands[0]);
    return std::all_of(indices.begin(), indices.end(), [&](IndexId i) {
      return std::any_of(block.entries.begin(), block.entries.end(), [&](const RefEntry& e) { return e.index == i; });
    });
  }

  void remark(const ir::Node& at, RemarkKind kind, const char* name, ArrayId array, std::string text,
              std::string advice, Cost bytes, Cost executions) {
    plan_.remarks.push_back({kind,
                             pass,
                             name,
                             at.place,
                             array,
                             std::move(text),
                             std::move(advice),
                             std::move(bytes),
                             {},
                             std::move(executions)});
  }

  const ir::Program& p_;
  Plan& plan_;
  Traffic traffic_;
  const std::vector<IndexSize> sizes_;
  std::vector<bool> synchronizes_;  // by procedure
  std::set<ir::NodeId> nested_;     // loops of nests that were looked at
};

}  // namespace

void point_out_reuse(ir::Program& program, Plan& plan) { Reuse(program, plan).run(); }

}  // namespace sial::plan
