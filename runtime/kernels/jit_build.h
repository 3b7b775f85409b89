#pragma once
// The builders of generated code, one per kind of key: each defines a function called code_name(key) in the module. LLVM's
// types are only named here.

#include "runtime/kernels/jit.h"

namespace llvm {
class Module;
}

namespace sial::kernels {

/// p = {vectors of rows, columns, whether rows are masked, summed positions or 0}: see TileWork in tiles.h.
void build_tile(llvm::Module& module, const CodeKey& key, const CpuFacts& facts);

/// p = {vectors of a panel, 0: rows are consecutive, 1: positions may be}: see PackWork in tiles.h.
void build_pack(llvm::Module& module, const CodeKey& key, const CpuFacts& facts);

/// p = {PermuteRole, Blend}: see permute_code.h.
void build_transpose(llvm::Module& module, const CodeKey& key, const CpuFacts& facts);

/// See chain_key in chain_tile.h.
void build_chain(llvm::Module& module, const CodeKey& key, const CpuFacts& facts);

}  // namespace sial::kernels
