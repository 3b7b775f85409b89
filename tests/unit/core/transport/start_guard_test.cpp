// The process beside a rank until the ranks have met.
#include <catch2/catch.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

#include "runtime/core/base/processes.h"
#include "runtime/core/transport/start_guard.h"
#include "tests/unit/core/transport/await.h"

using namespace sial;

namespace {

constexpr double soon = 1;  // seconds

std::vector<ProcessLook> guards_of(pid_t rank) {
  std::vector<ProcessLook> found;
  for (ProcessLook& child : children_of(rank))
    if (child.name == "sial-guard" && child.state != 'Z') found.push_back(child);
  return found;
}

struct Rank {
  explicit Rank(double stopped_for) {
    REQUIRE(pipe(said) == 0);
    process = fork();
    if (process != 0) {
      close(said[1]);
      return;
    }
    dup2(said[1], STDERR_FILENO);
    close(said[0]);
    close(said[1]);
    {
      const StartGuard guard(stopped_for, nullptr);
      for (;;) pause();
    }
  }
  ~Rank() {
    if (process != 0) {
      kill(process, SIGKILL);
      waitpid(process, nullptr, 0);
    }
    close(said[0]);
  }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  /// To the end of what rank and guard write.
  std::string text() const {
    std::string all;
    char buffer[256];
    for (ssize_t n = 0; (n = read(said[0], buffer, sizeof buffer)) > 0;)
      all.append(buffer, static_cast<std::size_t>(n));
    return all;
  }

  pid_t process = 0;
  int said[2] = {-1, -1};
};

}  // namespace

TEST_CASE("a guard ends once the ranks have met") {
  char name[] = "/somewhere/sialrun";
  {
    const StartGuard guard(30, name);
    CHECK(await([] { return guards_of(getpid()).size() == 1; }));
  }
  CHECK(children_of(getpid()).empty());
  CHECK(std::string(name) == "/somewhere/sialrun");
  const StartGuard none(0, name);
  CHECK(children_of(getpid()).empty());
}

TEST_CASE("a rank that is stopped before the ranks have met is killed") {
  Rank rank(soon);
  REQUIRE(await([&] { return guards_of(rank.process).size() == 1; }));
  kill(rank.process, SIGSTOP);
  const std::string said = rank.text();
  CHECK_THAT(said, Catch::Matchers::StartsWith("error: ") &&
                       Catch::Matchers::Contains("a rank has been stopped by a signal for 1 s") &&
                       Catch::Matchers::Contains(std::to_string(rank.process)));
  int status = 0;
  REQUIRE(waitpid(rank.process, &status, 0) == rank.process);
  rank.process = 0;
  CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
}

TEST_CASE("a rank that is stopped for a while goes on") {
  const Rank rank(1000);
  REQUIRE(await([&] { return guards_of(rank.process).size() == 1; }));
  kill(rank.process, SIGSTOP);
  REQUIRE(await([&] { return look_at_process(rank.process).state == 'T'; }));
  usleep(1200000);  // a look of the guard
  kill(rank.process, SIGCONT);
  CHECK(await([&] { return look_at_process(rank.process).state == 'S'; }));
  CHECK(guards_of(rank.process).size() == 1);
}

TEST_CASE("a guard lets go of the streams of a rank that has ended, and ends") {
  Rank rank(1000);
  REQUIRE(await([&] { return guards_of(rank.process).size() == 1; }));
  const pid_t guard = guards_of(rank.process)[0].process;
  kill(rank.process, SIGKILL);
  CHECK(rank.text().empty());  // ends with the last process that holds the stream
  // Who started the rank is no launcher: there is nothing to look after.
  CHECK(await([&] { return look_at_process(guard).state == 0 || look_at_process(guard).state == 'Z'; }));
}
