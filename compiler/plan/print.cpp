#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <tuple>

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

std::string print(const ir::Program& program, const Plan& plan) {
  std::string out;
  for (const Slice& s : plan.slices) {
    static constexpr const char* names[] = {"", "run", "fetch", "stop"};
    fmt::format_to(std::back_inserter(out), "slice of node {}:", s.loop);
    for (const auto& [node, action] : s.actions) fmt::format_to(std::back_inserter(out), " {}:{}", node, names[static_cast<int>(action)]);
    out += '\n';
  }
  std::vector<const RemarkRow*> rows;
  for (const RemarkRow& r : plan.remarks) rows.push_back(&r);
  std::stable_sort(rows.begin(), rows.end(), [](const RemarkRow* a, const RemarkRow* b) {
    return std::tie(a->place.file, a->place.line, a->place.column) < std::tie(b->place.file, b->place.line, b->place.column);
  });
  for (const RemarkRow* r : rows) {
    const auto file = static_cast<std::size_t>(r->place.file);
    fmt::format_to(std::back_inserter(out), "{}:{}:{}: {} {}/{}: {}", program.files.at(file), r->place.line, r->place.column,
                   remark_kind_text(r->kind), r->pass, r->name, r->text);
    if (r->array >= 0) fmt::format_to(std::back_inserter(out), " (array {})", program.arrays.at(static_cast<std::size_t>(r->array)).name);
    if (!r->bytes.is_zero()) fmt::format_to(std::back_inserter(out), "; bytes {}", cost_text(r->bytes, program.indices));
    if (!r->flops.is_zero()) fmt::format_to(std::back_inserter(out), "; flops {}", cost_text(r->flops, program.indices));
    if (!r->executions.is_zero()) fmt::format_to(std::back_inserter(out), "; executions {}", cost_text(r->executions, program.indices));
    if (!r->advice.empty()) fmt::format_to(std::back_inserter(out), "; advice: {}", r->advice);
    out += '\n';
  }
  return out;
}

}  // namespace sial::plan
