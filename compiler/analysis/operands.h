#pragma once
// Effects of one instruction on arrays, registers and the world: the ground that analyses and passes stand on.
// Everything follows from the opcode's row in opcodes.def and the intents that the operands carry.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compiler/ir/ir.h"
#include "runtime/core/bytecode/layout.h"

namespace sial::analysis {

inline const IndexRow& index_row(const ir::Program& p, IndexId index) { return p.indices[index.at()]; }

/// `own`: this rank's copy: temps, locals, statics, and of a remote array what the rank fetched or changed privately.
/// `home`: the remote array itself, which all ranks see.
enum class Side : std::uint8_t { own, home };

/// One array operand. Exactly one of `block` and `region` is set, or neither when the whole array is meant. A block may
/// have wildcard entries (allocate, deallocate) and may denote a part of a block (is_part in alias.h).
struct ArrayUse {
  ArrayId array;
  Intent intent = Intent::read;
  Side side = Side::own;
  std::size_t operand = 0;  // position in Instr::operands; npos: the array is meant without being an operand
  const ir::Block* block = nullptr;
  const ir::Region* region = nullptr;
  bool reads() const { return intent != Intent::write; }
  bool writes() const { return intent != Intent::read; }
  static constexpr std::size_t npos = static_cast<std::size_t>(-1);
};

/// Registers below the number of declared ints (scalars) are the program's variables.
struct RegisterUse {
  bool scalar = false;
  std::int32_t reg = 0;
  bool read = false, write = false;
  std::size_t operand = 0;
};

/// Effects of an instruction besides its operands.
struct Effects {
  bool barrier = false;         // all ranks wait, puts complete, fetched and private copies are dropped: a phase ends
  bool collective = false;      // every rank must come here (barriers included); not inside a pardo
  bool output = false;          // prints
  bool ends_job = false;        // stop
  bool may_fail = false;        // can end the job with an error: absent block, range, overflow, shape, domain
  bool reads_by_name = false;   // execute: may read statics, contiguous locals and scalars that are no arguments
  bool writes_by_name = false;  // execute of an instruction that the table does not have: may also write such arrays
  bool lists_blocks = false;    // execute: prints which blocks exist on this rank
  bool persistent = false;      // marks an item whose value at the end of the program is kept
};
Effects effects_of(const ir::Program& program, const ir::Instr& instr);

/// All uses, operands that are read before those that are written. What reads_by_name and writes_by_name mean is not
/// listed.
std::vector<ArrayUse> array_uses(const ir::Program& program, const ir::Instr& instr);
std::vector<RegisterUse> register_uses(const ir::Instr& instr);

/// The operands that are blocks (regions), in order of position.
std::vector<const ir::Block*> blocks_of(const ir::Instr& instr);

/// True when the block that the use writes holds nothing of its former contents afterwards. Not so for updates, for
/// whole arrays, sets of blocks, and writes to a part of a block.
bool replaces(const ir::Program& program, const ir::Instr& instr, const ArrayUse& use);

/// An entry is a subindex on a dimension that is declared over whole segments: the reference denotes a part of a block.
bool is_part(const ir::Program& program, const ir::Block& block);
bool has_wildcard(const ir::Block& block);
/// Every entry denotes a single position: the block is one number.
bool is_element(const ir::Program& program, const ir::Block& block);

bool is_remote_array(const ir::Program& program, ArrayId array);

inline const std::string& array_name(const ir::Program& program, ArrayId array) {
  return program.arrays[array.at()].name;
}
/// `a[i,(index)j,*]`, `c[1:n,2:3]` with the names of the program.
std::string text_of(const ir::Program& program, const ir::Block& block);
std::string text_of(const ir::Program& program, const ir::Region& region);
std::string text_of(const ir::Program& program, const ArrayUse& use);

}  // namespace sial::analysis
