// Shared by builders: the arithmetic of a chain's step, the same for the host and for GPUs, and squares transposed in
// registers.

#include <llvm/IR/IRBuilder.h>

#include "runtime/core/kernels/generator/jit_build.h"

namespace sial::kernels {

using llvm::Value;

Value* build_difference(llvm::IRBuilderBase& b, std::span<Value* const> addends) {
  Value* d = addends.front();
  for (Value* next : addends.subspan(1)) d = b.CreateFAdd(d, next);
  return d;
}

Value* build_step(llvm::IRBuilderBase& b, FusedOp op, Value* x, Value* value, std::span<Value* const> sources) {
  switch (op) {
    case FusedOp::fill: return value;
    case FusedOp::add_scalar: return b.CreateFAdd(x, value);
    case FusedOp::scale: return b.CreateFMul(x, value);
    case FusedOp::copy: return sources[0];
    case FusedOp::scaled_copy: return b.CreateFMul(value, sources[0]);
    case FusedOp::accumulate: return b.CreateFAdd(b.CreateFMul(value, sources[0]), x);
    case FusedOp::sum: return b.CreateFAdd(sources[0], b.CreateFMul(value, sources[1]));
    case FusedOp::divide: return b.CreateFDiv(x, sources[0]);
    case FusedOp::multiply: return b.CreateFMul(x, sources[0]);
  }
  return x;
}

std::vector<Value*> build_transposed(llvm::IRBuilderBase& b, std::vector<Value*> rows) {
  const int n = static_cast<int>(rows.size());
  for (int part = 1; part < n; part *= 2) {
    std::vector<int> low, high;
    for (int k = 0; k < n; ++k) {
      const bool second = (k / part) % 2 != 0;
      low.push_back(second ? n + k - part : k);
      high.push_back(second ? n + k : k + part);
    }
    std::vector<Value*> next(rows.size());
    for (int k = 0; k < n; ++k) {
      if ((k / part) % 2 != 0) continue;
      Value* p = rows[static_cast<std::size_t>(k)];
      Value* q = rows[static_cast<std::size_t>(k + part)];
      next[static_cast<std::size_t>(k)] = b.CreateShuffleVector(p, q, low);
      next[static_cast<std::size_t>(k + part)] = b.CreateShuffleVector(p, q, high);
    }
    rows = std::move(next);
  }
  return rows;
}

}  // namespace sial::kernels
