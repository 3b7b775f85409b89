// The meaning of a source line, in a chemist's words.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "compiler/report/advice/advice.h"
#include "runtime/core/bytecode/layout.h"

namespace sial::report {
namespace {

const std::set<std::string>& integral_names() {
  static const std::set<std::string> names = {"compute_integral_batch", "compute_ubatch1", "compute_ubatch2",
                                              "compute_ubatch4",        "compute_ubatch6", "compute_ubatch7",
                                              "compute_ubatch8"};
  return names;
}

class Words {
 public:
  Words(const JobProgram& program, const CostLine& line) : program_(program), m_(*program.module), line_(line) {}

  std::string text() {
    for (std::size_t pc = 0; pc < m_.code.size(); ++pc) {
      const SourcePlace& place = m_.places[pc];
      if (place.line == line_.line && m_.files[static_cast<std::size_t>(place.file)] == line_.file)
        consider(m_.code[pc]);
    }
    if (line_.seconds > 0 && waited() > 0.5 * line_.seconds)
      return "waits there for blocks of `" + waited_array() + "`";
    return text_.empty() ? "is in the bookkeeping of loops" : text_;
  }

 private:
  double waited() const {
    double sum = 0;
    for (const AccessLine& a : program_.run.accesses)
      if (a.line == line_.line && a.file == line_.file) sum += a.wait_seconds;
    return sum;
  }
  std::string waited_array() const {
    for (const AccessLine& a : program_.run.accesses)  // longest waits first
      if (a.line == line_.line && a.file == line_.file) return a.array;
    return {};
  }

  std::string ref(std::int32_t row) const { return ref_text(m_, m_.refs[static_cast<std::size_t>(row)]); }

  void say(int weight, std::string text) {
    if (weight > weight_) weight_ = weight, text_ = std::move(text);
  }

  void consider(const Instruction& in) {
    const OpcodeInfo& info = *opcode_info(in.op);
    if (info.op_class == OpClass::execute) return say(5, executed(in));
    if (info.cost == OpCost::product)
      return say(4, fmt::format("multiplies blocks, `{} * {}` into `{}`{}", ref(in.b), ref(in.c), ref(in.a), speed()));
    if (info.cost == OpCost::dot)
      return say(3, fmt::format("sums products of elements, `{} * {}`", ref(in.b), ref(in.c)));
    if (puts_block(in.op)) return say(3, fmt::format("sends blocks to `{}`", ref(in.a)));
    if (synchronizes(in.op)) return say(3, "is where ranks wait until all have arrived");
    if (info.cost == OpCost::elements && info.count(OperandKind::ref) >= 2)
      return say(2, fmt::format("copies or adds blocks, `{}` and `{}`", ref(in.a), ref(in.b)));
    if (info.cost == OpCost::elements && info.operands[1] == OperandKind::sin) return say(2, "sets or scales blocks");
    if (info.op_class == OpClass::fetch) return say(1, fmt::format("fetches blocks of `{}`", ref(in.a)));
    if (info.op_class == OpClass::output) return say(1, "prints");
    if (in.op == Opcode::pardo_begin || in.op == Opcode::pardo_next)
      return say(1, "hands out iterations of a parallel loop");
  }

  std::string executed(const Instruction& in) const {
    const std::string& name = m_.specials[static_cast<std::size_t>(in.a)].name;
    std::string block;
    for (std::int32_t k = in.b; k < in.b + in.c && block.empty(); ++k)
      if (const ArgRow& arg = m_.args[static_cast<std::size_t>(k)]; arg.kind == ArgKind::block) block = ref(arg.id);
    if (integral_names().contains(name)) return fmt::format("computes two-electron integrals, `{}`", block);
    return block.empty() ? fmt::format("runs `{}`", name) : fmt::format("runs `{}` on `{}`", name, block);
  }

  /// Against the fastest product of the program.
  std::string speed() const {
    double best = 0, flops = 0, seconds = 0;
    for (const KernelLine& k : program_.run.kernels) {
      if (k.flops > 0 && k.seconds > 0) best = std::max(best, k.flops / k.seconds);
      if (k.line == line_.line && k.file == line_.file) flops += k.flops, seconds += k.seconds;
    }
    if (best <= 0 || seconds <= 0 || flops <= 0) return {};
    return fmt::format(", at {:.1f} GFLOP/s ({:.0f} % of the program's fastest product)", flops / seconds * 1e-9,
                       100 * flops / seconds / best);
  }

  const JobProgram& program_;
  const Module& m_;
  const CostLine& line_;
  std::string text_;
  int weight_ = 0;
};

}  // namespace

std::string deed_of_line(const JobProgram& program, const CostLine& line) {
  return program.module ? Words(program, line).text()
                        : "is in a program of which neither module nor sources were found";
}

}  // namespace sial::report
