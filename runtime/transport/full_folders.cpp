#include "runtime/transport/full_folders.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/base/printable.h"

namespace sial {

namespace {

constexpr double kibibyte = 1024, least_room = 4 * kibibyte * kibibyte;  // Open MPI's memory for messages of one rank

/// That of the job, which the launcher names and has made; else where such are made.
std::vector<std::string> folders_of_mpi() {
  std::vector<std::string> folders{"/dev/shm"};
  for (const char* name : {"OMPI_MCA_orte_jobfam_session_dir", "OMPI_MCA_orte_tmpdir_base", "TMPDIR"}) {
    if (const char* folder = std::getenv(name)) {
      folders.emplace_back(folder);
      return folders;
    }
  }
  folders.emplace_back("/tmp");
  return folders;
}

bool first_of_host() {
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"})
    if (const char* rank = std::getenv(name)) return std::string_view(rank) == "0";
  return true;
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

void warn_of_full_folders() {
  if (!first_of_host()) return;
  const std::vector<std::string> full = full_folders(folders_of_mpi(), least_room);
  if (full.empty()) return;
  std::array<char, 64> host{};
  gethostname(host.data(), host.size() - 1);
  fmt::print(stderr, "warning: {} is full on {}: MPI may fail to start\n",
             printable_name(fmt::format("{}", fmt::join(full, ", "))), printable_name(host.data()));
  std::fflush(stderr);
}

}  // namespace sial
