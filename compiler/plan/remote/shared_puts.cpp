#include "compiler/plan/remote/shared_puts.h"

#include <fmt/format.h>

#include "compiler/plan/remote/remote_access.h"

// Why it is right. The store never writes a value that anybody else holds: who changes one of two blocks that share
// data makes a copy first. So the two part at the first change, and until then have the same value. What has to hold is
// that the elements lie in the same order in both: the same names at the same positions, of whole blocks. Whether the
// blocks lie on this node, and whether the rank has a private copy of x by now, the store sees when it runs.

namespace sial::plan {

void share_puts(ir::Program& program, Plan& plan) {
  const Traffic traffic(program);
  analysis::for_each_body(program, [&](ir::Body& body, const analysis::Path& path) {
    for (ir::Node& n : body) {
      auto* i = std::get_if<ir::Instr>(&n.value);
      if (i == nullptr || i->op != Opcode::put_block || std::get<SetOp>(i->operands[2]) != SetOp::assign) continue;
      const auto& target = std::get<ir::Block>(i->operands[0]);
      const auto& source = std::get<ir::Block>(i->operands[1]);
      if (!analysis::is_remote_array(program, source.array)) continue;
      RemarkRow row{RemarkKind::passed,
                    "shared-puts",
                    "shared",
                    n.place,
                    target.array,
                    "",
                    "",
                    bytes_of(program, target),
                    {},
                    traffic.executions(path)};
      if (analysis::is_part(program, source) || source.entries != target.entries) {
        row.kind = RemarkKind::missed;
        row.name = "not-the-whole-block";
        row.text = fmt::format("`{}` is copied into `{}`: it is not the same block, whole and in the same order",
                               analysis::text_of(program, source), analysis::text_of(program, target));
        row.advice = "declare both arrays over the same indices";
        plan.said.insert(statement_key("shared-puts", n.place));
      } else {
        row.text = fmt::format("`{}` and `{}` share their data where they lie on the same node",
                               analysis::text_of(program, target), analysis::text_of(program, source));
        i->op = Opcode::put_alias;
        i->operands.resize(2);
      }
      plan.remarks.push_back(std::move(row));
    }
  });
}

}  // namespace sial::plan
