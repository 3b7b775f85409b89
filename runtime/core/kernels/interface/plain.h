#pragma once
// A checked descriptor with its labels resolved, and the plain loops over it that define what every other kernel must
// compute. Arithmetic is that of IEEE: alpha = 0 still multiplies, so a NaN in a or b is never hidden; only beta = 0 is
// special and leaves the old D unread. Owns nothing.

#include <vector>

#include "runtime/core/kernels/interface/block_op.h"

namespace sial::kernels {

/// One label of the operation: its extent and its stride in each operand, 0 where the operand lacks it.
struct LoopDim {
  std::int64_t extent = 1;
  std::int64_t d = 0, a = 0, b = 0;
};

/// The loop space of an operation. `rows` are the labels d shares with a, `columns` those it shares with b, both in d's
/// order; `summed` those of a and b alone, in a's order. A copy has rows only.
struct LoopSpace {
  std::vector<LoopDim> rows, columns, summed;
};

/// Checks the descriptor (ranks, labels, extents, strides) and resolves its labels. A bad one is our own mistake:
/// CHECK.
LoopSpace resolve(const BlockOp& op);

/// The dimensions of a full contraction, in a's order.
std::vector<LoopDim> resolve_dot(const ConstView& a, const ConstView& b);

std::int64_t volume(const std::vector<LoopDim>& dims);

/// Common stride of a group in the order given, if its dimensions follow each other without gaps; 0 if they do not. A
/// group of one position has no stride of its own and gets 1.
std::int64_t group_stride(const std::vector<LoopDim>& group, std::int64_t LoopDim::* s);
/// The group in the order of increasing stride of one operand.
std::vector<LoopDim> ordered(std::vector<LoopDim> group, std::int64_t LoopDim::* s);

void run_plain(const BlockOp& op, const LoopSpace& space);
double dot_plain(const ConstView& a, const ConstView& b);

}  // namespace sial::kernels
