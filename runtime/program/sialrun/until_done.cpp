#include "runtime/program/sialrun/until_done.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <optional>

#include <fmt/format.h>

#include "runtime/core/base/error.h"
#include "runtime/core/base/printable.h"
#include "runtime/core/checkpoint/index.h"
#include "runtime/core/interp/context/checkpoints.h"
#include "runtime/core/transport/locked_launcher.h"

namespace sial {
namespace {

namespace fs = std::filesystem;

constexpr std::array stop_signals = {SIGTERM, SIGINT, SIGUSR1};
/// A launcher that cannot start, or a host that is gone for good, is not tried for ever.
constexpr int max_failures = 3;  // in a row, without a new checkpoint
constexpr unsigned seconds_between = 2;

std::optional<CheckpointIndex> checkpoint_in(const std::string& folder) {
  try {
    return checkpoint_index_from(read_checkpoint_index(folder), folder);
  } catch (const SialError&) { return read_previous_index(folder); }
}

std::int64_t serial_of(const std::optional<CheckpointIndex>& checkpoint) { return checkpoint ? checkpoint->serial : 0; }

/// The arguments after the program's name begin here.
std::size_t arguments_of_sialrun(std::span<char* const> command) {
  for (std::size_t i = 0; i < command.size(); ++i)
    if (fs::path(command[i]).filename() == "sialrun") return i + 1;
  throw InputError("the command behind `--until-done` does not start sialrun",
                   "sialrun --until-done mpirun -n 4 sialrun job.toml --checkpoint-every 30");
}

/// In a process group of its own, so that Ctrl-C in a terminal comes to this process alone.
pid_t start(std::vector<std::string> words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  pid_t child = 0;
  const int failure = posix_spawnp(&child, pointers[0], nullptr, &attributes, pointers.data(), environ);
  posix_spawnattr_destroy(&attributes);
  if (failure != 0)
    throw InputError(fmt::format("cannot start `{}`: {}", words[0], std::strerror(failure)),
                     "the command behind `--until-done` is a launcher or sialrun");
  return child;
}

struct Ending {
  int code = 0;
  bool asked = false;  // by a signal
};

/// Waits for the child and passes signals on: the first one as SIGUSR1, which launchers hand to the ranks. A launcher
/// that has locked itself out is killed.
Ending wait_for(pid_t child, const sigset_t& signals) {
  constexpr timespec between_looks{1, 0};
  Ending ending;
  LockedLauncher locked(false);
  for (;;) {
    const int signal = sigtimedwait(&signals, nullptr, &between_looks);
    if (signal < 0) {
      if (errno != EAGAIN) continue;
      if (const pid_t launcher = launcher_below(child); launcher != 0 && locked.look(launcher)) {
        std::cerr
            << fmt::format(
                   "note: the launcher (process {}) has locked itself out: its ranks have ended, and it does not take note of it; it is killed",
                   launcher)
            << std::endl;
        kill_launcher(launcher);
      }
      continue;
    }
    if (signal != SIGCHLD) {
      kill(child, ending.asked ? signal : SIGUSR1);
      ending.asked = true;
      continue;
    }
    int status = 0;
    if (waitpid(child, &status, WNOHANG) != child) continue;
    if (WIFEXITED(status)) ending.code = WEXITSTATUS(status);
    else if (WIFSIGNALED(status)) ending.code = 128 + WTERMSIG(status);
    else continue;
    return ending;
  }
}

/// Another run may end better: the environment failed, or processes were killed. Programs and inputs that are wrong
/// stay so.
bool may_pass(int code) { return code != exit_program_error && code != exit_input_error; }

}  // namespace

int run_until_done(std::span<char* const> command, const CheckpointFolderOf& folder_of) {
  const std::size_t own = arguments_of_sialrun(command);
  const std::vector<std::string> words(command.begin(), command.end());
  const std::string folder = folder_of({words.begin() + static_cast<std::ptrdiff_t>(own), words.end()});
  const bool restarts = std::ranges::any_of(words, [](const std::string& w) { return w == "--restart" || w == "-b"; });
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : stop_signals) sigaddset(&signals, signal);
  sigaddset(&signals, SIGCHLD);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  for (int failures = 0;;) {
    const std::optional<CheckpointIndex> before = checkpoint_in(folder);
    std::vector<std::string> now = words;
    if (before && !restarts) now.push_back("--restart");
    const Ending ending = wait_for(start(std::move(now)), signals);
    if (ending.code == exit_ok || ending.asked || !may_pass(ending.code)) return ending.code;
    const std::optional<CheckpointIndex> after = checkpoint_in(folder);
    const bool progress = serial_of(after) > serial_of(before);
    failures = progress ? 0 : failures + 1;
    if (failures == max_failures) {
      std::cerr
          << printable(fmt::format(
                 "error: the job ended {} times in a row without a new checkpoint (exit code {}), and is not started again\n"
                 "  hint: see the messages above; save more often with `--checkpoint-every`",
                 failures, ending.code))
          << std::endl;
      return ending.code;
    }
    std::cerr << printable(
                     fmt::format("note: the run ended with exit code {}; the job is started again, {}", ending.code,
                                 after ? fmt::format("from the checkpoint of {} ({})", after->written, after->place)
                                       : "from its beginning"))
              << std::endl;
    if (ending.code != exit_stopped) sleep(seconds_between);
  }
}

}  // namespace sial
