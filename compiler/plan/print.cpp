#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>

#include "compiler/analysis/walk.h"
#include "compiler/ir/print.h"
#include "compiler/plan/plan.h"

namespace sial::plan {

const char* remark_kind_text(RemarkKind kind) {
  switch (kind) {
    case RemarkKind::passed: return "passed";
    case RemarkKind::missed: return "missed";
    case RemarkKind::analysis: break;
  }
  return "analysis";
}

namespace {

/// The nodes that the slice carries out, in the order of the text.
void slice(const ir::Program& program, const Slice& s, std::string& out) {
  static constexpr const char* names[] = {"", "run", "fetch", "stop", "abandon", "put"};
  std::set<std::int32_t> called;
  const auto line = [&](const ir::Node& n, std::size_t depth) {
    const auto found = s.actions.find(n.id);
    if (found == s.actions.end()) return;
    const std::string text = fmt::format("  {:<8}{}{}", names[static_cast<int>(found->second)],
                                         std::string(2 * depth, ' '), ir::head(program, n));
    fmt::format_to(std::back_inserter(out), "{:<58} # {}:{}\n", text, n.place.line, n.place.column);
    const auto* i = std::get_if<ir::Instr>(&n.value);
    if (i != nullptr && i->op == Opcode::call) called.insert(std::get<ir::ProcId>(i->operands[0]).row);
  };
  analysis::visit(program, [&](const ir::Node& n, const analysis::Path& path) {
    const auto in =
        std::find_if(path.enclosing.begin(), path.enclosing.end(), [&](const ir::Node* e) { return e->id == s.loop; });
    if (n.id != s.loop && in == path.enclosing.end()) return;
    if (n.id == s.loop) fmt::format_to(std::back_inserter(out), "slice of {}\n", ir::head(program, n));
    line(n, static_cast<std::size_t>(path.enclosing.end() - in));
  });
  std::set<std::int32_t> done;
  while (done.size() < called.size()) {
    const std::int32_t proc =
        *std::find_if(called.begin(), called.end(), [&](std::int32_t p) { return !done.contains(p); });
    done.insert(proc);
    fmt::format_to(std::back_inserter(out), "  in proc {}\n", program.procs[static_cast<std::size_t>(proc)].name);
    analysis::Path path;
    analysis::visit(program.procs[static_cast<std::size_t>(proc)].body, path,
                    [&](const ir::Node& n, const analysis::Path& p) { line(n, p.enclosing.size() + 1); });
  }
}

}  // namespace

std::string print(const ir::Program& program, const Plan& plan) {
  std::string out;
  for (const Slice& s : plan.slices) slice(program, s, out);
  std::vector<const RemarkRow*> rows;
  for (const RemarkRow& r : plan.remarks) rows.push_back(&r);
  std::stable_sort(rows.begin(), rows.end(), [](const RemarkRow* a, const RemarkRow* b) {
    return std::tie(a->place.file, a->place.line, a->place.column) <
           std::tie(b->place.file, b->place.line, b->place.column);
  });
  for (const RemarkRow* r : rows) {
    const auto file = static_cast<std::size_t>(r->place.file);
    fmt::format_to(std::back_inserter(out), "{}:{}:{}: {} {}/{}: {}", program.files.at(file), r->place.line,
                   r->place.column, remark_kind_text(r->kind), r->pass, r->name, r->text);
    if (r->array != no_array)
      fmt::format_to(std::back_inserter(out), " (array {})", program.arrays.at(r->array.at()).name);
    if (!r->bytes.is_zero())
      fmt::format_to(std::back_inserter(out), "; bytes {}", cost_text(r->bytes, program.indices));
    if (!r->flops.is_zero())
      fmt::format_to(std::back_inserter(out), "; flops {}", cost_text(r->flops, program.indices));
    if (!r->executions.is_zero())
      fmt::format_to(std::back_inserter(out), "; executions {}", cost_text(r->executions, program.indices));
    if (!r->advice.empty()) fmt::format_to(std::back_inserter(out), "; advice: {}", r->advice);
    out += '\n';
  }
  return out;
}

}  // namespace sial::plan
