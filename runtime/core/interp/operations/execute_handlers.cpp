#include "runtime/core/interp/operations/execute_handlers.h"

namespace sial {

ExecuteHandlers::ExecuteHandlers(const RunContext& context, DeviceExecution& device, Operands& operands,
                                 BlockArithmetic& arithmetic, SuperArguments& arguments, SuperCalls& calls,
                                 FusedGroup& fused, Profile& profile)
    : context_(context),
      device_(device),
      operands_(operands),
      arithmetic_(arithmetic),
      arguments_(arguments),
      calls_(calls),
      fused_(fused),
      profile_(profile) {}

void ExecuteHandlers::op_execute(const Instruction& in, Statement here) {
  if (!fused_.run_on_device(in, here) && !run_block_form(in, here)) calls_.run(in, here);
}

/// False: an argument is not a block.
bool ExecuteHandlers::describe_blocks(const Instruction& in, Args& args, Statement here) const {
  const std::string& signature = context_.module.specials[in.a].signature;
  for (std::int32_t i = 0; i < in.c; ++i) {
    const ArgRow& row = arguments_.row(in, i);
    if (row.kind != ArgKind::block) return false;
    args[i] = arguments_.describe(row, signature[i], here);
  }
  return true;
}

/// Products are done where products are, copies where the source is; neither where the form does not fit the letters.
bool ExecuteHandlers::pays(const Instruction& in, const BlockForm& form, const Args& args, Statement here) const {
  const auto letter_of = [&](const BlockForm::Operand& operand) { return args[operand.argument].letter; };
  const auto array_of = [&](const BlockForm::Operand& operand) {
    return operands_.reference(reference(in, operand)).array;
  };
  const auto only_read = [&](const BlockForm::Operand& operand) {
    return letter_of(operand) == 'r' && array_of(operand) != array_of(form.d);
  };
  if (letter_of(form.d) == 'r' || !only_read(form.a)) return false;
  const bool product = form.b.argument >= 0;
  return product ? only_read(form.b) : operands_.on_device_only(reference(in, form.a), here);
}

void ExecuteHandlers::compute(const Instruction& in, const BlockForm& form, bool creates, Statement here) {
  const auto read = [&](const BlockForm::Operand& operand) {
    ConstView view = operands_.read(reference(in, operand), here);
    view.label = operand.label;
    return view;
  };
  BlockOp op;
  op.has_b = form.b.argument >= 0;
  op.a = read(form.a);
  if (op.has_b) op.b = read(form.b);
  op.d = operands_.resolve(reference(in, form.d), creates ? Intent::write : Intent::update, here);
  op.d.label = form.d.label;
  if (!op.has_b) {
    for (int d = 0; d < op.a.rank; ++d) op.a.data += form.a.start[d] * op.a.stride[d];
    op.a.extent = op.d.extent;
  }
  op.alpha = form.alpha;
  op.beta = creates ? 0.0 : form.beta;
  arithmetic_.run(op, here);
}

/// A super instruction that is one operation on blocks. False: the body's to do.
bool ExecuteHandlers::run_block_form(const Instruction& in, Statement here) {
  const BlockFormMaker make = device_.cache() ? calls_.block_form(in.a) : nullptr;
  const auto n = static_cast<std::size_t>(in.c);
  if (make == nullptr || n > max_rank || n != context_.module.specials[in.a].signature.size()) return false;
  Args args;
  if (!describe_blocks(in, args, here)) return false;
  const BlockForm form = make(std::span(args.data(), n));
  if (!pays(in, form, args, here)) return false;
  profile_.count_block_operation();
  device_.block_operation(here, [&] { compute(in, form, args[form.d.argument].letter == 'w', here); });
  profile_.count_super_instruction();
  return true;
}

}  // namespace sial
