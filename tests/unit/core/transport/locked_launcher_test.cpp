// Tells a launcher that has locked itself out from one that works.
#include <catch2/catch.hpp>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>

#include "runtime/core/base/processes.h"
#include "runtime/core/transport/locked_launcher.h"
#include "tests/unit/core/transport/await.h"

using namespace sial;

namespace {

/// A process of that name with so many children that have ended and so many that have not. It sleeps, and takes note
/// of none.
class Pretended {
 public:
  Pretended(const char* name, int ended, int living) {
    int ready[2];
    REQUIRE(pipe(ready) == 0);
    process_ = fork();
    if (process_ == 0) {
      setpgid(0, 0);
      prctl(PR_SET_NAME, name, 0, 0, 0);
      for (int i = 0; i < ended + living; ++i)
        if (fork() == 0) {
          prctl(PR_SET_NAME, "rank", 0, 0, 0);
          if (i < ended) _exit(0);
          for (;;) pause();
        }
      siginfo_t info;
      if (ended > 0) waitid(P_ALL, 0, &info, WEXITED | WNOWAIT);
      (void)!write(ready[1], "r", 1);
      for (;;) pause();
    }
    char byte = 0;
    REQUIRE(read(ready[0], &byte, 1) == 1);
    close(ready[0]);
    close(ready[1]);
  }
  ~Pretended() {
    kill(-process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  Pretended(const Pretended&) = delete;
  Pretended& operator=(const Pretended&) = delete;
  pid_t process() const { return process_; }

 private:
  pid_t process_ = 0;
};

/// Looks until it sleeps first: on a busy machine it may still wait for a core.
bool locked(pid_t launcher, bool others_live) {
  await([&] { return look_at_process(launcher).state == 'S'; });
  LockedLauncher look(others_live, 3);
  bool found = false;
  for (int i = 0; i < 3; ++i) {
    CHECK(!found);
    found = look.look(launcher);
  }
  return found;
}

}  // namespace

TEST_CASE("a launcher is locked out when it sleeps over a child that has ended") {
  const Pretended alone("mpirun", 1, 0);
  CHECK(locked(alone.process(), false));
  CHECK(locked(alone.process(), true));
  const Pretended with_others("mpirun", 1, 1);
  CHECK_FALSE(locked(with_others.process(), false));
  CHECK(locked(with_others.process(), true));
}

TEST_CASE("a launcher that works is not locked out") {
  const Pretended works("mpirun", 0, 2), waits("mpirun", 0, 0), other("bash", 1, 0);
  for (const bool others_live : {false, true}) {
    CHECK_FALSE(locked(works.process(), others_live));
    CHECK_FALSE(locked(waits.process(), others_live));  // for hosts that it has reached without a child
    CHECK_FALSE(locked(other.process(), others_live));
    CHECK_FALSE(LockedLauncher(others_live, 1).look(0));
  }
}

TEST_CASE("a launcher that is stopped is not locked out, and begins anew") {
  const Pretended stopped("mpirun", 1, 0);
  const pid_t launcher = stopped.process();
  REQUIRE(await([&] { return look_at_process(launcher).state == 'S'; }));
  LockedLauncher look(false, 2);
  CHECK_FALSE(look.look(launcher));
  kill(launcher, SIGSTOP);
  REQUIRE(await([&] { return look_at_process(launcher).state == 'T'; }));
  CHECK_FALSE(look.look(launcher));
  kill(launcher, SIGCONT);
  REQUIRE(await([&] { return look_at_process(launcher).state == 'S'; }));
  CHECK_FALSE(look.look(launcher));
  CHECK(look.look(launcher));
}

TEST_CASE("the launcher below a script is found") {
  const Pretended launcher("mpirun", 1, 1);
  CHECK(launcher_below(launcher.process()) == launcher.process());
  const Pretended script("sh", 1, 1), two("sh", 0, 2);
  CHECK(launcher_below(script.process()) == 0);
  CHECK(launcher_below(two.process()) == 0);
  CHECK(launcher_below(0) == 0);
}

TEST_CASE("a launcher is killed with the folder of its job") {
  const std::filesystem::path base =
      std::filesystem::temp_directory_path() / fmt::format("locked_launcher_{}", getpid());
  REQUIRE(setenv("OMPI_MCA_orte_tmpdir_base", base.c_str(), 1) == 0);
  const Pretended launcher("mpirun", 1, 0);
  char host[64] = "";
  gethostname(host, sizeof host - 1);
  const std::string name = host;
  const std::filesystem::path of_host = base / fmt::format("ompi.{}.{}", name.substr(0, name.find('.')), getuid());
  const std::filesystem::path job = of_host / fmt::format("pid.{}", launcher.process()), other = of_host / "pid.0";
  std::filesystem::create_directories(job);
  std::filesystem::create_directories(other);
  std::ofstream(job / "contact.txt") << "x";
  kill_launcher(launcher.process());
  CHECK(await([&] { return look_at_process(launcher.process()).state == 'Z'; }));
  CHECK_FALSE(std::filesystem::exists(job));
  CHECK(std::filesystem::exists(other));
  unsetenv("OMPI_MCA_orte_tmpdir_base");
  std::filesystem::remove_all(base);
}
