#pragma once
// What the launcher of this process says in its environment.

namespace sial {

/// A variable of the environment that is a number from 0; 0 where there is none.
int number_of_environment(const char* name);

/// Number of this rank, in all and on its host; 0 where nobody says so.
int launched_rank();
int local_rank();

/// Where all ranks fail alike the first says so, of all or of its host, and launchers end the others: they wait.
void let_first_speak(int rank, int seconds = 1);

}  // namespace sial
