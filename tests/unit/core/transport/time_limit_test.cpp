// Ends a process that waits for too long where no watcher runs.
#include <catch2/catch.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <utility>

#include "runtime/core/base/error.h"
#include "runtime/core/transport/time_limit.h"

using namespace sial;

namespace {

/// Exit code of a child that has a limit, and what it said.
std::pair<int, std::string> child(double seconds, bool waits, bool has_descriptors = true) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(ends[1], STDERR_FILENO);
    {
      const TimeLimit limit(seconds, "the ranks have not met", "`--start-limit` sets the limit");
      while (!has_descriptors && dup(STDERR_FILENO) >= 0) {}
      while (waits) pause();
    }
    _exit(0);
  }
  close(ends[1]);
  std::string said;
  char buffer[256];
  for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof buffer)) > 0;) said.append(buffer, static_cast<std::size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, said};
}

}  // namespace

TEST_CASE("a process ends where a limit passes, and only there") {
  const auto [code, said] = child(0.1, true);
  CHECK(code == exit_environment_error);
  CHECK_THAT(said, Catch::Matchers::StartsWith("error: ") && Catch::Matchers::Contains("the ranks have not met in") &&
                       Catch::Matchers::Contains("--start-limit"));
  CHECK(child(1000, false) == std::pair(0, std::string()));
  CHECK(child(0, false) == std::pair(0, std::string()));
}

TEST_CASE("a process that has no file descriptor left ends early, and says so") {
  const auto [code, said] = child(1000, true, false);
  CHECK(code == exit_environment_error);
  CHECK_THAT(said,
             Catch::Matchers::StartsWith("error: ") &&
                 Catch::Matchers::Contains("the ranks have not met, and this process has too many open files (limit"));
}
