#include "compiler/plan/remote/remote_access.h"

#include <fmt/format.h>

namespace sial::plan {

Cost bytes_of(const ir::Program&, const ir::Block& block) {
  Cost cost = Cost::constant(8.0);
  for (const RefEntry& e : block.entries)
    if (e.index != no_index && !e.as_simple) cost = cost * Cost::extent(e.index);
  return cost;
}

std::string indices_text(const ir::Program& program, const ir::Loop& loop) {
  std::string text;
  for (const IndexId i : loop.indices) text += (text.empty() ? "`" : ", `") + program.indices[i.at()].name + "`";
  return text;
}

std::string place_text(const ir::Program& program, const SourcePlace& place, const SourcePlace& seen_from) {
  if (place.file == seen_from.file) return fmt::format("line {}", place.line);
  return fmt::format("{}:{}", program.files[static_cast<std::size_t>(place.file)], place.line);
}

namespace {

constexpr int deepest_calls = 16;

Cost trips(const std::vector<const ir::Node*>& enclosing) {
  Cost cost = Cost::constant(1.0);
  for (const ir::Node* n : enclosing)
    if (const auto* l = std::get_if<ir::Loop>(&n->value))
      for (const IndexId i : l->indices)
        cost = cost * (l->kind == LoopKind::sub ? Cost::constant(subsegments_per_segment) : Cost::count(i));
  return cost;
}

}  // namespace

Traffic::Traffic(const ir::Program& program) : p_(program), calls_(program), entries_(program.procs.size() + 1) {
  entries_[0] = Cost::constant(1.0);
  for (std::size_t proc = program.procs.size(); proc-- > 0;)  // callers come after callees
    for (const analysis::CallSite& site : calls_.callers(static_cast<std::int32_t>(proc)))
      if (site.caller != static_cast<std::int32_t>(proc))
        entries_[proc + 1] += trips(site.enclosing) * entries(site.caller);
}

Cost Traffic::executions(const analysis::Path& path) const { return trips(path.enclosing) * entries(path.proc); }

bool Traffic::for_each_chain(const analysis::Path& path,
                             const std::function<void(const std::vector<const ir::Node*>&)>& f, int most) const {
  std::vector<const ir::Node*> loops;
  for (const ir::Node* n : path.enclosing)
    if (std::holds_alternative<ir::Loop>(n->value)) loops.push_back(n);
  return chains(path.proc, std::move(loops), f, 0, most);
}

bool Traffic::chains(std::int32_t proc, std::vector<const ir::Node*> loops,
                     const std::function<void(const std::vector<const ir::Node*>&)>& f, int depth, int& left) const {
  if (proc < 0) {
    if (left-- <= 0) return false;
    f(loops);
    return true;
  }
  if (depth > deepest_calls) return false;
  bool all = true;
  for (const analysis::CallSite& site : calls_.callers(proc)) {
    if (site.caller == proc) return false;
    std::vector<const ir::Node*> outer;
    for (const ir::Node* n : site.enclosing)
      if (std::holds_alternative<ir::Loop>(n->value)) outer.push_back(n);
    outer.insert(outer.end(), loops.begin(), loops.end());
    all = chains(site.caller, std::move(outer), f, depth + 1, left) && all;
  }
  return all;
}

}  // namespace sial::plan
