#include "runtime/core/interp/operations/block_arithmetic.h"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/core/base/fault_injection.h"
#include "runtime/core/interp/context/view_ops.h"
#include "runtime/core/interp/control/unknown_values.h"

namespace sial {
namespace {

using Computing = Profile::Computing;

std::string extents_text(const std::array<std::int64_t, max_rank>& extent, int rank) {
  return fmt::format("({})", fmt::join(extent.begin(), extent.begin() + rank, ","));
}

template <class T>
void number_labels(BlockView<T>& view) {
  for (int d = 0; d < view.rank; ++d) view.label[d] = d;
}

template <class A, class B>
bool same_labels(const BlockView<A>& x, const BlockView<B>& y) {
  return x.rank == y.rank && std::equal(x.label.begin(), x.label.begin() + x.rank, y.label.begin());
}

double flops_of_product(const BlockOp& op, double elements) {
  double flops = 2.0 * elements;
  const auto end = op.d.label.begin() + op.d.rank;
  for (int d = 0; d < op.a.rank; ++d)
    if (std::find(op.d.label.begin(), end, op.a.label[d]) == end) flops *= static_cast<double>(op.a.extent[d]);
  return flops;
}

}  // namespace

BlockArithmetic::BlockArithmetic(const RunContext& context, DeviceExecution& device, BlockMemory& memory,
                                 Operands& operands, Regions& regions, Profile& profile)
    : context_(context), device_(device), memory_(memory), operands_(operands), regions_(regions), profile_(profile) {}

double* BlockArithmetic::scratch(std::int64_t n, Statement here) const {
  return device_.active() ? device_.scratch(n, here) : memory_.allocate(n);
}

void BlockArithmetic::release_scratch(double* p, std::int64_t n) const noexcept {
  if (device_.active()) device_.release_scratch(p);
  else memory_.release(p, n);
}

void BlockArithmetic::pack_if_touching(const MutableView& target, ConstView& operand, double*& packed,
                                       std::int64_t& size, Statement here) {
  if (!may_overlap(target, operand) || fault_enabled(Fault::kernel_target_touches_source)) return;
  size = view_size(operand);
  packed = scratch(size, here);
  const MutableView copy = dense_like(packed, operand);
  if (device_.active())
    device_.compute({}, [&](DeviceOperations& operations) {
      operations.run(ElementWork{ElementOp::copy, 0.0, copy, operand, {}});
    });
  else copy_view(copy, operand);
  operand = as_const(copy);
}

/// Charges the time of the operation by the model.
void BlockArithmetic::charge(const BlockOp& op, Statement here) {
  double flops = 0, begin = 0;
  ModelClock& model = *context_.model;
  {
    const Computing computing(profile_, here);
    begin = computing.begin();
    if (op.has_b) {
      flops = flops_of_product(op, static_cast<double>(view_size(op.d)));
      profile_.add_flops(flops);
      model.charge(model.costs().product(here.pc, op));
    } else {
      model.charge_statement(here.pc, view_size(op.d), view_size(op.a));
    }
  }
  if (profile_.by_instruction()) record_operation(op, flops, profile_.clock() - begin, here);
}

void BlockArithmetic::run(BlockOp& op, Statement here) {
  if (context_.model) return charge(op, here);
  double flops = 0, begin = 0;
  {
    const Computing computing(profile_, here);
    begin = computing.begin();
    double* scratch_a = nullptr;
    double* scratch_b = nullptr;
    std::int64_t size_a = 0, size_b = 0;
    pack_if_touching(op.d, op.a, scratch_a, size_a, here);
    if (op.has_b) pack_if_touching(op.d, op.b, scratch_b, size_b, here);
    if (device_.active()) device_.compute(device_.written(), [&](DeviceOperations& operations) { operations.run(op); });
    else context_.env.kernels.run(op);
    if (scratch_a) release_scratch(scratch_a, size_a);
    if (scratch_b) release_scratch(scratch_b, size_b);
    const auto elements = static_cast<double>(view_size(op.d));
    if (op.has_b) {
      flops = flops_of_product(op, elements);
      profile_.add_flops(flops);
    }
    context_.env.transport.charge_compute(elements * seconds_per_element + flops * seconds_per_flop);
  }
  if (profile_.by_instruction()) record_operation(op, flops, profile_.clock() - begin, here);
}

/// The operation that run() ran last.
void BlockArithmetic::record_operation(const BlockOp& op, double flops, double seconds, Statement here) {
  std::int64_t elements = view_size(op.d) * (op.beta != 0.0 ? 2 : 1) + view_size(op.a);
  if (op.has_b) elements += view_size(op.b);
  const Kernels& kernels = context_.env.kernels;
  const char* method = context_.model     ? "model"
                       : device_.active() ? "device"
                       : op.has_b         ? kernels.last_choice().method
                                          : "copy";
  if (std::string* why = profile_.record_kernel(here, method, flops, 8.0 * static_cast<double>(elements), seconds))
    *why = context_.model     ? "not executed: the time is the model's"
           : device_.active() ? "put into a stream of the device; the time is the rank's"
                              : kernels.explain(op);
}

void BlockArithmetic::element_work(ElementOp op, double factor, Statement here, const MutableView& d,
                                   const ConstView& a, const ConstView& b) {
  const Computing computing(profile_, here);
  if (context_.model) {
    const auto elements = [](const ConstView& v) { return v.data ? static_cast<double>(view_size(v)) : 0.0; };
    return context_.model->charge_statement(here.pc, view_size(d), elements(a), elements(b));
  }
  if (device_.active()) {
    device_.compute(device_.written(),
                    [&](DeviceOperations& operations) { operations.run(ElementWork{op, factor, d, a, b}); });
  } else {
    switch (op) {
      case ElementOp::fill: fill_view(d, factor); break;
      case ElementOp::add_scalar: add_to_view(d, factor); break;
      case ElementOp::scale: scale_view(d, factor); break;
      case ElementOp::copy: copy_view(d, a); break;
      case ElementOp::sum: sum_views(d, a, b, factor); break;
    }
  }
  context_.env.transport.charge_compute(static_cast<double>(view_size(d)) * seconds_per_element);
}

void BlockArithmetic::check_same_shape(Statement here) const {
  const MutableView& d = op_.d;
  const ConstView& a = op_.a;
  if (d.rank == a.rank && std::equal(d.extent.begin(), d.extent.begin() + d.rank, a.extent.begin())) return;
  context_.fail(here,
                fmt::format("the shapes differ: the target has extents {}, the source {}",
                            extents_text(d.extent, d.rank), extents_text(a.extent, a.rank)),
                "both sides must cover segments of the same extents");
}

/// Names of the dimensions that correspond become the same.
void BlockArithmetic::match_copy(CopyMode mode, Statement here) {
  switch (mode) {
    case CopyMode::by_label: break;
    case CopyMode::leading:  // the dimensions beyond the common ones are simple: extent 1
      op_.a.rank = op_.d.rank = std::min(op_.a.rank, op_.d.rank);
      [[fallthrough]];
    case CopyMode::positional:
      check_same_shape(here);
      number_labels(op_.d);
      number_labels(op_.a);
      break;
  }
}

const MutableView& BlockArithmetic::copy(std::int32_t target, std::int32_t source, double alpha, double beta,
                                         Intent intent, Statement here) {
  profile_.count_block_operation();
  device_.block_operation(here, [&] {
    op_.has_b = false;
    op_.a = operands_.read(source, here);
    op_.d = operands_.resolve(target, intent, here);
    match_copy(copy_mode(operands_.reference(target), operands_.reference(source)), here);
    op_.alpha = alpha;
    op_.beta = beta;
    run(op_, here);
  });
  return op_.d;
}

const MutableView& BlockArithmetic::contract(std::int32_t target, std::int32_t b, std::int32_t c, double alpha,
                                             Intent intent, Statement here) {
  profile_.count_block_operation();
  device_.block_operation(here, [&] {
    op_.has_b = true;
    op_.a = operands_.read(b, here);
    op_.b = operands_.read(c, here);
    op_.d = operands_.resolve(target, intent, here);
    op_.alpha = alpha;
    op_.beta = intent == Intent::write ? 0.0 : 1.0;
    run(op_, here);
  });
  return op_.d;
}

void BlockArithmetic::change(ElementOp op, double value, std::int32_t target, Intent intent, Statement here) {
  profile_.count_block_operation();
  device_.block_operation(here, [&] { element_work(op, value, here, operands_.resolve(target, intent, here)); });
}

void BlockArithmetic::sum(std::int32_t target, std::int32_t b, std::int32_t c, double sign, Statement here) {
  profile_.count_block_operation();
  device_.block_operation(here, [&] {
    const ConstView first = operands_.read(b, here);
    const ConstView second = operands_.read(c, here);
    add_blocks(operands_.resolve(target, Intent::write, here), first, second, sign, here);
  });
}

void BlockArithmetic::add_blocks(const MutableView& target, const ConstView& a, const ConstView& b, double sign,
                                 Statement here) {
  if (context_.model || (same_labels(target, a) && same_labels(target, b))) {
    // Equal names mean equal positions: blocks that touch are the same block, which an element-wise sum may overwrite.
    element_work(ElementOp::sum, sign, here, target, a, b);
    return;
  }
  // Permuted operands: through a scratch block in the target's order, since the target may be one of the operands.
  const std::int64_t size = view_size(target);
  double* total = scratch(size, here);
  Shape shape;
  shape.rank = target.rank;
  shape.extent = target.extent;
  op_.has_b = false;
  op_.d = dense_view(total, shape, target.label);
  op_.a = a;
  op_.alpha = 1.0;
  op_.beta = 0.0;
  run(op_, here);
  op_.a = b;
  op_.alpha = sign;
  op_.beta = 1.0;
  run(op_, here);
  element_work(ElementOp::copy, 0.0, here, target, as_const(op_.d));
  release_scratch(total, size);
  profile_.clock_is_behind();
}

double BlockArithmetic::product_of_all(std::int32_t b, std::int32_t c, double& begin, Statement here) {
  op_.a = operands_.read(b, here);
  op_.b = operands_.read(c, here);
  const Computing computing(profile_, here);
  begin = computing.begin();
  double result = 0;
  if (context_.model) {
    context_.model->charge_statement(here.pc, view_size(op_.a), view_size(op_.b));
    profile_.add_flops(2.0 * static_cast<double>(view_size(op_.a)));
    return unknown_scalar;
  }
  if (device_.active())
    device_.compute({}, [&](DeviceOperations& operations) { result = operations.dot(op_.a, op_.b); });
  else result = context_.env.kernels.dot(op_.a, op_.b);
  const auto elements = static_cast<double>(view_size(op_.a));
  profile_.add_flops(2.0 * elements);
  context_.env.transport.charge_compute(elements * seconds_per_element);
  return result;
}

/// On the device when that has an operand that the host has not, or both.
double BlockArithmetic::dot(std::int32_t b, std::int32_t c, Statement here) {
  const bool there = device_.cache() && (operands_.on_device_only(b, here) || operands_.on_device_only(c, here));
  double begin = 0, result = 0;
  const auto product = [&] { result = product_of_all(b, c, begin, here); };
  profile_.count_block_operation();
  if (there) device_.block_operation(here, product);
  else product();
  if (profile_.by_instruction()) record_dot(there, profile_.clock() - begin, here);
  return result;
}

void BlockArithmetic::record_dot(bool on_device, double seconds, Statement here) {
  const std::int64_t size = view_size(op_.a);
  const auto elements = static_cast<double>(size);
  std::string* why =
      profile_.record_kernel(here, on_device ? "device" : "inner product", 2.0 * elements, 16.0 * elements, seconds);
  if (!why) return;
  const bool alike = std::equal(op_.a.label.begin(), op_.a.label.begin() + op_.a.rank, op_.b.label.begin(),
                                op_.b.label.begin() + op_.b.rank);
  *why = fmt::format("{} products summed to a scalar, the operands in {}", size,
                     alike ? "the same order" : "different orders");
}

void BlockArithmetic::put_region(const RegionRow& target, std::int32_t source, Statement here) {
  profile_.count_block_operation();
  op_.has_b = false;
  op_.a = operands_.read(source, here);
  op_.d = regions_.view(target, here);
  check_same_shape(here);
  number_labels(op_.a);
  op_.alpha = 1.0;
  op_.beta = 0.0;
  run(op_, here);
}

void BlockArithmetic::get_region(std::int32_t target, const RegionRow& source, Statement here) {
  profile_.count_block_operation();
  op_.has_b = false;
  op_.a = as_const(regions_.view(source, here));
  op_.d = operands_.resolve(target, Intent::write, here);
  check_same_shape(here);
  number_labels(op_.d);
  op_.alpha = 1.0;
  op_.beta = 0.0;
  run(op_, here);
}

}  // namespace sial
