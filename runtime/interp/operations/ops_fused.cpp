// fused: the element-wise statements behind it are looked at one after the other, as if each ran, and what they would
// do to their block waits until the last one, or one that does not fit, and is then done in one pass. Whatever is
// unusual about a statement makes it run alone, behind what waits. An error ends the run where it would have ended it
// otherwise: what waits is done first, and may fail itself. On a device the run is one operation of it, but for
// statements that the device cannot do, or has no room for beside the others.

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "runtime/base/check.h"
#include "runtime/base/fault_injection.h"
#include "runtime/bytecode/layout.h"
#include "runtime/interp/blocks/on_device.h"
#include "runtime/interp/operations/computing.h"
#include "runtime/interp/operations/fused_steps.h"
#include "runtime/interp/operations/view_ops.h"

namespace sial {
namespace {

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

}  // namespace

void Machine::op_fused(const Instruction& in) {
  if (!chain_) chain_ = std::make_unique<Chain>(env_.kernels.code_engine());
  chain_->begin();
  run_fused(*chain_, pc_ + in.a);
  instructions_ += in.a;
}

/// The statements up to `end`.
void Machine::run_fused(Chain& chain, std::int32_t end) {
  const DeviceScope scope(*this);
  try {
    while (pc_ < end) {
      at_ = pc_++;
      chain.members.push_back({at_, 0.0, 0.0});
      if (on_device_) fused_step_on_device(m_->code[at_], chain);
      else fused_step(m_->code[at_], chain);
    }
  } catch (...) {
    const std::int32_t failed = at_;
    carry_out(chain);
    at_ = failed;
    throw;
  }
  carry_out(chain);
}

/// Where the device has no room for a statement beside those that wait, they are done first, and where it has none at
/// all, it runs on the host.
void Machine::fused_step_on_device(const Instruction& in, Chain& chain) {
  for (const bool again : {false, true}) {
    try {
      return fused_step(in, chain);
    } catch (const DeviceFull& full) {
      carry_out(chain);
      leave_device();
      if (again) too_large_for_device(full.bytes);
      else enter_device();
    }
  }
  fused_step(in, chain);
  carry_out(chain);
  enter_device();
}

/// What waits is done, and then a statement that looks after itself.
template <class F>
void Machine::beside_chain(Chain& chain, F&& statement) {
  carry_out(chain);
  const bool there = on_device_;
  leave_device();
  statement();
  if (there) enter_device();
}

void Machine::fused_step(const Instruction& in, Chain& chain) {
  switch (in.op) {
    case Opcode::block_fill:
      fused_own(in.a, chain, Access::create);
      return chain.add({kernels::FusedOp::fill, scalars_[in.b], {}, {}, nullptr});
    case Opcode::block_add_scalar:
      fused_own(in.a, chain, Access::existing);
      return chain.add({kernels::FusedOp::add_scalar, scalars_[in.b], {}, {}, nullptr});
    case Opcode::block_scale:
      fused_own(in.a, chain, Access::existing);
      return chain.add({kernels::FusedOp::scale, scalars_[in.b], {}, {}, nullptr});
    case Opcode::block_copy:
      fused_copy(in, chain, 1.0, 0.0, Access::create);
      return count(copied_, bound_.refs[in.a].array, view_size(chain.target));
    case Opcode::block_accumulate: return fused_copy(in, chain, sign_of(in.c), 1.0, Access::existing);
    case Opcode::block_scaled_copy: return fused_copy(in, chain, scalars_[in.c], 0.0, Access::create);
    case Opcode::block_scaled_accumulate:
      return fused_copy(in, chain, sign_of(in.d) * scalars_[in.c], 1.0, Access::existing);
    case Opcode::block_sum: return fused_sum(in, chain);
    case Opcode::execute: return fused_execute(in, chain);
    default: beside_elements(in);
  }
}

/// What stands between the statements of a chain and touches no block.
void Machine::beside_elements(const Instruction& in) {
  switch (in.op) {
#define OPCODE(number, name, ...)                                       \
  case Opcode::name:                                                    \
    if constexpr (has(Opcode::name, op::fusible)) return op_##name(in); \
    break;
#include "runtime/bytecode/opcodes.def"
#undef OPCODE
  }
  SIAL_CHECK(false, "`{}` in a chain", opcode_info(in.op)->name);
}

/// The target of a statement: that of the chain, or what waits is done and a chain begins with it.
void Machine::fused_own(std::int32_t target, Chain& chain, Access access) {
  MutableView view;
  look_at_remote(target, chain);
  write_view(target, access, view);
  if (!chain.steps.empty() && !same_memory(view, chain.target)) carry_out(chain);
  chain.target = view;
  chain.written = written_;
  chain.members.back().weight = 1.0;
  ++block_operations_;
}

/// Before a look at the operand: pointers to remote blocks hold for some looks at others.
void Machine::look_at_remote(std::int32_t ref, Chain& chain) {
  if (!is_remote(bound_.refs[ref].kind)) return;
  if (chain.remote + 1 > max_remote) carry_out(chain);
  ++chain.remote;
}

void Machine::fused_read(std::int32_t source, Chain& chain, ConstView& view) {
  look_at_remote(source, chain);
  const bool timed = options_.profile && is_remote(bound_.refs[source].kind);
  const double begin = timed ? now() : 0.0;
  read_view(source, view);
  if (timed) chain.members.back().waited += now() - begin;
}

void Machine::fused_copy(const Instruction& in, Chain& chain, double alpha, double beta, Access access) {
  if (copy_mode(bound_.refs[in.a], bound_.refs[in.b]) != CopyMode::by_label) {
    beside_chain(chain, [&] { copy_like(in.a, in.b, alpha, beta, access); });
    chain.target = op_.d;
    chain.members.back().weight = 1.0;
    return;
  }
  ConstView a;
  fused_read(in.b, chain, a);
  fused_own(in.a, chain, access);
  kernels::FusedStep step{beta != 0.0    ? kernels::FusedOp::accumulate
                          : alpha == 1.0 ? kernels::FusedOp::copy
                                         : kernels::FusedOp::scaled_copy,
                          alpha,
                          {},
                          {},
                          nullptr};
  if (kernels::fused_source(chain.target, a, step.a) && apart(chain.target, a, step.a)) return chain.add(step);
  const MutableView target = chain.target;
  carry_out(chain);
  --block_operations_;  // run_kernel counts it
  op_.has_b = false;
  op_.d = target;
  op_.a = a;
  run_kernel(alpha, beta);
}

void Machine::fused_sum(const Instruction& in, Chain& chain) {
  ConstView a, b;
  fused_read(in.b, chain, a);
  fused_read(in.c, chain, b);
  fused_own(in.a, chain, Access::create);
  kernels::FusedStep step{kernels::FusedOp::sum, sign_of(in.d), {}, {}, nullptr};
  if (kernels::fused_source(chain.target, a, step.a) && kernels::fused_source(chain.target, b, step.b) &&
      apart(chain.target, a, step.a) && apart(chain.target, b, step.b))
    return chain.add(step);
  const MutableView target = chain.target;
  carry_out(chain);
  --block_operations_;
  add_blocks(target, a, b, step.value);
}

/// A super instruction on the target. Its arguments are made as for its body; where the body would get a copy of the
/// target it runs.
void Machine::fused_execute(const Instruction& in, Chain& chain) {
  chain.members.back().weight = 1.0;
  SuperArg target;
  if (!energies_of(in, chain, target)) return beside_chain(chain, [&] { execute_body(in); });
  const std::int32_t ref = m_->args[in.b].id;
  MutableView view;
  if (on_device_) {
    if (bound_.refs[ref].has_box || chain.energies.back().may_vanish()) {
      chain.energies.pop_back();
      return beside_chain(chain, [&] { execute_body(in); });
    }
    write_view(ref, Access::existing, view);
  } else {
    view = dense_view(target.data, target.shape, bound_.refs[ref].label);
  }
  ++super_instructions_;
  if (!chain.steps.empty() && !same_memory(view, chain.target)) {
    EnergyDifferences mine = std::move(chain.energies.back());
    carry_out(chain);
    chain.energies.push_back(std::move(mine));
  }
  chain.target = view;
  chain.written = written_;
  chain.blocks.push_back(target);
  const EnergyDifferences& energies = chain.energies.back();
  chain.add({energies.divide ? kernels::FusedOp::divide : kernels::FusedOp::multiply, 0.0, {}, {}, &energies});
}

bool Machine::element_form_on_device(const Instruction& in) {
  if (!copies_ || in.c == 0) return false;
  const ArgRow& first = m_->args[in.b];
  if (first.kind != ArgKind::block || !bodies_[in.a].element || !on_device_only(first.id)) return false;
  if (!chain_) chain_ = std::make_unique<Chain>(env_.kernels.code_engine());
  chain_->begin();
  pc_ = at_;
  run_fused(*chain_, at_ + 1);
  return true;
}

/// Adds the differences that a super instruction works with, if it is of that kind and gets its target itself. On a
/// device the target is described, and not looked at.
bool Machine::energies_of(const Instruction& in, Chain& chain, SuperArg& target) {
  const SpecialRow& special = m_->specials[in.a];
  const ElementForm form = bodies_[in.a].element;
  const ArgRow& first = m_->args[in.b];
  const bool usual = form != nullptr && in.c > 0 && in.c <= max_rank && first.kind == ArgKind::block &&
                     special.signature.find_first_not_of('r', 1) == std::string::npos && special.signature[0] == 'u';
  if (!usual) return false;
  std::array<SuperArg, max_rank> args;
  std::array<ArgCopyBack, max_rank> backs;
  std::array<double, max_rank> literals{};
  for (std::int32_t k = 0; k < in.c; ++k)
    if (m_->args[in.b + k].kind == ArgKind::block) look_at_remote(m_->args[in.b + k].id, chain);
  const bool there = on_device_;
  on_device_ = false;  // the other arguments are the host's
  const auto settle = [&] {
    on_device_ = there;
    for (std::int32_t k = 0; k < in.c; ++k)
      if (backs[k].scratch) release(backs[k].scratch, backs[k].size);
  };
  bool dense = true;
  try {
    for (std::int32_t k = there ? 1 : 0; k < in.c; ++k)
      prepare_arg(m_->args[in.b + k], special.signature[k], args[k], backs[k], literals[k]);
    if (there) describe_block(first, special.signature[0], args[0]);
    dense = backs[0].scratch == nullptr;
    const std::span all(args.data(), static_cast<std::size_t>(in.c));
    orbital_ranges_.check(special.name, all, bodies_[in.a].orbitals);
    if (dense) chain.energies.push_back(form(all));
  } catch (...) {
    settle();
    throw;
  }
  settle();
  target = args[0];
  return dense;
}

void Machine::carry_out(Chain& chain) {
  chain.remote = 0;
  if (chain.steps.empty()) return;
  const std::int32_t at = at_;
  at_ = chain.pcs.front();
  std::optional<SialError> error;
  double begin = 0;
  const std::size_t steps = chain.steps.size();
  std::int64_t reads = 0;
  for (const kernels::FusedStep& s : chain.steps) reads += (s.a.data != nullptr) + (s.b.data != nullptr);
  {
    const Computing computing(*this);
    begin = computing.begin();
    std::ptrdiff_t failed = kernels::FusedRunner::none;
    if (on_device_)
      compute_on_device(chain.written,
                        [&](DeviceOperations& operations) { operations.run(chain.target, chain.steps); });
    else failed = chain.runner.run(chain.target, chain.steps);
    if (failed != kernels::FusedRunner::none) {
      const auto number = std::count_if(chain.steps.begin(), chain.steps.begin() + failed,
                                        [](const kernels::FusedStep& s) { return s.energies != nullptr; });
      error = zero_difference(chain.blocks[static_cast<std::size_t>(number)]);
      error->set_where(place_name(chain.pcs[static_cast<std::size_t>(failed)]));
    }
    const auto passes = static_cast<double>(chain.steps.size());
    chain.clear();
    env_.transport.charge_compute(static_cast<double>(view_size(chain.target)) * passes * seconds_per_element);
  }
  if (options_.profile) {
    const auto bytes = 8.0 * static_cast<double>(view_size(chain.target) * (reads + 1));
    if (std::string* why = note_kernel(on_device_ ? "device" : "chain", 0.0, bytes, clock_ - begin))
      *why = fmt::format("{} element-wise step{} in one pass{}", steps, steps == 1 ? "" : "s",
                         on_device_ ? " of the device; the time is the rank's" : "");
  }
  at_ = at;
  if (error) throw SialError(*error);
}

bool Machine::share_cost(double seconds, double compute) {
  if (!chain_ || chain_->members.empty()) return false;
  double waited = 0.0, weight = 0.0;
  for (const Chain::Member& m : chain_->members) {
    waited += m.waited;
    weight += m.weight;
  }
  for (const Chain::Member& m : chain_->members) {
    PcCost& cost = pc_costs_[m.pc];
    ++cost.executions;
    const double share = weight > 0.0 ? m.weight / weight : 0.0;
    cost.seconds += m.waited + share * std::max(0.0, seconds - waited);
    cost.compute += share * compute;
  }
  return true;
}

}  // namespace sial
