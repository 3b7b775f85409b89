#pragma once
// The facts that the launcher of this process states in its environment.

namespace sial {

/// A variable of the environment that is a number from 0; 0 where there is none.
int number_of_environment(const char* name);

/// Number of this rank, in all and on its host; 0 where nobody says so.
int launched_rank();
int local_rank();

/// The first rank, of all or of its host, speaks where all fail alike, and launchers end the others: they wait.
void let_first_speak(int rank, int seconds = 1);

}  // namespace sial
