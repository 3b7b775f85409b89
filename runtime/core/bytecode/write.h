#pragma once
// Writing modules: the inverse of read.h. write -> read is the identity on verified modules.

#include <string>
#include <vector>

#include "runtime/core/bytecode/module.h"

namespace sial {

std::vector<std::byte> write_module(const Module& module);

/// Human-readable listing: tables, then code with source places.
std::string disassemble(const Module& module);

}  // namespace sial
