#pragma once
// The standard output of the three programs. Whether it could be written is asked once, at the end of main: what a run
// computed is worth more than what it prints, so a full disk there does not end it.

#include <string_view>

namespace sial {

/// First of all in main: a file that may not grow, and a reader that is gone (`| head`), are errors like a full disk,
/// not the end of the process.
void expect_failed_writes();

/// Prints; what fails is found by end_output().
void print_output(std::string_view text);

/// Last of all in main: writes what waits in buffers. Where the output could not be written it says so (`program` and a
/// colon before it, unless empty) and returns `failure` in place of success; other codes stay.
int end_output(int code, int failure, std::string_view program);

}  // namespace sial
