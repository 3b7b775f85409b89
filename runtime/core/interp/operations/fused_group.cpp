#include "runtime/core/interp/operations/fused_group.h"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/core/base/check.h"
#include "runtime/core/base/fault_injection.h"
#include "runtime/core/bytecode/layout.h"
#include "runtime/core/interp/context/view_ops.h"
#include "runtime/core/interp/operations/handlers.h"

namespace sial {
namespace {

using kernels::FusedOp;
using kernels::FusedStep;

/// Copies of remote blocks that were looked at this long ago may be given up (store: operands_in_use).
constexpr int max_remote = 12;

bool same_memory(const MutableView& a, const MutableView& b) {
  return a.data == b.data && a.rank == b.rank &&
         std::equal(a.extent.begin(), a.extent.begin() + a.rank, b.extent.begin()) &&
         std::equal(a.stride.begin(), a.stride.begin() + a.rank, b.stride.begin());
}

/// Whether a source may be read while the target is written: elsewhere, or each element from where it goes.
bool apart(const MutableView& target, const ConstView& source, const kernels::FusedSource& found) {
  if (!may_overlap(target, source) || fault_enabled(Fault::fused_source_in_target)) return true;
  if (found.data != target.data) return false;
  for (int d = 0; d < target.rank; ++d)
    if (target.extent[d] != 1 && found.stride[d] != target.stride[d]) return false;
  return true;
}

bool fits(const MutableView& target, const ConstView& source, kernels::FusedSource& found) {
  return kernels::fused_source(target, source, found) && apart(target, source, found);
}

}  // namespace

FusedGroup::FusedGroup(const RunContext& context, const Registers& registers, Position& position,
                       DeviceExecution& device, Operands& operands, BlockArithmetic& arithmetic,
                       SuperArguments& arguments, SuperCalls& calls, Profile& profile, Handlers& handlers)
    : context_(context),
      registers_(registers),
      position_(position),
      device_(device),
      operands_(operands),
      arithmetic_(arithmetic),
      arguments_(arguments),
      calls_(calls),
      profile_(profile),
      handlers_(handlers) {}

void FusedGroup::run(std::int32_t end) {
  if (!runner_) runner_.emplace(context_.env.kernels.code_engine());
  clear();
  members_.clear();
  remote_ = 0;
  const DeviceExecution::Scope scope(device_);
  try {
    while (position_.next_pc() < end) {
      const Statement here = position_.advance();
      members_.push_back({here.pc, 0.0, 0.0});
      const Instruction& in = context_.module.code[here.pc];
      if (device_.active()) step_on_device(in, here);
      else step(in, here);
    }
  } catch (...) {
    carry_out();
    throw;
  }
  carry_out();
}

/// Steps of chains take a table of differences for each of so many pairs of dimensions; blocks of more are left to the
/// super instruction itself.
static bool has_tables(const Module& module, const ArgRow& block) {
  return module.refs[static_cast<std::size_t>(block.id)].entries.size() <=
         2 * static_cast<std::size_t>(kernels::FusedTile::sources_per_step);
}

bool FusedGroup::run_on_device(const Instruction& in, Statement here) {
  if (!device_.cache() || in.c == 0) return false;
  const ArgRow& first = arguments_.row(in, 0);
  if (first.kind != ArgKind::block || !calls_.element_form(in.a) || !has_tables(context_.module, first) ||
      !operands_.on_device_only(first.id, here))
    return false;
  position_.jump(here.pc);
  run(here.pc + 1);
  return true;
}

void FusedGroup::clear() {
  steps_.clear();
  pcs_.clear();
  energies_.clear();
  blocks_.clear();
}

void FusedGroup::add_step(const FusedStep& step) {
  steps_.push_back(step);
  pcs_.push_back(members_.back().pc);
}

/// Where the device has no room for a statement beside those that wait, they are done first, and where it has none at
/// all, it runs on the host.
void FusedGroup::step_on_device(const Instruction& in, Statement here) {
  for (const bool again : {false, true}) {
    try {
      return step(in, here);
    } catch (const DeviceFull& full) {
      carry_out();
      device_.leave();
      if (again) device_.too_large(full.bytes, here);
      else device_.enter();
    }
  }
  step(in, here);
  carry_out();
  device_.enter();
}

/// Carries out what waits, and then a statement that looks after itself.
template <class F>
void FusedGroup::alone(F&& statement) {
  carry_out();
  const bool there = device_.active();
  device_.leave();
  statement();
  if (there) device_.enter();
}

void FusedGroup::step(const Instruction& in, Statement here) {
  const auto value = [&](std::int32_t slot) { return registers_.scalar(slot); };
  switch (in.op) {
    case Opcode::block_fill: return change(FusedOp::fill, value(in.b), in.a, Intent::write, here);
    case Opcode::block_add_scalar: return change(FusedOp::add_scalar, value(in.b), in.a, Intent::update, here);
    case Opcode::block_scale: return change(FusedOp::scale, value(in.b), in.a, Intent::update, here);
    case Opcode::block_copy:
      copy(in, 1.0, 0.0, Intent::write, here);
      return profile_.count_copied(here, operands_.reference(in.a).array, view_size(target_));
    case Opcode::block_accumulate: return copy(in, sign_of(in.c), 1.0, Intent::update, here);
    case Opcode::block_scaled_copy: return copy(in, value(in.c), 0.0, Intent::write, here);
    case Opcode::block_scaled_accumulate: return copy(in, sign_of(in.d) * value(in.c), 1.0, Intent::update, here);
    case Opcode::block_sum: return sum(in, here);
    case Opcode::execute: return execute(in, here);
    default: beside_elements(in, here);
  }
}

/// Carries out a statement between those of a group that touches no block.
void FusedGroup::beside_elements(const Instruction& in, Statement here) {
  switch (in.op) {
#define OPCODE(number, name, a, b, c, d, op_class, ...)                                          \
  case Opcode::name:                                                                             \
    if constexpr (has(Opcode::name, op::fusible)) return handlers_.op_class.op_##name(in, here); \
    break;
#include "runtime/core/bytecode/opcodes.def"
#undef OPCODE
  }
  SIAL_CHECK(false, "`{}` in a fused group", opcode_info(in.op)->name);
}

void FusedGroup::change(FusedOp op, double value, std::int32_t target, Intent intent, Statement here) {
  own(target, intent, here);
  add_step({op, value, {}, {}, nullptr});
}

/// The target of a statement: that of what waits, or that is done and the statement begins with its own.
void FusedGroup::own(std::int32_t target, Intent intent, Statement here) {
  look_at_remote(target);
  const MutableView view = operands_.resolve(target, intent, here);
  begin_with(view, false);
  members_.back().weight = 1.0;
  profile_.count_block_operation();
}

void FusedGroup::begin_with(const MutableView& target, bool keep_last_energies) {
  if (!steps_.empty() && !same_memory(target, target_)) {
    std::optional<EnergyDifferences> mine;
    if (keep_last_energies) mine = std::move(energies_.back());
    carry_out();
    if (mine) energies_.push_back(std::move(*mine));
  }
  target_ = target;
  written_ = device_.written();
}

/// Before a look at the operand: pointers to remote blocks hold for some looks at others.
void FusedGroup::look_at_remote(std::int32_t ref) {
  if (!is_remote(operands_.reference(ref).kind)) return;
  if (remote_ + 1 > max_remote) carry_out();
  ++remote_;
}

ConstView FusedGroup::read(std::int32_t source, Statement here) {
  look_at_remote(source);
  const bool timed = profile_.by_instruction() && is_remote(operands_.reference(source).kind);
  const double begin = timed ? context_.now() : 0.0;
  const ConstView view = operands_.read(source, here);
  if (timed) members_.back().waited += context_.now() - begin;
  return view;
}

void FusedGroup::copy(const Instruction& in, double alpha, double beta, Intent intent, Statement here) {
  if (copy_mode(operands_.reference(in.a), operands_.reference(in.b)) != CopyMode::by_label) {
    alone([&] { target_ = arithmetic_.copy(in.a, in.b, alpha, beta, intent, here); });
    members_.back().weight = 1.0;
    return;
  }
  const ConstView a = read(in.b, here);
  own(in.a, intent, here);
  const FusedOp op = beta != 0.0 ? FusedOp::accumulate : alpha == 1.0 ? FusedOp::copy : FusedOp::scaled_copy;
  FusedStep step{op, alpha, {}, {}, nullptr};
  if (fits(target_, a, step.a)) return add_step(step);
  carry_out();
  profile_.take_back_block_operation();
  BlockOp alone;
  alone.d = target_;
  alone.a = a;
  alone.has_b = false;
  alone.alpha = alpha;
  alone.beta = beta;
  arithmetic_.run(alone, here);
}

void FusedGroup::sum(const Instruction& in, Statement here) {
  const ConstView a = read(in.b, here);
  const ConstView b = read(in.c, here);
  own(in.a, Intent::write, here);
  FusedStep step{FusedOp::sum, sign_of(in.d), {}, {}, nullptr};
  if (fits(target_, a, step.a) && fits(target_, b, step.b)) return add_step(step);
  carry_out();
  profile_.take_back_block_operation();
  arithmetic_.add_blocks(target_, a, b, step.value, here);
}

/// A super instruction on the target. Its arguments are made as for its body; where the body would get a copy of the
/// target it runs.
void FusedGroup::execute(const Instruction& in, Statement here) {
  members_.back().weight = 1.0;
  const auto run_body = [&] { calls_.run(in, here); };
  SuperArg target;
  if (!add_energies(in, target, here)) return alone(run_body);
  const std::int32_t ref = arguments_.row(in, 0).id;
  MutableView view;
  if (device_.active()) {
    if (operands_.reference(ref).has_box || energies_.back().may_vanish()) {
      energies_.pop_back();
      return alone(run_body);
    }
    view = operands_.resolve(ref, Intent::update, here);
  } else {
    view = dense_view(target.data, target.shape, operands_.reference(ref).label);
  }
  profile_.count_super_instruction();
  begin_with(view, true);
  blocks_.push_back(target);
  const EnergyDifferences& energies = energies_.back();
  add_step({energies.divide ? FusedOp::divide : FusedOp::multiply, 0.0, {}, {}, &energies});
}

bool FusedGroup::takes_energies(const Instruction& in) const {
  const std::string& signature = context_.module.specials[in.a].signature;
  return calls_.element_form(in.a) != nullptr && in.c > 0 && in.c <= max_rank &&
         arguments_.row(in, 0).kind == ArgKind::block && has_tables(context_.module, arguments_.row(in, 0)) &&
         signature.find_first_not_of('r', 1) == std::string::npos && signature[0] == 'u';
}

/// Adds the differences that a super instruction works with, if it is of that kind and gets its target itself. On a
/// device the target is described, and not looked at.
bool FusedGroup::add_energies(const Instruction& in, SuperArg& target, Statement here) {
  if (!takes_energies(in)) return false;
  const std::string& signature = context_.module.specials[in.a].signature;
  for (std::int32_t k = 0; k < in.c; ++k)
    if (arguments_.row(in, k).kind == ArgKind::block) look_at_remote(arguments_.row(in, k).id);
  const bool there = device_.active();
  const DeviceExecution::HostScope host(device_);  // the other arguments are the host's
  SuperArguments::List list;
  bool dense = true;
  try {
    for (std::int32_t k = there ? 1 : 0; k < in.c; ++k)
      arguments_.prepare(arguments_.row(in, k), signature[k], list, k, here);
    if (there) list.args[0] = arguments_.describe(arguments_.row(in, 0), signature[0], here);
    dense = list.copies[0].scratch == nullptr;
    calls_.check_orbitals(in.a, list.first(in.c));
    if (dense) energies_.push_back(calls_.element_form(in.a)(list.first(in.c)));
  } catch (...) {
    arguments_.drop(list, in.c);
    throw;
  }
  arguments_.drop(list, in.c);
  target = list.args[0];
  return dense;
}

void FusedGroup::carry_out() {
  remote_ = 0;
  if (steps_.empty()) return;
  const Statement first{pcs_.front()};
  on_behalf_of(context_, first, [&] {
    if (const std::optional<SialError> error = pass_over_block(first)) throw SialError(*error);
  });
}

std::optional<SialError> FusedGroup::pass_over_block(Statement first) {
  const std::size_t steps = steps_.size();
  std::int64_t reads = 0;
  for (const FusedStep& s : steps_) reads += (s.a.data != nullptr) + (s.b.data != nullptr);
  std::optional<SialError> error;
  double begin = 0;
  {
    const Profile::Computing computing(profile_, first);
    begin = computing.begin();
    std::ptrdiff_t failed = kernels::FusedRunner::none;
    if (device_.active())
      device_.compute(written_, [&](DeviceOperations& operations) { operations.run(target_, steps_); });
    else failed = runner_->run(target_, steps_);
    if (failed != kernels::FusedRunner::none) {
      const auto number = std::count_if(steps_.begin(), steps_.begin() + failed,
                                        [](const FusedStep& s) { return s.energies != nullptr; });
      error = zero_difference(blocks_[static_cast<std::size_t>(number)]);
      error->set_where(context_.place_name({pcs_[static_cast<std::size_t>(failed)]}));
    }
    clear();
    context_.env.transport.charge_compute(static_cast<double>(view_size(target_)) * static_cast<double>(steps) *
                                          seconds_per_element);
  }
  if (profile_.by_instruction()) {
    const auto bytes = 8.0 * static_cast<double>(view_size(target_) * (reads + 1));
    const bool there = device_.active();
    if (std::string* why =
            profile_.record_kernel(first, there ? "device" : "chain", 0.0, bytes, profile_.clock() - begin))
      *why = fmt::format("{} element-wise step{} in one pass{}", steps, steps == 1 ? "" : "s",
                         there ? " of the device; the time is the rank's" : "");
  }
  return error;
}

}  // namespace sial
