#pragma once
// What the launcher of this process says in its environment.

namespace sial {

/// A variable of the environment that is a number from 0; 0 where there is none.
int number_of_environment(const char* name);

/// Number of this rank, in all and on its host; 0 where nobody says so.
int launched_rank();
int local_rank();

}  // namespace sial
