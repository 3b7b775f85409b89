#pragma once
// On which memory nodes blocks lie, as users write it: the value of `--numa`, and the rules that job files share with
// it. Functions on values; whether a machine has the nodes is for who runs on it to say.

#include <string>
#include <string_view>

#include "runtime/core/numa/request.h"

namespace sial {

/// "auto", "local", "interleave", "bind:0-1,3" or "off". Throws InputError.
NumaRule parse_numa_rule(std::string_view text);

/// "POLICY,ARRAY=POLICY,...": for all blocks, and for those of some arrays; either may be left out. Throws InputError.
NumaRequest parse_numa(std::string_view text);

/// Blocks of the array lie by that rule. InputError: it has one already, or no array may have it.
void add_array_rule(NumaRequest& request, const std::string& array, const NumaRule& rule);

/// The text as `--numa` takes it.
std::string numa_text(const NumaRequest& request);

}  // namespace sial
