#include "runtime/core/base/standard_output.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>

#include "runtime/core/base/error.h"

namespace sial {

void expect_failed_writes() {
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
}

void print_output(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

int end_output(int code, int failure, std::string_view program) {
  std::cout.flush();
  const bool lost = std::cout.fail() || std::ferror(stdout) != 0;
  errno = 0;
  bool failed = std::fflush(stdout) != 0;
  // A byte that was lost earlier, and not kept in a buffer, left no reason behind: the next byte has the same one.
  if (lost && !failed) failed = std::fputc('\n', stdout) == EOF || std::fflush(stdout) != 0;
  const std::string reason = failed ? std::strerror(errno) : "a part of it was lost";
  if (!lost && !failed) return code;
  std::fprintf(stderr, "%s%serror: cannot write the output: %s\n", std::string(program).c_str(),
               program.empty() ? "" : ": ", reason.c_str());
  return code == exit_ok ? failure : code;
}

}  // namespace sial
