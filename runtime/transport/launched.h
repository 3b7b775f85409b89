#pragma once
// What the launcher of this process says in its environment.

namespace sial {

/// A variable of the environment that is a number from 0; 0 where there is none.
int number_of_environment(const char* name);

}  // namespace sial
