#pragma once
// Reading and checking modules. Any byte string either becomes a Module whose every table index, jump target, operand
// kind and loop nesting is valid, or throws one SialError that says what is wrong and where.

#include <span>
#include <string>
#include <vector>

#include "runtime/core/bytecode/module.h"

namespace sial {

/// Verifies buffer and contents; throws SialError ("not a sialx module", "format version 7, this program reads 1",
/// ...).
Module read_module(std::span<const std::byte> bytes, const std::string& name_for_messages);

/// Reads a file. Throws InputError when it cannot be read or is not a valid module.
Module read_module_file(const std::string& path);

/// The content check alone (used by the compiler after emitting, and by read_module). Throws SialError.
void verify_module(const Module& module, const std::string& name_for_messages);

/// Slices that verify_module() refuses because their check would take too long, in ascending order. The module is good
/// apart from them.
std::vector<std::size_t> slices_too_large(const Module& module);

}  // namespace sial
