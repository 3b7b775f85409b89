#pragma once
// The signals that ask a run to end: SIGTERM, SIGINT, SIGUSR1. The first one is remembered, and the run ends at the
// next place where it can be saved; another one, a second or more later, ends the process at once. SIGQUIT, which asks
// what the ranks do. The only state that belongs to the process and not to a rank.

namespace sial {

class WakeUp;

void catch_stop_signals();
/// The signal that arrived, or 0.
int stop_signal();

/// From the first call on SIGQUIT is a question: what do the ranks do? Whoever answers is woken; null: nobody does.
void catch_status_signal(WakeUp* wake_up);
/// Whether it has been asked since the last call.
bool take_status_request();

}  // namespace sial
