#include "compiler/program/sialc_command.h"
#include "runtime/core/base/process_limits.h"

// Before anything needs more stack than `ulimit -s` allows.
[[gnu::constructor(101)]] static void look_at_stack() { sial::require_stack(true); }

int main(int argc, char** argv) { return sial::sialc_main(argc, argv, nullptr); }
