#pragma once
// The builders of generated code, one per kind of key: each defines a function called code_name(key) in the module.
// LLVM's types are only named here.

#include <span>
#include <string>
#include <vector>

#include "runtime/core/kernels/interface/fused_tile.h"
#include "runtime/core/kernels/interface/jit.h"

namespace llvm {
class IRBuilderBase;
class Module;
class TargetMachine;
class Value;
}  // namespace llvm

namespace sial::kernels {

/// p = {vectors of rows, columns, whether rows are masked, summed positions or 0}: see TileWork in tiles.h.
void build_tile(llvm::Module& module, const CodeKey& key, const CpuFacts& facts);

/// p = {vectors of a panel, 0: rows are consecutive, 1: positions may be}: see PackWork in tiles.h.
void build_pack(llvm::Module& module, const CodeKey& key, const CpuFacts& facts);

/// p = {PermuteRole, Blend}: see permute_code.h.
void build_transpose(llvm::Module& module, const CodeKey& key, const CpuFacts& facts);

/// See fused_key in fused_tile.h.
void build_fused(llvm::Module& module, const CodeKey& key, const CpuFacts& facts);

/// The result of a step for `x`, elements or vectors of them; of divisions and multiplications the one source is the
/// difference.
llvm::Value* build_step(llvm::IRBuilderBase& b, FusedOp op, llvm::Value* x, llvm::Value* value,
                        std::span<llvm::Value* const> sources);
/// The addends from the left.
llvm::Value* build_difference(llvm::IRBuilderBase& b, std::span<llvm::Value* const> addends);

/// n vectors of n elements, transposed: rounds exchange ever larger parts between vectors that far apart.
std::vector<llvm::Value*> build_transposed(llvm::IRBuilderBase& b, std::vector<llvm::Value*> rows);

/// Kernels of GPUs: see device_layout.h. Arithmetic and addresses are the same for host fallbacks, which go through a
/// whole launch on the host.
bool build_device(llvm::Module& module, const CodeKey& key, bool host_fallback);

/// Once per process, whoever needs LLVM first.
void initialise_targets();
/// The optimiser without its vectorisers: builders write vectors.
void optimise_module(llvm::Module& module, llvm::TargetMachine& machine);

}  // namespace sial::kernels
