#include "compiler/plan/slice/slice_sites.h"

#include <algorithm>
#include <utility>

#include "compiler/analysis/alias.h"
#include "compiler/analysis/operands.h"
#include "runtime/core/base/fault_injection.h"

namespace sial::plan {
namespace {

constexpr std::size_t max_sites = 4000;

class Finder {
 public:
  Finder(const ir::Program& program, const std::set<ir::NodeId>& ends) : p_(program), ends_(ends) {}

  bool loop(const ir::Loop& l) {
    around_.push_back({&l, instances_++});
    const bool good = body(l.body);
    around_.pop_back();
    return good;
  }

  std::vector<Site> sites;

 private:
  bool body(const ir::Body& nodes) {
    for (const ir::Node& n : nodes)
      if (!node(n)) return false;
    return true;
  }

  bool node(const ir::Node& n) {
    if (const auto* l = std::get_if<ir::Loop>(&n.value)) {
      ended_ = ended_ || ends_.contains(n.id);
      return loop(*l);
    }
    if (const auto* b = std::get_if<ir::If>(&n.value)) {
      ended_ = ended_ || ends_.contains(n.id);
      const bool before = ended_;
      const bool then_good = body(b->then_body);
      const bool then_ended = std::exchange(ended_, before);
      const bool good = then_good && body(b->else_body);
      ended_ = ended_ && then_ended;
      return good;
    }
    if (const auto* s = std::get_if<ir::Section>(&n.value)) return body(s->body);
    const auto& i = std::get<ir::Instr>(n.value);
    if (i.op == Opcode::call) {
      if (++calls_ > max_sites || depth_ > 200) return false;
      ++depth_;
      const bool good = body(p_.procs[static_cast<std::size_t>(std::get<ir::ProcId>(i.operands[0]).row)].body);
      --depth_;
      return good;
    }
    const OpClass c = op_class(i.op);
    if (c == OpClass::fetch || c == OpClass::put) sites.push_back({&n, &i, around_, ended_});
    return sites.size() <= max_sites;
  }

  const ir::Program& p_;
  const std::set<ir::NodeId>& ends_;
  bool ended_ = false;
  std::vector<Site::Around> around_;
  std::int32_t instances_ = 0;
  std::size_t calls_ = 0;
  int depth_ = 0;
};

const ir::Block& home_block(const Site& s) { return std::get<ir::Block>(s.instr->operands[0]); }

bool is_put(const Site& s) { return op_class(s.instr->op) == OpClass::put; }

/// Equal blocks of the two references mean equal values of the index.
bool fixes(const ir::Program& p, const ir::Block& a, const ir::Block& b, IndexId index) {
  const ArrayRow& array = p.arrays[a.array.at()];
  const auto kind = [&](IndexId i) { return p.indices[i.at()].kind; };
  for (std::size_t d = 0; d < a.entries.size(); ++d) {
    const RefEntry &x = a.entries[d], &y = b.entries[d];
    if (x.index == no_index || x.index != y.index || x.as_simple != y.as_simple) continue;
    const bool sub = kind(x.index) == IndexKind::sub;
    const bool sub_dimension = kind(array.dims[d]) == IndexKind::sub;
    if (x.index == index && (!sub || sub_dimension)) return true;
    if (sub && p.indices[x.index.at()].parent == index) return true;
  }
  return false;
}

bool may_feed(const ir::Program& p, const Site& put, const Site& get, bool put_first) {
  const ir::Block &a = home_block(put), &b = home_block(get);
  if (a.array != b.array) return false;
  std::vector<IndexId> changed;
  for (const Site* s : {&put, &get})
    for (const Site::Around& l : s->loops)
      changed.insert(changed.end(), l.loop->indices.begin(), l.loop->indices.end());
  std::sort(changed.begin(), changed.end());
  if (analysis::same_block(p, a, b, {nullptr, &changed, false}) == analysis::Alias::never) return false;
  for (std::size_t l = 0;
       l < std::min(put.loops.size(), get.loops.size()) && put.loops[l].instance == get.loops[l].instance; ++l)
    for (const IndexId i : put.loops[l].loop->indices)
      if (!fixes(p, a, b, i)) return true;
  return put_first;
}

}  // namespace

std::optional<std::vector<Site>> find_sites(const ir::Program& program, const ir::Node& loop,
                                            const std::set<ir::NodeId>& ends) {
  Finder finder(program, ends);
  if (!finder.loop(std::get<ir::Loop>(loop.value))) return std::nullopt;
  return std::move(finder.sites);
}

const Site* put_before_get(const ir::Program& program, const std::vector<Site>& sites, std::size_t get) {
  if (fault_enabled(Fault::slice_put_feeds_get)) return nullptr;
  for (std::size_t s = 0; s < sites.size(); ++s)
    if (is_put(sites[s]) && may_feed(program, sites[s], sites[get], s < get)) return &sites[s];
  return nullptr;
}

Cost executions(const Site& site, const std::vector<const ir::Loop*>& outer) {
  Cost cost = Cost::constant(1.0);
  const auto multiply = [&](const ir::Loop& l) {
    for (const IndexId i : l.indices) cost = cost * Cost::count(i);
  };
  for (const ir::Loop* l : outer) multiply(*l);
  for (const Site::Around& l : site.loops) multiply(*l.loop);
  return cost;
}

Cost block_bytes(const ir::Program& program, const ir::Block& block) {
  Cost cost = Cost::constant(8.0);
  const ArrayRow& array = program.arrays[block.array.at()];
  for (std::size_t d = 0; d < block.entries.size(); ++d) {
    const RefEntry& e = block.entries[d];
    const auto row = [&](IndexId i) -> const IndexRow& { return program.indices[i.at()]; };
    if (e.as_simple || row(e.index).kind == IndexKind::simple) continue;
    // A part of a block is fetched with all of it.
    const bool whole = row(e.index).kind == IndexKind::sub && row(array.dims[d]).kind != IndexKind::sub;
    cost = cost * Cost::extent(whole ? row(e.index).parent : e.index);
  }
  return cost;
}

}  // namespace sial::plan
