#include "runtime/core/transport/full_folders.h"

#include <sys/statvfs.h>

#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>

#include "runtime/core/base/error.h"
#include "runtime/core/base/host_name.h"
#include "runtime/core/base/printable.h"
#include "runtime/core/transport/launched.h"
#include "runtime/core/transport/launcher.h"

namespace sial {

namespace {

constexpr double kibibyte = 1024;
constexpr double min_shared = 4 * kibibyte * kibibyte;  // Open MPI's memory for messages of one rank
constexpr double min_of_job = 64 * kibibyte;            // what ranks and daemon tell each other

/// The folder of the job, which the launcher names and has made; else where such are made.
std::string folder_of_job() {
  for (const char* name : {"OMPI_MCA_orte_jobfam_session_dir", "OMPI_MCA_orte_tmpdir_base", "TMPDIR"})
    if (const char* folder = std::getenv(name)) return folder;
  return "/tmp";
}

}  // namespace

std::vector<std::string> full_folders(const std::vector<std::string>& folders, double bytes) {
  std::vector<std::string> full;
  for (const std::string& folder : folders) {
    struct statvfs info{};
    if (statvfs(folder.c_str(), &info) != 0) continue;
    const double room = static_cast<double>(info.f_bavail) * static_cast<double>(info.f_frsize);
    if (room < bytes) full.push_back(fmt::format("{} ({:.0f} KiB free)", folder, room / kibibyte));
  }
  return full;
}

void look_for_full_folders() {
  const std::vector<std::string> of_job = full_folders({folder_of_job()}, min_of_job);
  constexpr int usual = 4;  // seconds
  if (local_rank() > 0) {
    if (of_job.empty()) return;
    let_first_speak(local_rank(), usual);
    std::_Exit(exit_environment_error);
  }
  for (const std::string& folder : of_job.empty() ? full_folders({"/dev/shm"}, min_shared) : of_job)
    fmt::print(stderr, "{}: {} is full on {}: MPI {} start\n", of_job.empty() ? "warning" : "error",
               printable_name(folder), printable_host_name(), of_job.empty() ? "may fail to" : "cannot");
  std::fflush(stderr);
  if (of_job.empty()) return;
  end_launcher_after(usual);
  std::_Exit(exit_environment_error);
}

}  // namespace sial
