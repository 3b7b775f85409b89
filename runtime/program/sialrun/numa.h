#pragma once
// The command line's part in memory nodes (NUMA): which machine decisions are made for, and what `--version --verbose`
// says of this one.

#include <string>

#include "runtime/core/store/interface/options.h"

namespace sial {

/// `described`: of --simulate-machine, empty: this machine. Throws InputError.
void choose_machine(StoreOptions& options, const std::string& described);

/// "memory nodes: 2; 0: 33.5 GB, processors 0-7; ...", with the pages that the system gives a piece of memory.
std::string describe_machine(const std::string& described);

}  // namespace sial
