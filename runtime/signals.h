#pragma once
// The signals that ask a run to end: SIGTERM, SIGINT, SIGUSR1. The first one is remembered, and the run ends at the
// next place where it can be saved; another one, a second or more later, ends the process at once. The only state here
// that belongs to the process and not to a rank.

namespace sial {

void catch_stop_signals();
/// The signal that arrived, or 0.
int stop_signal();

}  // namespace sial
