// Block arithmetic. Sources are located and read before the target is created, so that an absent source is an error
// even when the statement would create it; a target that touches a source in memory (the same block under two names,
// overlapping slices) is computed from a scratch copy of that source.

#include <algorithm>

#include <fmt/format.h>

#include "runtime/base/fault_injection.h"
#include "runtime/bytecode/layout.h"
#include "runtime/interp/blocks/on_device.h"
#include "runtime/interp/operations/computing.h"
#include "runtime/interp/operations/view_ops.h"

namespace sial {
namespace {

/// Rough cost of a floating operation on this machine, for the simulator's clock.
constexpr double seconds_per_flop = 1e-10;

std::string extents_text(const std::array<std::int64_t, max_rank>& extent, int rank) {
  return fmt::format("({})", fmt::join(extent.begin(), extent.begin() + rank, ","));
}

template <class T>
void number_labels(BlockView<T>& view) {
  for (int d = 0; d < view.rank; ++d) view.label[d] = d;
}

}  // namespace

void Machine::pack_if_touching(ConstView& operand, double*& scratch, std::int64_t& size) {
  if (!may_overlap(op_.d, operand) || fault_enabled(Fault::kernel_target_touches_source)) return;
  size = view_size(operand);
  scratch = this->scratch(size);
  const MutableView copy = dense_like(scratch, operand);
  if (on_device_)
    compute_on_device({}, [&](DeviceOperations& operations) {
      operations.run(ElementWork{ElementOp::copy, 0.0, copy, operand, {}});
    });
  else copy_view(copy, operand);
  operand = as_const(copy);
}

void Machine::run_kernel(double alpha, double beta) {
  op_.alpha = alpha;
  op_.beta = beta;
  double flops = 0, begin = 0;
  {
    const Computing computing(*this);
    begin = computing.begin();
    double* scratch_a = nullptr;
    double* scratch_b = nullptr;
    std::int64_t size_a = 0, size_b = 0;
    pack_if_touching(op_.a, scratch_a, size_a);
    if (op_.has_b) pack_if_touching(op_.b, scratch_b, size_b);
    if (on_device_) compute_on_device(written_, [&](DeviceOperations& operations) { operations.run(op_); });
    else env_.kernels.run(op_);
    if (scratch_a) release_scratch(scratch_a, size_a);
    if (scratch_b) release_scratch(scratch_b, size_b);
    const auto elements = static_cast<double>(view_size(op_.d));
    if (op_.has_b) {
      flops = 2.0 * elements;
      for (int d = 0; d < op_.a.rank; ++d)
        if (std::find(op_.d.label.begin(), op_.d.label.begin() + op_.d.rank, op_.a.label[d]) ==
            op_.d.label.begin() + op_.d.rank)
          flops *= static_cast<double>(op_.a.extent[d]);
      flops_ += flops;
    }
    env_.transport.charge_compute(elements * seconds_per_element + flops * seconds_per_flop);
  }
  if (options_.profile) note_operation(flops, clock_ - begin);
}

/// The operation that run_kernel() ran last.
void Machine::note_operation(double flops, double seconds) {
  std::int64_t elements = view_size(op_.d) * (op_.beta != 0.0 ? 2 : 1) + view_size(op_.a);
  if (op_.has_b) elements += view_size(op_.b);
  const char* way = on_device_ ? "device" : op_.has_b ? env_.kernels.last_choice().way : "copy";
  if (std::string* why = note_kernel(way, flops, 8.0 * static_cast<double>(elements), seconds))
    *why = on_device_ ? "put into a stream of the device; the time is the rank's" : env_.kernels.explain(op_);
}

void Machine::check_same_shape(const MutableView& d, const ConstView& a) const {
  if (d.rank == a.rank && std::equal(d.extent.begin(), d.extent.begin() + d.rank, a.extent.begin())) return;
  fail(fmt::format("the shapes differ: the target has extents {}, the source {}", extents_text(d.extent, d.rank),
                   extents_text(a.extent, a.rank)),
       "both sides must cover segments of the same extents");
}

void Machine::copy_like(std::int32_t target, std::int32_t source, double alpha, double beta, Access access) {
  block_operation([&] {
    op_.has_b = false;
    read_view(source, op_.a);
    write_view(target, access, op_.d);
    switch (copy_mode(bound_.refs[target], bound_.refs[source])) {
      case CopyMode::by_label: break;
      case CopyMode::leading:  // the dimensions beyond the common ones are simple: extent 1
        op_.a.rank = op_.d.rank = std::min(op_.a.rank, op_.d.rank);
        [[fallthrough]];
      case CopyMode::positional:
        check_same_shape(op_.d, op_.a);
        number_labels(op_.d);
        number_labels(op_.a);
        break;
    }
    run_kernel(alpha, beta);
  });
}

void Machine::op_real_element(const Instruction& in) {
  read_view(in.b, op_.a);
  scalars_[in.a] = op_.a.data[0];
}

void Machine::op_real_contract(const Instruction& in) {
  // On the device when that has an operand that the host has not, or both.
  const bool there = copies_ && (on_device_only(in.b) || on_device_only(in.c));
  double begin = 0;
  const auto product = [&] {
    read_view(in.b, op_.a);
    read_view(in.c, op_.b);
    const Computing computing(*this);
    begin = computing.begin();
    if (on_device_)
      compute_on_device({}, [&](DeviceOperations& operations) { scalars_[in.a] = operations.dot(op_.a, op_.b); });
    else scalars_[in.a] = env_.kernels.dot(op_.a, op_.b);
    const auto elements = static_cast<double>(view_size(op_.a));
    flops_ += 2.0 * elements;
    env_.transport.charge_compute(elements * seconds_per_element);
  };
  if (there) {
    block_operation(product);
  } else {
    ++block_operations_;
    product();
  }
  if (!options_.profile) return;
  const auto elements = static_cast<double>(view_size(op_.a));
  if (std::string* why =
          note_kernel(there ? "device" : "inner product", 2.0 * elements, 16.0 * elements, clock_ - begin)) {
    const bool alike = std::equal(op_.a.label.begin(), op_.a.label.begin() + op_.a.rank, op_.b.label.begin(),
                                  op_.b.label.begin() + op_.b.rank);
    *why = fmt::format("{} products summed to a scalar, the operands in {}", view_size(op_.a),
                       alike ? "the same order" : "different orders");
  }
}

void Machine::op_block_fill(const Instruction& in) {
  block_operation([&] {
    write_view(in.a, Access::create, op_.d);
    element_work(ElementOp::fill, scalars_[in.b], op_.d);
  });
}

void Machine::op_block_add_scalar(const Instruction& in) {
  block_operation([&] {
    write_view(in.a, Access::existing, op_.d);
    element_work(ElementOp::add_scalar, scalars_[in.b], op_.d);
  });
}

void Machine::op_block_scale(const Instruction& in) {
  block_operation([&] {
    write_view(in.a, Access::existing, op_.d);
    element_work(ElementOp::scale, scalars_[in.b], op_.d);
  });
}

void Machine::op_block_copy(const Instruction& in) {
  copy_like(in.a, in.b, 1.0, 0.0, Access::create);
  count(copied_, bound_.refs[in.a].array, view_size(op_.d));
}
void Machine::op_block_slice(const Instruction& in) { op_block_copy(in); }
void Machine::op_block_insert(const Instruction& in) { op_block_copy(in); }
void Machine::op_block_accumulate(const Instruction& in) {
  copy_like(in.a, in.b, sign_of(in.c), 1.0, Access::existing);
}
void Machine::op_block_scaled_copy(const Instruction& in) {
  copy_like(in.a, in.b, scalars_[in.c], 0.0, Access::create);
}
void Machine::op_block_scaled_accumulate(const Instruction& in) {
  copy_like(in.a, in.b, sign_of(in.d) * scalars_[in.c], 1.0, Access::existing);
}

void Machine::op_block_sum(const Instruction& in) {
  block_operation([&] {
    ConstView a, b;
    read_view(in.b, a);
    read_view(in.c, b);
    write_view(in.a, Access::create, op_.d);
    add_blocks(op_.d, a, b, sign_of(in.d));
  });
}

void Machine::add_blocks(const MutableView& to, const ConstView& a, const ConstView& b, double sign) {
  const MutableView target = to;
  const auto same_labels = [](const auto& x, const auto& y) {
    return x.rank == y.rank && std::equal(x.label.begin(), x.label.begin() + x.rank, y.label.begin());
  };
  if (same_labels(target, a) && same_labels(target, b)) {
    // Equal names mean equal positions: blocks that touch are the same block, which an element-wise sum may overwrite.
    element_work(ElementOp::sum, sign, target, a, b);
    return;
  }
  // Permuted operands: through a scratch block in the target's order, since the target may be one of the operands.
  const std::int64_t size = view_size(target);
  double* scratch = this->scratch(size);
  Shape shape;
  shape.rank = target.rank;
  shape.extent = target.extent;
  op_.has_b = false;
  op_.d = dense_view(scratch, shape, target.label);
  op_.a = a;
  run_kernel(1.0, 0.0);
  op_.a = b;
  run_kernel(sign, 1.0);
  element_work(ElementOp::copy, 0.0, target, as_const(op_.d));
  release_scratch(scratch, size);
  clock_ = 0;  // more came after what was timed
}

void Machine::contract(const Instruction& in, bool assign, double alpha) {
  block_operation([&] {
    op_.has_b = true;
    read_view(in.b, op_.a);
    read_view(in.c, op_.b);
    write_view(in.a, assign ? Access::create : Access::existing, op_.d);
    run_kernel(alpha, assign ? 0.0 : 1.0);
  });
}

void Machine::op_block_contract(const Instruction& in) {
  contract(in, static_cast<SetOp>(in.d) == SetOp::assign, sign_of(in.d));
}

// These come from plans only, and each stands for a product in a block of its own.
void Machine::op_contract_scaled(const Instruction& in) {
  contract(in, true, scalars_[in.d]);
  count(elided_, bound_.refs[in.a].array, view_size(op_.d));
}

void Machine::op_contract_add_scaled(const Instruction& in) {
  contract(in, false, scalars_[in.d]);
  count(elided_, bound_.refs[in.a].array, view_size(op_.d));
}

void Machine::op_region_put(const Instruction& in) {
  ++block_operations_;
  op_.has_b = false;
  read_view(in.b, op_.a);
  region_view(m_->regions[in.a], op_.d);
  check_same_shape(op_.d, op_.a);
  number_labels(op_.a);
  run_kernel(1.0, 0.0);
}

void Machine::op_region_get(const Instruction& in) {
  ++block_operations_;
  op_.has_b = false;
  MutableView region;
  region_view(m_->regions[in.b], region);
  op_.a = as_const(region);
  write_view(in.a, Access::create, op_.d);
  check_same_shape(op_.d, op_.a);
  number_labels(op_.d);
  run_kernel(1.0, 0.0);
}

void Machine::op_region_fill(const Instruction& in) {
  ++block_operations_;
  region_view(m_->regions[in.a], op_.d);
  fill_view(op_.d, scalars_[in.b]);
}

}  // namespace sial
