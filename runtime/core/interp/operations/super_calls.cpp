#include "runtime/core/interp/operations/super_calls.h"

#include <cmath>

#include <fmt/format.h>

#include "runtime/core/base/check.h"
#include "runtime/core/interp/control/unknown_values.h"

namespace sial {

SuperCalls::SuperCalls(const RunContext& context, OwnBlocks& own, const Operands& operands, SuperArguments& arguments,
                       MachineContext& seen, Profile& profile)
    : context_(context),
      own_(own),
      operands_(operands),
      arguments_(arguments),
      seen_(seen),
      profile_(profile),
      orbital_ranges_(context.env.job) {
  const Plugins* plugins = context.options.plugins;
  for (const SpecialRow& row : context.module.specials) {
    Body& body = bodies_.emplace_back();
    if (const SuperRow* found = find_super(row.name)) body.run = found->body;
    else if (plugins) body.run = plugins->find(row.name, row.signature);
    body.element = find_element_form(row.name);
    body.block = find_block_form(row.name);
    body.orbitals = orbital_rules(row.name);
  }
}

void SuperCalls::fail_unknown(const SpecialRow& special, Statement here) const {
  const Plugins* plugins = context_.options.plugins;
  std::string close;
  for (const std::string& name :
       close_super_names(special.name, plugins ? plugins->names() : std::vector<std::string_view>()))
    close += (close.empty() ? "`" : ", `") + name + "`";
  context_.fail(here, fmt::format("super instruction `{}` does not exist in this runtime", special.name),
                close.empty()
                    ? "it may be declared, but not executed; a library of your own is loaded by `sialrun --plugin FILE`"
                    : "close names: " + close);
}

/// A block passed twice, once to be written, is one memory for the body: it leaves what it shares before either is
/// looked at.
void SuperCalls::leave_shared_memory(const Instruction& in, const std::string& signature, Statement here) {
  for (std::int32_t i = 0; i < in.c; ++i) {
    const ArgRow& arg = arguments_.row(in, i);
    if (arg.kind != ArgKind::block || i >= static_cast<std::int32_t>(signature.size()) || signature[i] == 'r') continue;
    const ResolvedReference& ref = operands_.reference(arg.id);
    if (ref.kind != ArrayKind::temp && ref.kind != ArrayKind::local) continue;
    own_.find_to_write(ref.array, operands_.locate(ref, here).key, signature[i] == 'u', here);
  }
}

/// Charges the model's time instead of running the body, and knows none of its scalars. False: nothing but scalars that
/// are known goes in, and the body is called.
bool SuperCalls::charge(std::span<SuperArg> args, Statement here) {
  std::array<double, max_rank> elements{};
  bool executes = true;
  for (std::size_t k = 0; k < args.size(); ++k) {
    const SuperArg& arg = args[k];
    elements[k] = arg.is_scalar ? 0.0 : static_cast<double>(arg.shape.size());
    executes &= arg.is_scalar && !(arg.letter != 'w' && std::isnan(*arg.data));
  }
  {
    const Profile::Computing computing(profile_, here);
    context_.model->charge(context_.model->costs().statement(here.pc, std::span(elements).first(args.size())));
  }
  if (executes) return false;
  for (const SuperArg& arg : args)
    if (arg.is_scalar && arg.letter != 'r') *arg.data = unknown_scalar;
  return true;
}

void SuperCalls::run(const Instruction& in, Statement here) {
  const SpecialRow& special = context_.module.specials[in.a];
  const std::string& signature = special.signature;
  const auto& body = bodies_[in.a].run;
  if (!body) fail_unknown(special, here);
  SIAL_CHECK(in.c <= max_rank, "{} arguments of {}", in.c, special.name);
  profile_.count_super_instruction();
  leave_shared_memory(in, signature, here);
  SuperArguments::List list;
  for (std::int32_t i = 0; i < in.c; ++i) {
    const char letter = i < static_cast<std::int32_t>(signature.size()) ? signature[i] : 'r';
    arguments_.prepare(arguments_.row(in, i), letter, list, i, here);
  }
  check_orbitals(in.a, list.first(in.c));
  if (context_.model && charge(list.first(in.c), here)) return;
  {
    const Profile::Computing computing(profile_, here);
    body(seen_, list.first(in.c));
  }
  if (arguments_.finish(list, in.c)) profile_.clock_is_behind();
}

}  // namespace sial
