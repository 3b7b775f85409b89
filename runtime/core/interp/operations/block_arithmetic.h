#pragma once
// Arithmetic on blocks, on the device or the host: operands are resolved, the kernel runs, and work and time are
// counted. Sources are read before the target is created, so that an absent source is an error even when the statement
// would create it; a target that touches a source in memory (the same block under two names, overlapping parts) is
// computed from a scratch copy of that source. Owned by the machine; the descriptor of the last operation stays for its
// memory only.

#include <cstdint>

#include "runtime/core/interp/blocks/operands.h"

namespace sial {

class BlockArithmetic {
 public:
  BlockArithmetic(const RunContext& context, DeviceExecution& device, BlockMemory& memory, Operands& operands,
                  Regions& regions, Profile& profile);

  // Statements on references. `intent`: of the target. They return the target, which holds until the next one.
  /// target = alpha * source + beta * target.
  const MutableView& copy(std::int32_t target, std::int32_t source, double alpha, double beta, Intent intent,
                          Statement here);
  /// target = b + sign * c.
  void sum(std::int32_t target, std::int32_t b, std::int32_t c, double sign, Statement here);
  /// target = alpha * b * c, or what it was and that.
  const MutableView& contract(std::int32_t target, std::int32_t b, std::int32_t c, double alpha, Intent intent,
                              Statement here);
  /// A step that needs no source.
  void change(ElementOp op, double value, std::int32_t target, Intent intent, Statement here);
  /// The sum of the products of all elements.
  double dot(std::int32_t b, std::int32_t c, Statement here);
  void put_region(const RegionRow& target, std::int32_t source, Statement here);
  void get_region(std::int32_t target, const RegionRow& source, Statement here);

  // Steps of an operation on views, inside of DeviceExecution::block_operation().
  void run(BlockOp& op, Statement here);
  void add_blocks(const MutableView& target, const ConstView& a, const ConstView& b, double sign, Statement here);

 private:
  void charge(const BlockOp& op, Statement here);
  void pack_if_touching(const MutableView& target, ConstView& operand, double*& scratch, std::int64_t& size,
                        Statement here);
  void element_work(ElementOp op, double factor, Statement here, const MutableView& d, const ConstView& a = {},
                    const ConstView& b = {});
  double product_of_all(std::int32_t b, std::int32_t c, double& begin, Statement here);
  double* scratch(std::int64_t n, Statement here) const;
  void release_scratch(double* p, std::int64_t n) const noexcept;
  void record_operation(const BlockOp& op, double flops, double seconds, Statement here);
  void record_dot(bool on_device, double seconds, Statement here);
  void match_copy(CopyMode mode, Statement here);
  void check_same_shape(Statement here) const;

  const RunContext& context_;
  DeviceExecution& device_;
  BlockMemory& memory_;
  Operands& operands_;
  Regions& regions_;
  Profile& profile_;
  BlockOp op_;
};

}  // namespace sial
