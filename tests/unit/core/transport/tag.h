#pragma once
// A collective of the test's only program, by its place there.

#include "runtime/core/transport/transport.h"

inline sial::CollectiveTag tag(sial::CollectiveKind kind, int pc) { return {kind, sial::Place{0, pc}}; }
